package sm_test

import (
	"bytes"
	"context"
	"errors"
	"net"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"heddle/emu"
	"heddle/fabric"
	"heddle/fabric/topology"
	"heddle/ib"
	"heddle/sm"
	"heddle/sm/replica"
	"heddle/sm/store"
	"heddle/umad"
)

// wire is the way between two managers, in memory.
type wire map[string]chan net.Conn

func (w wire) dial(ctx context.Context, address string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case w[address] <- theirs:
		return ours, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

type wireEnd struct {
	conns  chan net.Conn
	closed chan struct{}
}

func (l wireEnd) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l wireEnd) Close() error {
	select {
	case <-l.closed:
	default:
		close(l.closed)
	}
	return nil
}

func (l wireEnd) Addr() net.Addr { return &net.UnixAddr{} }

// twin is one of two managers that share their state.
type twin struct {
	*sm.Manager
	port   *umad.Port
	store  *store.Store
	cancel context.CancelFunc
	ended  chan error // of the manager, and of the node
}

func (r running) twin(t *testing.T, w wire, host fabric.NodeID, id uint16, name, other string) *twin {
	t.Helper()
	s := store.InMemory(store.Options{})
	return r.twinWith(t, w, host, id, name, other, s, s)
}

// twinWith is twin with a store, and what the node takes for it.
func (r running) twinWith(t *testing.T, w wire, host fabric.NodeID, id uint16, name, other string, s *store.Store, shown replica.Store) *twin {
	t.Helper()
	dev, err := r.live.Open(r.fabric(t).Node(host).ID, 0)
	if err != nil {
		t.Fatal(err)
	}
	v := &twin{port: umad.NewPort(dev), store: s, ended: make(chan error, 2)}
	node, err := replica.New(shown, replica.Config{
		ID: id, Secret: bytes.Repeat([]byte("0123456789abcdef"), 2), Peers: []string{other}, Dial: w.dial, Wait: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	cfg := config(t, uint8(10-id))
	cfg.Store, cfg.Memory = v.store, node
	m, err := sm.New(v.port, cfg)
	if err != nil {
		t.Fatal(err)
	}
	v.Manager = m
	var ctx context.Context
	ctx, v.cancel = context.WithCancel(t.Context())
	nodeCtx, nodeCancel := context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		err := m.Run(ctx)
		nodeCancel()
		v.ended <- err
	}()
	go func() {
		err := node.Run(nodeCtx, wireEnd{w[name], make(chan struct{})})
		if nodeCtx.Err() != nil {
			err = nil
		}
		v.ended <- err
	}()
	return v
}

func (v *twin) end(t *testing.T) {
	t.Helper()
	v.cancel()
	if err := errors.Join(<-v.ended, <-v.ended, v.port.Close(), v.store.Close()); err != nil {
		t.Error(err)
	}
}

// TestFailoverKeepsGroups has the other manager go on with all groups and MLIDs.
// As long as all hosts are there, it leaves the switches' tables alone.
func TestFailoverKeepsGroups(t *testing.T) {
	for _, end := range []struct {
		name   string
		master func(t *testing.T, r running, v *twin, host fabric.NodeID)
		writes bool // it may write tables
	}{
		{"host dies", func(t *testing.T, r running, _ *twin, host fabric.NodeID) {
			if err := r.live.Do(func(s *emu.Subnet) error { s.KillNode(host); return nil }); err != nil {
				t.Fatal(err)
			}
		}, true},
		{"manager dies", func(t *testing.T, _ running, v *twin, _ fabric.NodeID) {
			if err := v.port.Close(); err != nil {
				t.Fatal(err)
			}
		}, false},
		{"hands over", func(_ *testing.T, _ running, v *twin, _ fabric.NodeID) { v.cancel() }, false},
	} {
		t.Run(end.name, func(t *testing.T) { testFailover(t, end.master, end.writes) })
	}
}

func testFailover(t *testing.T, end func(t *testing.T, r running, v *twin, host fabric.NodeID), writes bool) {
	f, err := topology.Generate("torus:3x3x3,e=1")
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		live, err := emu.Start(f, emu.Config{})
		if err != nil {
			t.Fatal(err)
		}
		r := running{managed: managed{live: live}}
		w := wire{"one": make(chan net.Conn), "two": make(chan net.Conn)}
		hosts := f.Adapters()
		one := r.twin(t, w, hosts[8], 1, "one", "two")
		time.Sleep(5 * time.Second)
		two := r.twin(t, w, hosts[0], 2, "two", "one")
		time.Sleep(30 * time.Second)
		members := func(n byte) []fabric.NodeID { return []fabric.NodeID{hosts[1], hosts[2+n%6], hosts[9+n%7]} }
		mlids := map[byte]ib.MLID{}
		for n := byte(40); n > 0; n-- {
			mlids[n] = r.join(t, mgid(n), 0, members(n)[:2]...)
		}
		time.Sleep(time.Second)
		for n := range mlids { // trees that grew are others than those laid in one pass
			r.join(t, mgid(n), 0, members(n)[2])
			time.Sleep(time.Second)
		}
		time.Sleep(time.Second)
		before := r.status(t).Stats
		end(t, r, one, hosts[8])
		time.Sleep(15 * time.Second)
		after := r.status(t).Stats
		if lfts, mfts := after.LFTSets-before.LFTSets, after.MFTSets-before.MFTSets; !writes && lfts+mfts > 0 {
			t.Errorf("%d Sets of forwarding tables, %d of multicast tables; want none", lfts, mfts)
		}
		if _, manager := r.master(t); manager != hosts[0] {
			t.Errorf("managed by node %d, want %d", manager, hosts[0])
		}
		for n, mlid := range mlids {
			if got := r.spread(t, mlid, hosts[1]); !slices.Equal(got, members(n)[1:]) {
				t.Errorf("group %d: a packet reaches %v, want %v", n, got, members(n)[1:])
			}
		}
		if again := r.join(t, mgid(7), 0, hosts[3]); again != mlids[7] {
			t.Errorf("MLID %v, before %v", again, mlids[7])
		}
		one.end(t)
		two.end(t)
		if err := live.Close(); err != nil {
			t.Error(err)
		}
	})
}
