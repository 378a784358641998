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
	port   *umad.Port
	store  *store.Store
	cancel context.CancelFunc
	ended  chan error // of the manager, and of the node
}

func (r running) twin(t *testing.T, w wire, host fabric.NodeID, id uint16, name, other string) *twin {
	t.Helper()
	dev, err := r.live.Open(r.fabric(t).Node(host).ID, 0)
	if err != nil {
		t.Fatal(err)
	}
	v := &twin{port: umad.NewPort(dev), store: store.InMemory(store.Options{}), ended: make(chan error, 2)}
	node, err := replica.New(v.store, replica.Config{
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

// TestFailoverKeepsGroups kills the host of the master: the other manager goes
// on with all groups and MLIDs.
func TestFailoverKeepsGroups(t *testing.T) {
	f, err := topology.Generate("fat-tree:k=4")
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
		members := []fabric.NodeID{hosts[1], hosts[6], hosts[15]}
		mlids := map[byte]ib.MLID{}
		for n := byte(1); n <= 40; n++ {
			mlids[n] = r.join(t, mgid(n), 0, members...)
		}
		time.Sleep(time.Second)
		if err := live.Do(func(s *emu.Subnet) error { s.KillNode(hosts[8]); return nil }); err != nil {
			t.Fatal(err)
		}
		time.Sleep(15 * time.Second)
		if _, manager := r.master(t); manager != hosts[0] {
			t.Errorf("managed by node %d, want %d", manager, hosts[0])
		}
		for n, mlid := range mlids {
			if got := r.spread(t, mlid, members[0]); !slices.Equal(got, members[1:]) {
				t.Errorf("group %d: a packet reaches %v, want %v", n, got, members[1:])
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
