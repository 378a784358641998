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
	"heddle/mad"
	"heddle/sm"
	"heddle/sm/plan"
	"heddle/sm/store"
	"heddle/umad"
)

// keeping is a subnet without LIDs, whose managers are given some.
type keeping struct {
	running
	f *fabric.Fabric
}

func keep(t *testing.T, test func(t *testing.T, k keeping)) {
	t.Helper()
	f, err := topology.Generate("fat-tree:k=4")
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		live, err := emu.Start(f, emu.Config{})
		if err != nil {
			t.Fatal(err)
		}
		test(t, keeping{running{managed: managed{live: live}}, f})
		if err := live.Close(); err != nil {
			t.Error(err)
		}
	})
}

// era runs a manager at a node.
func (k keeping) era(t *testing.T, node string, cfg sm.Config, test func(m *sm.Manager)) {
	t.Helper()
	dev, err := k.live.Open(node, 0)
	if err != nil {
		t.Fatal(err)
	}
	port := umad.NewPort(dev)
	m, err := sm.New(port, cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- m.Run(ctx) }()
	time.Sleep(time.Second)
	test(m)
	cancel()
	if err := errors.Join(<-ended, port.Close()); err != nil {
		t.Error(err)
	}
}

// high gives each adapter's port a LID from one on.
func (k keeping) high(from ib.LID) (lids map[ib.GUID]plan.LIDRange, list []ib.LID) {
	lids = map[ib.GUID]plan.LIDRange{}
	for i, host := range k.f.Adapters() {
		lid := from + ib.LID(3*i)
		lids[k.f.Port(fabric.End{Node: host, Port: 1}).GUID] = plan.LIDRange{First: lid, Last: lid}
		list = append(list, lid)
	}
	return lids, list
}

// TestGivenLIDs: ports without LIDs get those that the configuration has for
// them, and the list for a file has them, and keeps one of a port that is gone,
// if nobody else has its LID.
func TestGivenLIDs(t *testing.T) {
	keep(t, func(t *testing.T, k keeping) {
		cfg := config(t, 5)
		lids, want := k.high(200)
		const gone, contested = 0xdead, 0xbeef
		lids[gone], lids[contested] = plan.LIDRange{First: 999, Last: 999}, plan.LIDRange{First: want[3], Last: want[3]}
		cfg.LIDs.Keep = lids
		var told map[ib.GUID]plan.LIDRange
		cfg.Swept = func(s sm.Subnet, _ *sm.Report) { told = s.LIDs }
		k.era(t, "", cfg, func(*sm.Manager) {
			if got := k.lids(t); !slices.Equal(got, want) {
				t.Errorf("LIDs %v, want %v", got, want)
			}
		})
		if len(told) != 16+20+1 || told[gone].First != 999 {
			t.Errorf("%d LIDs told, that of a port that is gone is %v", len(told), told[gone])
		}
		if _, ok := told[contested]; ok {
			t.Error("a LID is told to be that of two ports")
		}
	})
}

// TestStateBeforeFile: what the state has of a port counts, and the file fills
// in the rest.
func TestStateBeforeFile(t *testing.T) {
	keep(t, func(t *testing.T, k keeping) {
		state := store.InMemory(store.Options{})
		cfg := config(t, 5)
		cfg.Store = state
		all, want := k.high(200)
		half := map[ib.GUID]plan.LIDRange{}
		for _, host := range k.f.Adapters()[:8] {
			guid := k.f.Port(fabric.End{Node: host, Port: 1}).GUID
			half[guid] = all[guid]
		}
		b := &store.Batch{}
		for guid, own := range half {
			b.PutLIDs(guid, store.LIDRange{First: own.First, Last: own.Last})
		}
		if err := state.Commit(t.Context(), b, func(r store.Result) {
			if r.Err != nil {
				t.Error(r.Err)
			}
		}); err != nil {
			t.Fatal(err)
		}
		file, other := k.high(200)
		for i, host := range k.f.Adapters()[:8] {
			// of the first half the file knows other LIDs, one of them free
			file[k.f.Port(fabric.End{Node: host, Port: 1}).GUID] = plan.LIDRange{First: other[0] + ib.LID(600+i), Last: other[0] + ib.LID(600+i)}
		}
		stray := k.f.Port(fabric.End{Node: k.f.Adapters()[15], Port: 1}).GUID
		file[stray] = plan.LIDRange{First: want[0], Last: want[0]} // the state has it for another
		cfg.LIDs.Keep = file
		k.era(t, "", cfg, func(*sm.Manager) {
			got := k.lids(t)
			if !slices.Equal(got[:15], want[:15]) || got[15] == want[0] {
				t.Errorf("LIDs %v, want %v and another last one", got, want)
			}
		})
		if err := state.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestFileAfterStandby: who stood by does not go by the file, unless it is told
// to.
func TestFileAfterStandby(t *testing.T) {
	for _, honor := range []bool{false, true} {
		keep(t, func(t *testing.T, k keeping) {
			cfg := config(t, 3)
			lids, want := k.high(200)
			cfg.LIDs.Keep, cfg.LIDsAfterStandby = lids, honor
			cfg.LIDs.Reassign = true // so that the ports' own LIDs do not count
			second := k.f.Node(k.f.Adapters()[5]).ID
			k.era(t, "", config(t, 9), func(*sm.Manager) {
				k.era(t, second, cfg, func(m *sm.Manager) {
					time.Sleep(20 * time.Second)
					if state := m.Status().Info.SMState; state != mad.SMStandby {
						t.Fatalf("%v beside a better one", state)
					}
					if err := k.live.Do(func(s *emu.Subnet) error { s.KillNode(k.f.Adapters()[0]); return nil }); err != nil {
						t.Fatal(err)
					}
					time.Sleep(time.Minute)
					got := k.lids(t)
					if slices.Equal(got[1:], want[1:]) != honor {
						t.Errorf("LIDs %v, the file's are %v, and to be honoured: %v", got, want, honor)
					}
				})
			})
		})
	}
}
