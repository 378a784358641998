package multicast

import (
	"iter"
	"slices"

	"heddle/fabric"
	"heddle/ib"
	"heddle/route"
)

// Reach is which switches the trees have, at a moment. Nothing changes it, so
// that joins, which must not wait for the routing, can look for the MLID that is
// best shared (see group.Config.ShareCost).
type Reach struct {
	fabric *fabric.Fabric
	graph  *route.Graph
	tiers  []*tier // without their routers
	trees  []spread
}

// spread is one tree. Neither slice is changed.
type spread struct {
	edges    []int32
	vertices []int32
}

// Reach gives what the trees are now; what is the same as in the last one is
// shared with it. The last one may be nil.
func (r *Router) Reach(last *Reach) *Reach {
	x := &Reach{}
	if r.state == nil {
		return x
	}
	x.fabric, x.graph, x.trees = r.fabric, r.state.Graph, make([]spread, r.state.NumTrees())
	for _, t := range r.tiers {
		x.tiers = append(x.tiers, &tier{from: t.from, g: t.g, h: t.h})
	}
	if last == nil || last.graph != x.graph {
		last = x // which has nothing to share yet
	}
	for idx := range x.trees {
		t := r.state.Tree(idx)
		switch {
		case t.Root < 0:
		case idx < len(last.trees) && last.trees[idx].vertices != nil && slices.Equal(last.trees[idx].edges, t.Edges):
			x.trees[idx] = last.trees[idx]
		default:
			x.trees[idx] = spreadOf(x.graph, t)
		}
	}
	return x
}

func spreadOf(g *route.Graph, t route.Tree) spread {
	s := spread{edges: slices.Clone(t.Edges), vertices: []int32{t.Root}}
	for _, e := range t.Edges {
		a, b := g.Ends(e)
		s.vertices = append(s.vertices, a, b)
	}
	slices.Sort(s.vertices)
	s.vertices = slices.Compact(s.vertices)
	return s
}

// ExtraLinks is how many links more the tree of an MLID would use if a port
// were reached too. An MLID that has no tree yet has its members instead: then
// it is the links to the nearest of them. It is 0 where there is no way.
func (x *Reach) ExtraLinks(port ib.GUID, mlid ib.MLID, members iter.Seq[ib.GUID]) int {
	idx, ok := index(mlid)
	if !ok || x.fabric == nil {
		return 0
	}
	t := tierFor(x.tiers, idx)
	at, why := leafOf(x.fabric, t, port)
	if why != "" {
		return 0
	}
	row, least := t.h.From(at.vertex), byte(route.Far)
	if idx < len(x.trees) && x.trees[idx].vertices != nil {
		for _, v := range x.trees[idx].vertices {
			least = min(least, row[v])
		}
	} else {
		for guid := range members {
			if m, why := leafOf(x.fabric, t, guid); why == "" {
				least = min(least, row[m.vertex])
			}
		}
	}
	if least == route.Far {
		return 0
	}
	return int(least)
}
