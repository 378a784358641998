package subnet_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"heddle/emu"
	"heddle/fabric"
	"heddle/fabric/topology"
	"heddle/sm/subnet"
	"heddle/umad"
)

// emulated is a subnet of heddle's own and a port at its first adapter, in
// virtual time.
type emulated struct {
	f    *fabric.Fabric
	live *emu.Live
	port *umad.Port
}

func onEmulator(t *testing.T, spec string, cfg emu.Config, test func(t *testing.T, e emulated)) {
	t.Helper()
	f, err := topology.Generate(spec)
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		live, err := emu.Start(f, cfg)
		if err != nil {
			t.Fatal(err)
		}
		dev, err := live.Open("", 0)
		if err != nil {
			t.Fatal(err)
		}
		e := emulated{f, live, umad.NewPort(dev)}
		test(t, e)
		if err := errors.Join(e.port.Close(), live.Close()); err != nil {
			t.Error(err)
		}
	})
}

func (e emulated) do(t *testing.T, f func(s *emu.Subnet) error) {
	t.Helper()
	if err := e.live.Do(f); err != nil {
		t.Fatal(err)
	}
}

// TestSweepKeepsWindows discovers a subnet whose agents hold two requests. Few
// are dropped: those that reach a node by several ways before it is known, and
// without the window of each node many more.
func TestSweepKeepsWindows(t *testing.T) {
	cfg := emu.Config{KeepLIDs: true, Hop: time.Microsecond, Agent: 50 * time.Microsecond, Queue: 2}
	onEmulator(t, "fat-tree:k=8", cfg, func(t *testing.T, e emulated) {
		nodes := 0
		r, err := subnet.Sweep(t.Context(), e.port, subnet.Options{Progress: func(n int) { nodes = n }})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(listing(e.f), listing(r.Fabric)); diff != "" || nodes != e.f.NumNodes() {
			t.Errorf("%d nodes told (-want +got):\n%s", nodes, diff)
		}
		few := e.dropped(t)
		if _, err := subnet.Sweep(t.Context(), e.port, subnet.Options{PerNode: 64}); err != nil {
			t.Fatal(err)
		}
		if many := e.dropped(t) - few; few > uint64(r.Requests)/20 || many < 2*few {
			t.Errorf("%d of %d requests dropped with windows, %d without", few, r.Requests, many)
		}
	})
}

// dropped is how many SMPs found a queue full.
func (e emulated) dropped(t *testing.T) (n uint64) {
	t.Helper()
	e.do(t, func(s *emu.Subnet) error {
		n = s.Stats().QueueFull
		return nil
	})
	return n
}

// TestSweepResends discovers a subnet that loses, repeats and delays datagrams.
func TestSweepResends(t *testing.T) {
	onEmulator(t, "fat-tree:k=4", emu.Config{KeepLIDs: true, Hop: time.Microsecond, Seed: 1}, func(t *testing.T, e emulated) {
		e.do(t, func(s *emu.Subnet) error {
			return s.Trouble(emu.Trouble{Drop: 0.05, Duplicate: 0.05, Jitter: time.Millisecond})
		})
		r, err := subnet.Sweep(t.Context(), e.port, subnet.Options{Call: umad.CallOptions{Retries: 20}})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(listing(e.f), listing(r.Fabric)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// TestSweepIsPartial discovers a subnet with an adapter that does not answer.
func TestSweepIsPartial(t *testing.T) {
	onEmulator(t, "fat-tree:k=4", emu.Config{KeepLIDs: true}, func(t *testing.T, e emulated) {
		dead := e.f.Adapters()[5]
		e.do(t, func(s *emu.Subnet) error { return s.SlowAgent(dead, time.Hour, 1) })
		r, err := subnet.Sweep(t.Context(), e.port, subnet.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if n := r.Fabric.NumNodes(); n != e.f.NumNodes()-1 {
			t.Errorf("%d nodes of %d", n, e.f.NumNodes())
		}
		faults := fabric.Errors(r.Faults)
		if len(faults) != 1 || faults[0].Kind != fabric.FaultUnreachable || !strings.Contains(faults[0].Text, "path 0,1,") {
			t.Errorf("faults %v", faults)
		}
	})
}

func TestRunEnds(t *testing.T) {
	onEmulator(t, "fat-tree:k=4", emu.Config{}, func(t *testing.T, e emulated) {
		e.do(t, func(s *emu.Subnet) error { return s.SlowAgent(e.f.Adapters()[0], time.Hour, 1) })
		if _, err := subnet.Sweep(t.Context(), e.port, subnet.Options{}); !errors.Is(err, umad.ErrTimeout) || !strings.Contains(err.Error(), "own node") {
			t.Errorf("silent own node: %v", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if _, err := subnet.Sweep(ctx, e.port, subnet.Options{}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("after the context: %v", err)
		}
		if err := e.port.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := subnet.Sweep(t.Context(), e.port, subnet.Options{}); !errors.Is(err, net.ErrClosed) {
			t.Errorf("closed port: %v", err)
		}
	})
}
