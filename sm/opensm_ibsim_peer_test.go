package sm_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"syscall"
	"testing"

	"heddle/fabric"
	"heddle/internal/testenv"
	"heddle/mad"
	"heddle/sm"
	"heddle/sm/subnet"
	"heddle/umad"
)

// Of the processes that TestManagerProcess makes of the tests' program: where
// the manager is, and its priority.
const (
	managerAt       = "HEDDLE_TEST_MANAGER_AT"
	managerPriority = "HEDDLE_TEST_MANAGER_PRIORITY"
)

// TestManagerProcess is a manager in a process of its own, which can be killed;
// other tests start it.
func TestManagerProcess(t *testing.T) {
	at, ok := os.LookupEnv(managerAt)
	if !ok {
		t.Skip("runs only where another test starts it")
	}
	priority, err := strconv.ParseUint(os.Getenv(managerPriority), 10, 4)
	if err != nil {
		t.Fatal(err)
	}
	dev, err := umad.Open(at)
	if err != nil {
		t.Fatal(err)
	}
	m, err := sm.New(umad.NewPort(dev), config(t, uint8(priority)))
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := signal.NotifyContext(t.Context(), syscall.SIGTERM)
	defer stop()
	if err := m.Run(ctx); err != nil {
		t.Fatal(err)
	}
}

// rivals is a subnet on ibsim, of which heddle and OpenSM want to be master.
type rivals struct {
	sockets  string
	low, far string // nodes: the GUID of the first is lower
	watch    *umad.Port
}

func newRivals(t *testing.T) *rivals {
	t.Helper()
	if testing.Short() {
		t.Skip("OpenSM and heddle take seconds to give each other up; skipped, as this is go test -short")
	}
	f := generate(t, "fat-tree:k=4")
	node := func(i int) string { return f.Node(f.Adapters()[i]).ID }
	r := &rivals{sockets: onIBSim(t, f), low: node(0), far: node(8)}
	r.watch = open(t, r.sockets, node(4))
	return r
}

func (r *rivals) openSM(t *testing.T, node string, priority int) *testenv.OpenSM {
	t.Helper()
	return testenv.StartOpenSM(t, r.sockets, node, fmt.Sprint("sm_priority ", priority),
		"sminfo_polling_timeout 1000", "polling_retry_number 2", "sweep_interval 1")
}

// heddle starts our manager in a process of its own.
func (r *rivals) heddle(t *testing.T, node string, priority int) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), os.Args[0], "-test.run=^TestManagerProcess$", "-test.timeout=3m")
	cmd.Env = append(os.Environ(), managerAt+"=ibsim:"+r.sockets+"/"+node, managerPriority+"="+strconv.Itoa(priority))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { kill(cmd) })
	return cmd
}

// kill ends a process at once, and waits for its end.
func kill(cmd *exec.Cmd) {
	cmd.Process.Kill() //nolint:errcheck // it may have ended
	cmd.Wait()         //nolint:errcheck // it was killed
}

// managedBy waits until all ports are active and have the manager at a node.
func (r *rivals) managedBy(t *testing.T, node string) {
	t.Helper()
	eventually(t, func() string {
		v, err := subnet.Sweep(t.Context(), r.watch, subnet.Options{})
		if err != nil {
			return err.Error()
		}
		return managedElsewhere(v, node)
	})
}

// managedElsewhere tells of a port that is not active, or has not the manager
// at a node.
func managedElsewhere(v *subnet.View, node string) string {
	id, ok := v.Fabric.ByID(node)
	if !ok {
		return "no node " + node
	}
	manager := v.Fabric.Port(fabric.End{Node: id, Port: 1}).LID
	for _, n := range v.Nodes {
		for _, i := range n.Addressed() {
			if info := n.Ports[i].Info; info.MasterSMLID != manager || info.LID == 0 {
				return fmt.Sprintf("%s has the manager at LID %v, want %v of %s", n.Label(), info.MasterSMLID, manager, node)
			}
		}
		for i := range n.Ports {
			if _, _, linked := n.Peer(uint8(i)); linked && n.Ports[i].Info.PortState != mad.PortActive {
				return fmt.Sprintf("%s port %d is %v", n.Label(), i, n.Ports[i].Info.PortState)
			}
		}
	}
	return ""
}

// TestElectionOnIBSim: the higher priority wins, then the lower GUID, whoever
// was first.
func TestElectionOnIBSim(t *testing.T) {
	for _, test := range []struct {
		name          string
		ours, theirs  int // priorities
		oursIsLow     bool
		oursFirst     bool
		oursIsManager bool
	}{
		{"ours is first and has the higher priority", 9, 3, false, true, true},
		{"ours is first and has the lower GUID", 5, 5, true, true, true},
		{"OpenSM is first and has the higher priority", 3, 9, true, false, false},
		{"OpenSM is first and has the lower GUID", 5, 5, false, false, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := newRivals(t)
			ours, theirs := r.far, r.low
			if test.oursIsLow {
				ours, theirs = r.low, r.far
			}
			if test.oursFirst {
				m := startManager(t, r.sockets, ours, config(t, uint8(test.ours)))
				r.managedBy(t, ours)
				r.openSM(t, theirs, test.theirs).WaitLog(t, "Entering STANDBY state")
				r.managedBy(t, ours)
				if s := m.Status().Info.SMState; s != mad.SMMaster {
					t.Errorf("ours is %v", s)
				}
				return
			}
			r.openSM(t, theirs, test.theirs).WaitSubnetUp(t)
			m := startManager(t, r.sockets, ours, config(t, uint8(test.ours)))
			standsBy(t, m)
			r.managedBy(t, theirs)
		})
	}
}

// TestKilledOnIBSim: OpenSM hands the subnet to ours, which has the higher
// priority, and follows it when that is killed.
func TestKilledOnIBSim(t *testing.T) {
	r := newRivals(t)
	opensm := r.openSM(t, r.far, 3)
	opensm.WaitSubnetUp(t)
	ours := r.heddle(t, r.low, 9)
	r.managedBy(t, r.low)
	kill(ours)
	opensm.WaitLog(t, "Entering MASTER state")
	r.managedBy(t, r.far)
}

// TestOpenSMKilledOnIBSim: ours stands by OpenSM, which has the higher priority,
// and follows it when that is killed.
func TestOpenSMKilledOnIBSim(t *testing.T) {
	r := newRivals(t)
	opensm := r.openSM(t, r.far, 9)
	opensm.WaitSubnetUp(t)
	m := startManager(t, r.sockets, r.low, config(t, 3))
	standsBy(t, m)
	opensm.Stop()
	r.managedBy(t, r.low)
	if s := m.Status().Info.SMState; s != mad.SMMaster {
		t.Errorf("ours is %v", s)
	}
}

// TestHandoverOnIBSim: ours is told to stop, and hands the subnet to OpenSM,
// which stands by it. Where OpenSM has the higher priority it tells so by a trap
// of its own; ibsim keeps the TrapRepress from it, so that it waits for ever and
// never brings the subnet up, whoever hands it over. On the emulated fabric it
// does: see TestHandoverToOpenSM.
func TestHandoverOnIBSim(t *testing.T) {
	r := newRivals(t)
	ours := r.heddle(t, r.low, 9)
	r.managedBy(t, r.low)
	opensm := r.openSM(t, r.far, 3)
	opensm.WaitLog(t, "Entering STANDBY state")
	if err := ours.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	opensm.WaitSubnetUp(t)
	r.managedBy(t, r.far)
	if err := ours.Wait(); err != nil {
		t.Errorf("ours: %v", err)
	}
}
