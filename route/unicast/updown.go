package unicast

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"heddle/route"
)

// updown allows paths that go up, towards the roots, and then down, never up
// again: no cycle of waiting packets can form. Up is towards the lower rank,
// the hops from the nearest root, and at equal rank towards the lower GUID.
//
// A table knows a packet's destination, but not where it came from. So that no
// packet that came down goes up again, a switch from which a path leads down
// takes such a path, even where one that goes up first would be shorter. In
// fabrics that are layered this costs nothing. Between switches without end
// nodes, such as two roots, there may be no allowed path at all.
func updown(g *route.Graph, h *route.Hops, lids *route.LIDs, o Options) (*route.LFTs, error) {
	given := len(o.Roots) > 0
	for _, v := range o.Roots {
		if v < 0 || int(v) >= g.NumVertices() || !g.Usable(v) {
			return nil, fmt.Errorf("updown: root %d is no live switch", v)
		}
	}
	if !given {
		o.Roots = FindRoots(g, h)
	}
	u, err := newUpdown(g, lids, orderFrom(g, o.Roots), o.Workers)
	if err != nil {
		return nil, err
	}
	if v, leaf, ok := u.unconnected(h); ok {
		if given {
			return nil, fmt.Errorf("updown: with these roots no way leads up and then down from %s to %s", g.Label(v), g.Label(leaf))
		}
		if u, err = newUpdown(g, lids, route.OrderFor(g), o.Workers); err != nil {
			return nil, err
		}
		if v, leaf, ok := u.unconnected(h); ok {
			return nil, fmt.Errorf("updown: no way leads up and then down from %s to %s", g.Label(v), g.Label(leaf))
		}
	}
	return balance(g, lids, o.Workers, u.choose)
}

// orderFrom ranks the switches by the hops from the roots, then by GUID.
func orderFrom(g *route.Graph, roots []int32) route.Order {
	ranks := g.HopsFrom(roots)
	turn := make([]int32, g.NumVertices())
	for v := range turn {
		turn[v] = int32(v)
	}
	slices.SortFunc(turn, func(a, b int32) int {
		return cmp.Or(cmp.Compare(uint32(ranks[a]), uint32(ranks[b])), cmp.Compare(guid(g, a), guid(g, b)), cmp.Compare(a, b))
	})
	order := make(route.Order, len(turn))
	for at, v := range turn {
		order[v] = int32(at)
	}
	return order
}

// upDown is a graph with an order and the hops of its allowed paths.
type upDown struct {
	g     *route.Graph // ordered
	down  *route.Hops  // From(leaf)[v]: hops down from v to leaf
	legal [][]byte     // by leaf and vertex: hops of the allowed path; nil for no leaf
	turn  []int32      // vertices, the highest first
}

func newUpdown(g *route.Graph, lids *route.LIDs, order route.Order, workers int) (*upDown, error) {
	u := &upDown{g: g.Ordered(order), legal: make([][]byte, g.NumVertices())}
	var err error
	if u.down, err = route.NewHops(u.g, workers); err != nil {
		return nil, err
	}
	u.turn = make([]int32, len(order))
	for v := range u.turn {
		u.turn[v] = int32(v)
	}
	slices.SortFunc(u.turn, func(a, b int32) int { return cmp.Or(cmp.Compare(order[a], order[b]), cmp.Compare(a, b)) })
	for _, goal := range targets(g, lids) {
		if goal.leaf >= 0 && u.legal[goal.leaf] == nil {
			u.legal[goal.leaf] = make([]byte, g.NumVertices())
		}
	}
	u.measure(workers)
	return u, nil
}

// measure fills the rows of legal.
func (u *upDown) measure(workers int) {
	var (
		next atomic.Int32
		wg   sync.WaitGroup
	)
	for range max(1, workers) {
		wg.Go(func() {
			for leaf := next.Add(1) - 1; int(leaf) < len(u.legal); leaf = next.Add(1) - 1 {
				if u.legal[leaf] != nil {
					u.row(u.legal[leaf], u.down.From(leaf))
				}
			}
		})
	}
	wg.Wait()
}

func (u *upDown) row(legal, down []byte) {
	for _, v := range u.turn {
		legal[v] = down[v]
		if down[v] != route.Far {
			continue
		}
		for _, a := range u.g.Up(v) {
			if d := legal[a.To]; d < route.MaxHops {
				legal[v] = min(legal[v], d+1)
			}
		}
	}
}

// unconnected finds two switches with end nodes between which there is a path,
// but no allowed one.
func (u *upDown) unconnected(h *route.Hops) (v, leaf int32, found bool) {
	for leaf, legal := range u.legal {
		if u.g.HostsAt(int32(leaf)) == 0 {
			continue
		}
		for v, d := range legal {
			if d == route.Far && u.g.HostsAt(int32(v)) > 0 && h.To(int32(leaf))[v] != route.Far {
				return int32(v), int32(leaf), true
			}
		}
	}
	return 0, 0, false
}

func (u *upDown) choose(v, leaf int32, list []route.Arc) []route.Arc {
	down, legal := u.down.From(leaf), u.legal[leaf]
	row, arcs := down, u.g.Down(v)
	if down[v] == route.Far {
		row, arcs = legal, u.g.Up(v)
	}
	if row[v] == route.Far {
		return list
	}
	for _, a := range arcs {
		if row[a.To]+1 == row[v] {
			list = append(list, a)
		}
	}
	return list
}
