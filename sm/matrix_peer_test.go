package sm_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"heddle/emu"
	"heddle/fabric"
	"heddle/fabric/format"
	"heddle/ib"
	"heddle/internal/testenv"
	"heddle/route"
	"heddle/sa"
	"heddle/sm"
	"heddle/sm/partition"
	"heddle/umad"
)

// matrixNet is one of those that are managed.
type matrixNet struct {
	name   string
	fabric *fabric.Fabric
}

// matrixNets are two fat trees, a torus, a dragonfly and the published dump of
// an NDR pod.
func matrixNets(t *testing.T) (nets []matrixNet) {
	t.Helper()
	for _, spec := range []string{"fat-tree:k=8", "fat-tree:k=16", "torus:4x4x3,e=2", "dragonfly:a=4,p=2,h=2"} {
		nets = append(nets, matrixNet{spec, generate(t, spec)})
	}
	path, ok := testenv.Shared(t, "data", "fabrics", "topograph-ibnetdiscover-example.out")
	if !ok {
		return append(nets, matrixNet{"in place of topograph", generate(t, "trimmed:supernodes=3,leaves=8,hosts=16,mids=4,tops=4,rate=4xNDR")})
	}
	text, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer text.Close()
	f, _, err := format.Read(text, path, "")
	if err != nil {
		t.Fatal(err)
	}
	return append(nets, matrixNet{"topograph", f})
}

// onEmu serves a fabric by our emulator, and gives the base of its sockets'
// names.
func onEmu(t *testing.T, f *fabric.Fabric) string {
	t.Helper()
	live, err := emu.Start(f, emu.Config{})
	if err != nil {
		t.Fatal(err)
	}
	name := testenv.SocketName(t)
	server, err := live.Serve(name, emu.ServeConfig{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(server.Close(), live.Close()); err != nil {
			t.Error(err)
		}
	})
	return name
}

// onIBSim serves a fabric by ibsim, which has room for 256 switches by default.
func onIBSim(t *testing.T, f *fabric.Fabric) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "net")
	w, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(format.Write(w, f, "ibsim"), w.Close()); err != nil {
		t.Fatal(err)
	}
	return testenv.StartIBSim(t, file, "-S", fmt.Sprint(max(256, len(f.Switches())))).Name
}

// matrix is a managed subnet, and what the diagnostic programs found of it.
type matrix struct {
	sockets  string
	diagNode string
	found    *fabric.Fabric
	graph    *route.Graph
	lfts     *route.LFTs
	mfts     *route.MFTs
	client   *sa.Client
	net      string // the file of what ibnetdiscover found
	groups   []fabric.Group
	mgids    []ib.MGID // of the groups
	mlids    []ib.MLID
}

// TestMatrix: each net on our emulator and on ibsim is brought up, groups are
// made, and the diagnostic programs find everything in order.
func TestMatrix(t *testing.T) {
	if testing.Short() {
		t.Skip("ten subnets with the diagnostic programs take half a minute; skipped, as this is go test -short")
	}
	for _, program := range []string{"ibsim", "ibnetdiscover", "saquery"} {
		testenv.Peer(t, program)
	}
	for _, n := range matrixNets(t) {
		for name, serve := range map[string]func(*testing.T, *fabric.Fabric) string{"emu": onEmu, "ibsim": onIBSim} {
			t.Run(n.name+" on "+name, func(t *testing.T) { testMatrix(t, n.fabric, serve(t, n.fabric)) })
		}
	}
}

func testMatrix(t *testing.T, f *fabric.Fabric, sockets string) {
	hosts := matrixHosts(f)
	cfg := config(t, 7)
	cfg.PKeys.Partitions = partition.Default()
	m := startManager(t, sockets, f.Node(hosts[0].Node).ID, cfg)
	eventually(t, func() string {
		if s := m.Status(); s.Sweeps == 0 || s.Last.Again || s.Last.Err != nil {
			return fmt.Sprintf("no subnet: %+v", s.Last)
		}
		return ""
	})
	x := &matrix{sockets: sockets, diagNode: f.Node(hosts[2].Node).ID}
	x.client = sa.New(open(t, sockets, f.Node(hosts[1].Node).ID), sa.Options{SMKey: 1})
	x.discover(t, f)
	x.checkSMInfo(t, f.Node(hosts[0].Node).GUID)
	x.makeGroups(t)
	x.dumpTables(t)
	x.checkPaths(t)
	x.checkTrees(t)
	x.checkRecords(t)
	x.checkSaquery(t)
}

// matrixHosts are ports that clients can attach to: of an adapter that has
// several, ibsim lets them have the first.
func matrixHosts(f *fabric.Fabric) (ends []fabric.End) {
	for _, e := range f.EndPorts() {
		if e.Port == 1 {
			ends = append(ends, e)
		}
	}
	return ends
}

// diag runs a program of infiniband-diags.
func (x *matrix) diag(t *testing.T, program string, args ...string) string {
	t.Helper()
	return testenv.Diag(t, x.sockets, x.diagNode, program, args...)
}

// open attaches to a node of a server.
func open(t *testing.T, sockets, node string) *umad.Port {
	t.Helper()
	dev, err := umad.Open("ibsim:" + sockets + "/" + node)
	if err != nil {
		t.Fatal(err)
	}
	port := umad.NewPort(dev)
	t.Cleanup(func() {
		if err := port.Close(); err != nil {
			t.Error(err)
		}
	})
	return port
}

// startManager runs a manager at a node of a server, until the end of the test.
func startManager(t *testing.T, sockets, node string, cfg sm.Config) *sm.Manager {
	t.Helper()
	port := open(t, sockets, node)
	m, err := sm.New(port, cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- m.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return m
}

// eventually asks again and again until nothing is wrong any more.
func eventually(t *testing.T, wrong func() string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		why := wrong()
		if why == "" {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatal(why)
		}
	}
}
