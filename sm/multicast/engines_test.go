package multicast_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/ib"
	"heddle/route"
	"heddle/sm/group"
	"heddle/sm/multicast"
)

// broken is an engine that fails after so many trees.
type broken struct {
	route.Router
	left int
	fail func(t route.Tree) route.Tree
	g    *route.Graph
}

func (b *broken) Route(s *route.State, leaves []int32, c route.Centers) route.Tree {
	t := b.Router.Route(s, leaves, c)
	if b.left--; b.left < 0 {
		if b.fail == nil { // a ring of four, and the root by itself
			t = route.Tree{Root: leaves[len(leaves)-1]}
			for _, a := range append(slices.Clone(b.g.Up(0)), b.g.Up(1)...) {
				t.Edges = append(t.Edges, a.Edge)
			}
			return t
		}
		return b.fail(t)
	}
	return t
}

func breaking(t *testing.T, after int, fail func(route.Tree) route.Tree) multicast.Engine {
	good := engine(t, "fulb", 1)
	return multicast.Engine{Name: "broken", New: func(g *route.Graph, h *route.Hops) route.Router {
		return &broken{good.New(g, h), after, fail, g}
	}}
}

// TestEngineFails is case S2: what an engine does wrong harms nothing, is named,
// and the next one is tried.
func TestEngineFails(t *testing.T) {
	wrong := map[string]func(route.Tree) route.Tree{
		"pieces":    nil,
		"panics":    func(route.Tree) route.Tree { panic("strange fabric") },
		"no tree":   func(route.Tree) route.Tree { return route.Tree{Root: -1} },
		"no root":   func(route.Tree) route.Tree { return route.Tree{Root: 1 << 20} },
		"no edge":   func(x route.Tree) route.Tree { return route.Tree{Root: x.Root, Edges: []int32{1 << 20}} },
		"too short": func(x route.Tree) route.Tree { return route.Tree{Root: x.Root, Edges: x.Edges[1:]} },
		"twice": func(x route.Tree) route.Tree {
			return route.Tree{Root: x.Root, Edges: append(slices.Clone(x.Edges), x.Edges[0])}
		},
	}
	for name, fail := range wrong {
		t.Run(name, func(t *testing.T) {
			f := generate(t, "fat-tree:k=4")
			w := newWorld(t, f, breaking(t, 1, fail), engine(t, "minihop", 1))
			w.have(first, []int{0, 15}, nil)
			w.have(first+1, []int{1, 14}, nil)
			if fs := w.report.Failures; len(fs) != 1 || fs[0].Engine != "broken" || fs[0].MLID != first+1 || fs[0].Err == nil {
				t.Errorf("failures: %v", fs)
			}
			if w.report.Engine != "minihop" {
				t.Errorf("laid by %q", w.report.Engine)
			}
			w.program()
			w.wantReached(first+1, 1, 14)

			alone := newWorld(t, f, breaking(t, 1, fail))
			alone.have(first, []int{0, 15}, nil)
			alone.program()
			alone.report = alone.r.Reroute()
			if diff := cmp.Diff([]ib.MLID{first}, alone.report.Unrouted); diff != "" {
				t.Errorf("not routed (-want +got):\n%s", diff)
			}
			if p := alone.program(); p.Sets > 0 && len(alone.reached(first, 0)) != 1 {
				t.Errorf("the old tree is gone: %d Sets", p.Sets)
			}
			var failure multicast.Failure
			if fs := alone.report.Failures; len(fs) != 1 || !errors.As(fs[0], &failure) || failure.Error() == "" {
				t.Errorf("failures: %v", fs)
			}
		})
	}
}

// TestTriedAgain: a group that no engine could route is tried again at the next
// sweep.
func TestTriedAgain(t *testing.T) {
	f := generate(t, "fat-tree:k=4")
	w := newWorld(t, f, breaking(t, 0, func(route.Tree) route.Tree { panic("for the first time") }))
	w.have(first, []int{0, 15}, nil)
	if len(w.report.Unrouted) != 1 || len(w.r.CutOff()) != 2 {
		t.Errorf("not routed: %v, cut off: %v", w.report.Unrouted, w.r.CutOff())
	}
	w.see(f)
	if len(w.report.Unrouted) != 1 {
		t.Errorf("not routed: %v, want another try", w.report.Unrouted)
	}
}

// TestImproveLeavesOthers: a batch that an engine betters changes no tree of
// before.
func TestImproveLeavesOthers(t *testing.T) {
	w := newWorld(t, generate(t, "fat-tree:k=4"), engine(t, "weave", 3))
	for i := range 12 {
		w.have(first+ib.MLID(i), []int{i, (i + 5) % 16, (i + 9) % 16}, nil)
	}
	w.program()
	var batch group.Batch
	for i := range 12 {
		mlid := first + 12 + ib.MLID(i)
		w.groups[mlid] = group.Ports{Receivers: w.gids([]int{i, (i + 6) % 16, (i + 13) % 16})}
		batch.Changed = append(batch.Changed, mlid)
	}
	before := w.r.Tables()
	w.report = w.r.Update(batch, w.groups)
	after := w.r.Tables()
	for v, table := range before.Tables {
		for _, e := range table {
			if after.Tables[v].Lookup(e.MLID) != e.Ports {
				t.Errorf("%v changed", e.MLID)
			}
		}
	}
	w.program()
	w.judge(t)
}
