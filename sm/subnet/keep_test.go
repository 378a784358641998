package subnet_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"heddle/emu"
	"heddle/fabric"
	"heddle/sm/subnet"
)

func (e emulated) sweep(t *testing.T) *subnet.View {
	t.Helper()
	v, err := subnet.Sweep(t.Context(), e.port, subnet.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// silence lets the agent of a node answer no more, or answer again.
func (e emulated) silence(t *testing.T, id fabric.NodeID, on bool) {
	t.Helper()
	e.do(t, func(s *emu.Subnet) error {
		if on {
			return s.SlowAgent(id, 24*time.Hour, 1)
		}
		s.KillNode(id)
		s.ReviveNode(id)
		return s.SlowAgent(id, 0, 0)
	})
}

// TestKeep lets a spine switch be silent: for two sweeps it is there with all
// of its links, then it is gone.
func TestKeep(t *testing.T) {
	onEmulator(t, "fat-tree:k=4", emu.Config{KeepLIDs: true}, func(t *testing.T, e emulated) {
		whole := e.sweep(t)
		silent := e.f.Switches()[19]
		e.silence(t, silent, true)
		old := whole
		for sweep := 1; sweep <= 3; sweep++ {
			v := e.sweep(t)
			if len(v.Nodes) != len(whole.Nodes)-1 {
				t.Fatalf("%d nodes answered of %d", len(v.Nodes), len(whole.Nodes))
			}
			kept := v.Keep(old, 2)
			switch {
			case sweep == 3:
				if len(kept) != 0 {
					t.Errorf("sweep %d keeps %d nodes", sweep, len(kept))
				}
			case len(kept) != 1 || kept[0].Stale != sweep || kept[0].GUID() != e.f.Node(silent).GUID:
				t.Errorf("sweep %d keeps %d nodes", sweep, len(kept))
			default:
				if diff := cmp.Diff(listing(whole.Fabric), listing(v.Fabric)); diff != "" {
					t.Errorf("sweep %d (-before +kept):\n%s", sweep, diff)
				}
			}
			old = v
		}
	})
}

// TestKeepNotTheDead: a node whose links are down is gone at once, and so is
// one link that is down between two that answer.
func TestKeepNotTheDead(t *testing.T) {
	onEmulator(t, "fat-tree:k=4", emu.Config{KeepLIDs: true}, func(t *testing.T, e emulated) {
		whole := e.sweep(t)
		e.do(t, func(s *emu.Subnet) error {
			s.KillNode(e.f.Switches()[19])
			s.CutLink(fabric.LinkID(e.f.NumLinks() - 1))
			return nil
		})
		v := e.sweep(t)
		nodes, links := len(v.Nodes), v.Fabric.NumLinks()
		if kept := v.Keep(whole, 2); len(kept) != 0 || len(v.Nodes) != nodes || v.Fabric.NumLinks() != links {
			t.Errorf("%d nodes kept", len(kept))
		}
	})
}

// TestDeadNodeIsGivenUp: whoever does not answer two requests is not waited for
// again, however many were meant for it.
func TestDeadNodeIsGivenUp(t *testing.T) {
	onEmulator(t, "fat-tree:k=8", emu.Config{KeepLIDs: true}, func(t *testing.T, e emulated) {
		e.do(t, func(s *emu.Subnet) error {
			for _, id := range e.f.Switches()[40:44] {
				if err := s.SlowAgent(id, time.Hour, 3); err != nil { // some requests find a place, none an answer
					return err
				}
			}
			return nil
		})
		start := time.Now()
		e.sweep(t)
		if took := time.Since(start); took > 2*time.Second {
			t.Errorf("four silent switches hold the sweep for %v", took)
		}
	})
}
