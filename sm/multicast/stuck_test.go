package multicast_test

import (
	"errors"
	"testing"

	"heddle/route"
	"heddle/sm/multicast"
)

// noting is an engine that notes what it is asked on.
type noting struct {
	route.Router
	states *[]*route.State
}

func (n noting) Route(s *route.State, leaves []int32, c route.Centers) route.Tree {
	*n.states = append(*n.states, s)
	return n.Router.Route(s, leaves, c)
}

func notingEngine(t *testing.T, name string, states *[]*route.State) multicast.Engine {
	t.Helper()
	good := engine(t, "fulb", 1)
	return multicast.Engine{Name: name, New: func(g *route.Graph, h *route.Hops) route.Router {
		return noting{good.New(g, h), states}
	}}
}

// TestStuckEngine: what an engine works on that is not waited for is used by
// nobody else; the trees of others are what they were, and the next engine lays.
func TestStuckEngine(t *testing.T) {
	var stuck, next []*route.State
	patient, errStuck := true, errors.New("not waited for")
	r, err := multicast.New(multicast.Config{
		Engines: []multicast.Engine{notingEngine(t, "stuck", &stuck), notingEngine(t, "next", &next)},
		Run: func(name string, f func()) error {
			f()
			if name == "stuck" && !patient {
				return errStuck
			}
			return nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, generate(t, "fat-tree:k=4"), engine(t, "fulb", 1))
	w.r = r
	w.see(w.fabric)
	w.have(first, []int{0, 9}, nil)
	patient = false
	w.have(first+1, []int{3, 14}, nil)
	if fs := w.report.Failures; len(fs) != 1 || !errors.Is(fs[0], errStuck) || fs[0].Engine != "stuck" || w.report.Engine != "next" {
		t.Errorf("failures %v, laid by %q", fs, w.report.Engine)
	}
	if len(stuck) != 2 || len(next) != 1 || stuck[1] == next[0] {
		t.Errorf("asked %d and %d times, on the same state: %v", len(stuck), len(next), stuck[1] == next[0])
	}
	w.program()
	w.wantReached(first, 0, 9)
	w.wantReached(first+1, 3, 14)
}
