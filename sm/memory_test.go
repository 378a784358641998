package sm_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"heddle/emu"
	"heddle/fabric"
	"heddle/fabric/topology"
	"heddle/ib"
	"heddle/sm"
	"heddle/sm/store"
	"heddle/umad"
)

// remembering is a subnet whose managers come and go, with one memory.
type remembering struct {
	running
	store *store.Store
}

// era runs a manager for as long as a test takes.
func (r *remembering) era(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	dev, err := r.live.Open("", 0)
	if err != nil {
		t.Fatal(err)
	}
	port := umad.NewPort(dev)
	cfg := config(t, 5)
	cfg.Store = r.store
	m, err := sm.New(port, cfg)
	if err != nil {
		t.Fatal(err)
	}
	r.Manager = m
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- m.Run(ctx) }()
	time.Sleep(time.Second)
	test(t)
	cancel()
	if err := errors.Join(<-ended, port.Close()); err != nil {
		t.Error(err)
	}
}

// TestRestart: a manager that follows on one keeps LIDs, MLIDs and groups, and
// clients need not join again (case M9).
func TestRestart(t *testing.T) {
	f, err := topology.Generate("fat-tree:k=4")
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		live, err := emu.Start(f, emu.Config{})
		if err != nil {
			t.Fatal(err)
		}
		r := &remembering{running: running{managed: managed{live: live}}, store: store.InMemory(store.Options{})}
		members := []fabric.NodeID{f.Adapters()[0], f.Adapters()[7], f.Adapters()[11]}
		var mlid ib.MLID
		var lids []ib.LID
		r.era(t, func(t *testing.T) {
			r.join(t, mgid(1), 0, f.Adapters()[3], f.Adapters()[4]) // the first MLIDs
			mlid = r.join(t, mgid(2), 0, members...)
			time.Sleep(time.Second)
			lids = r.lids(t)
		})
		r.era(t, func(t *testing.T) {
			if got := r.lids(t); !slices.Equal(got, lids) {
				t.Errorf("LIDs %v, before %v", got, lids)
			}
			if got := r.spread(t, mlid, members[0]); !slices.Equal(got, members[1:]) {
				t.Errorf("a packet reaches %v, want %v", got, members[1:])
			}
			if again := r.join(t, mgid(2), 0, f.Adapters()[15]); again != mlid {
				t.Errorf("MLID %v, before %v", again, mlid)
			}
			time.Sleep(time.Second)
			want := append(slices.Clone(members[1:]), f.Adapters()[15])
			if got := r.spread(t, mlid, members[0]); !slices.Equal(got, want) {
				t.Errorf("after another join a packet reaches %v, want %v", got, want)
			}
		})
		if err := errors.Join(r.store.Close(), live.Close()); err != nil {
			t.Error(err)
		}
	})
}

// lids are those of all adapters.
func (r running) lids(t *testing.T) (list []ib.LID) {
	t.Helper()
	f := r.fabric(t)
	for _, host := range f.Adapters() {
		list = append(list, r.info(t, f.Node(host).ID).LID)
	}
	return list
}
