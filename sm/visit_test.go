package sm_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"heddle/emu"
	"heddle/fabric"
	"heddle/ib"
	"heddle/route"
	"heddle/sm"
	"heddle/sm/plan"
)

// TestVisit: what a visitor sees of the multicast tables is what the emulated
// switches hold.
func TestVisit(t *testing.T) {
	run(t, "fat-tree:k=4", emu.Config{}, func(t *testing.T, r running) {
		mlid := r.join(t, mgid(1), 0, r.fabric(t).Adapters()[2:6]...)
		time.Sleep(time.Second)
		failed := errors.New("visitor's own error")
		err := r.Visit(t.Context(), func(s sm.Subnet) error {
			if s.View.Fabric.NumNodes() != 36 || len(s.LFTs.Tables) != 20 || len(s.LIDs) != 36 {
				t.Errorf("%d nodes, %d tables, %d LIDs", s.View.Fabric.NumNodes(), len(s.LFTs.Tables), len(s.LIDs))
			}
			for v, table := range s.MFTs().Tables {
				checkEntry(t, r, s.LFTs.Graph.Node(int32(v)), table, mlid)
			}
			return failed
		})
		if !errors.Is(err, failed) {
			t.Errorf("%v, want the visitor's error", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := r.Visit(ctx, func(sm.Subnet) error { return nil }); err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("%v, want none or the context's end", err)
		}
	})
}

func checkEntry(t *testing.T, r running, sw fabric.NodeID, table route.MFT, mlid ib.MLID) {
	t.Helper()
	var told route.PortSet
	for _, e := range table {
		if e.MLID == mlid {
			told = e.Ports
		}
	}
	for port := range r.fabric(t).Node(sw).NumPorts + 1 {
		if told.Has(port) != r.forwards(t, sw, mlid, port) {
			t.Errorf("%s port %d: told %v", r.fabric(t).Node(sw).Label(), port, told.Has(port))
		}
	}
}

// TestReconfigure: another configuration counts from the next sweep on.
func TestReconfigure(t *testing.T) {
	run(t, "fat-tree:k=4", emu.Config{}, func(t *testing.T, r running) {
		cfg := config(t, 9)
		cfg.Ports = plan.DefaultPortRules()
		cfg.Ports.Timeout = 7
		cfg.Interval = -1
		r.Reconfigure(cfg)
		time.Sleep(time.Minute)
		s := r.Status()
		if s.Info.Priority != 9 || s.Sweeps != 2 || s.Last.Why != "configuration" {
			t.Errorf("%+v", s)
		}
		err := r.Visit(t.Context(), func(s sm.Subnet) error {
			for _, n := range s.View.Nodes {
				for _, port := range n.Addressed() {
					if got := n.Ports[port].Info.SubnetTimeOut; got != 7 {
						t.Errorf("%s port %d: SubnetTimeOut %d", n.Label(), port, got)
					}
				}
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
}
