package sm_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"heddle/emu"
	"heddle/fabric/topology"
	"heddle/internal/testenv"
	"heddle/mad"
	"heddle/sm"
	"heddle/umad"
)

// beside is our manager at the first adapter of a subnet, in real time, with
// OpenSM at another.
type beside struct {
	live *emu.Live
	name string // of the sockets
}

func besideOpenSM(t *testing.T, priority uint8) beside {
	t.Helper()
	f, err := topology.Generate("fat-tree:k=4")
	if err != nil {
		t.Fatal(err)
	}
	live, err := emu.Start(f, emu.Config{})
	if err != nil {
		t.Fatal(err)
	}
	b := beside{live, testenv.SocketName(t)}
	server, err := live.Serve(b.name, emu.ServeConfig{})
	if err != nil {
		t.Fatal(err)
	}
	dev, err := live.Open("", 0)
	if err != nil {
		t.Fatal(err)
	}
	port := umad.NewPort(dev)
	m, err := sm.New(port, config(t, priority))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- m.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := errors.Join(<-ended, port.Close(), server.Close(), live.Close()); err != nil {
			t.Error(err)
		}
	})
	return b
}

// managedBy waits until all ports have the manager that sits at a node.
func (b beside) managedBy(t *testing.T, node string) {
	t.Helper()
	var st emu.Status
	for range 600 {
		if err := b.live.Do(func(s *emu.Subnet) error { st = s.Status(); return nil }); err != nil {
			t.Fatal(err)
		}
		dev, err := b.live.Open(node, 0)
		if err != nil {
			t.Fatal(err)
		}
		info, err := dev.Info()
		if err := errors.Join(err, dev.Close()); err != nil {
			t.Fatal(err)
		}
		if len(st.SMLIDs) == 1 && st.SMLIDs[info.LID] > 0 && len(st.Ports) == 1 {
			return
		}
		<-time.After(50 * time.Millisecond)
	}
	t.Fatalf("%s does not become the manager: %v, ports %v", node, st.SMLIDs, st.Ports)
}

// standsBy waits until our manager has found that another is better.
func standsBy(t *testing.T, m *sm.Manager) {
	t.Helper()
	for range 600 {
		if m.Status().Info.SMState == mad.SMStandby {
			return
		}
		<-time.After(50 * time.Millisecond)
	}
	t.Fatalf("our manager is %v, want it to stand by", m.Status().Info.SMState)
}

// TestOpenSMStandsBy: ours has the higher priority, and OpenSM asks it.
func TestOpenSMStandsBy(t *testing.T) {
	b := besideOpenSM(t, 9)
	b.managedBy(t, "")
	opensm := testenv.StartOpenSM(t, b.name, "host-08", "sm_priority 3", "sminfo_polling_timeout 500")
	opensm.WaitLog(t, "Entering STANDBY state")
	b.managedBy(t, "")
}

// TestHandoverToOpenSM: OpenSM has the higher priority and is handed the
// subnet; killed, it is followed by ours.
func TestHandoverToOpenSM(t *testing.T) {
	b := besideOpenSM(t, 3)
	b.managedBy(t, "")
	opensm := testenv.StartOpenSM(t, b.name, "host-08", "sm_priority 9", "sminfo_polling_timeout 500")
	opensm.WaitSubnetUp(t)
	b.managedBy(t, "host-08")
	opensm.Stop()
	b.managedBy(t, "")
}

// TestHandoverFromOpenSM: OpenSM is master first, and hands over to ours.
func TestHandoverFromOpenSM(t *testing.T) {
	f, err := topology.Generate("fat-tree:k=4")
	if err != nil {
		t.Fatal(err)
	}
	live, err := emu.Start(f, emu.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer live.Close() //nolint:errcheck // the test is over
	b := beside{live, testenv.SocketName(t)}
	server, err := live.Serve(b.name, emu.ServeConfig{})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close() //nolint:errcheck // the test is over
	opensm := testenv.StartOpenSM(t, b.name, "host-08", "sm_priority 3", "sminfo_polling_timeout 500")
	opensm.WaitSubnetUp(t)
	for _, priority := range []uint8{1, 9} {
		t.Run(fmt.Sprint(priority), func(t *testing.T) {
			dev, err := live.Open("", 0)
			if err != nil {
				t.Fatal(err)
			}
			port := umad.NewPort(dev)
			m, err := sm.New(port, config(t, priority))
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- m.Run(ctx) }()
			if priority > 3 {
				b.managedBy(t, "")
			} else {
				standsBy(t, m)
				b.managedBy(t, "host-08")
			}
			cancel()
			if err := errors.Join(<-ended, port.Close()); err != nil {
				t.Error(err)
			}
			b.managedBy(t, "host-08")
		})
	}
}
