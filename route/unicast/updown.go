package unicast

import (
	"cmp"
	"fmt"
	"slices"
	"sync/atomic"

	"heddle/route"
)

// updown allows paths that go up, towards the roots, and then down, never up
// again: no cycle of waiting packets can form. Up is towards the lower rank, and
// at equal rank towards the lower GUID. A rank is the hops from the nearest of the
// given roots. Where none are given, it is that of route.Ranks, by the hops from
// the leaf switches, if the fabric has such ranks; else roots are found. Where an
// order that was found leaves two switches with end nodes without an allowed path,
// as can be in a damaged tree, that of route.OrderFor is taken.
//
// A table knows a packet's destination, but not where it came from. So that no
// packet that came down goes up again, a switch from which a path leads down
// takes such a path, even where one that goes up first would be shorter. In
// fabrics that are layered this costs nothing. Between switches without end
// nodes, such as two roots, there may be no allowed path at all; Options.Connect
// has paths of fewest hops there. They make no loop: where one comes to a switch
// from which there is an allowed path, that is taken, and it leads only through
// such switches.
func updown(g *route.Graph, h *route.Hops, lids *route.LIDs, o Options) (*route.LFTs, error) {
	if err := g.CheckPorts(); err != nil {
		return nil, err
	}
	orders, err := candidates(g, h, o.Roots)
	if err != nil {
		return nil, err
	}
	for _, order := range orders {
		var u *upDown
		if u, err = newUpdown(g, lids, order(), o.Workers); err != nil {
			return nil, err
		}
		if err = u.connects(h); err == nil {
			return balance(g, lids, o.Workers, u.chooser(g, h, o.Connect))
		}
	}
	return nil, err
}

// chooser takes the allowed paths, and, if all are to be connected, the
// shortest of g, which has no order, where there is none.
func (u *upDown) chooser(g *route.Graph, h *route.Hops, connect bool) chooser {
	if !connect {
		return u.choose
	}
	fewest := shortest(g, h)
	return func(v, leaf int32, list []route.Arc) []route.Arc {
		if list = u.choose(v, leaf, list); len(list) > 0 {
			return list
		}
		return fewest(v, leaf, list)
	}
}

// candidates lists the orders to try.
func candidates(g *route.Graph, h *route.Hops, roots []int32) ([]func() route.Order, error) {
	for _, v := range roots {
		if v < 0 || int(v) >= g.NumVertices() || !g.Usable(v) {
			return nil, fmt.Errorf("updown: root %d is no live switch", v)
		}
	}
	first := func() route.Order { return total(g, g.HopsFrom(roots)) }
	if len(roots) > 0 {
		return []func() route.Order{first}, nil
	}
	first = func() route.Order { return total(g, g.HopsFrom(findRoots(g, h))) }
	if ranks, ok := route.Ranks(g); ok {
		first = func() route.Order { return total(g, ranks) }
	}
	return []func() route.Order{first, func() route.Order { return route.OrderFor(g) }}, nil
}

// total orders the switches by rank, then by GUID; those of rank -1 come last.
func total(g *route.Graph, ranks []int32) route.Order {
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
	var next atomic.Int32
	route.Parallel(workers, func() {
		for leaf := next.Add(1) - 1; int(leaf) < len(u.legal); leaf = next.Add(1) - 1 {
			if u.legal[leaf] != nil {
				u.row(u.legal[leaf], u.down.From(leaf))
			}
		}
	})
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

// connects is an error where there is a path between two switches with end nodes,
// but no allowed one.
func (u *upDown) connects(h *route.Hops) error {
	var hosts []int32
	for v := range int32(u.g.NumVertices()) {
		if u.g.HostsAt(v) > 0 {
			hosts = append(hosts, v)
		}
	}
	for _, leaf := range hosts {
		for _, v := range hosts {
			if legal := u.legal[leaf]; legal != nil && legal[v] == route.Far && h.To(leaf)[v] != route.Far {
				return fmt.Errorf("updown: no way leads up and then down from %s to %s", u.g.Label(v), u.g.Label(leaf))
			}
		}
	}
	return nil
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
