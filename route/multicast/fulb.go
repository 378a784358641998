package multicast

import (
	"bytes"
	"math"

	"heddle/route"
)

// fulb is FULB-MC (paper, algorithm 3): root rotation, then bottom-up from each
// member towards the root by the least loaded of the ports with fewest hops
// (link rotation), until a switch of this tree is met. Reusing the rest of the
// path is why no loop can form. The lowest-numbered of equal ports is taken.
type fulb struct{ workspace }

func newFULB(g *route.Graph, h *route.Hops, _ Options) route.Router {
	return &fulb{newWorkspace(g, h)}
}

func (f *fulb) Route(s *route.State, leaves []int32, c route.Centers) route.Tree {
	root := leastUsedRoot(c, s.Through())
	f.begin(root)
	row, load := f.h.To(root), s.Load()
	for _, leaf := range leaves {
		for x := leaf; !f.has(x); {
			a := lightest(f.g, x, row, row[x]-1, load)
			f.add(x, a.Edge)
			x = a.To
		}
	}
	return route.Tree{Root: root, Edges: f.edges}
}

// lightest is the arc with the least load among those from x to vertices that
// are d hops from the root.
func lightest(g *route.Graph, x int32, row []byte, d byte, load []int32) route.Arc {
	best, least := route.Arc{To: -1}, int32(math.MaxInt32)
	arcs, runs := g.Up(x), g.Runs(x)
	if runs == nil {
		for _, a := range arcs {
			if row[a.To] == d && load[a.Edge] < least {
				best, least = a, load[a.Edge]
			}
		}
		return best
	}
	for _, r := range runs {
		near, out := row[r.To:r.To+r.Len], arcs[r.First:]
		for i := bytes.IndexByte(near, d); i >= 0; i = indexFrom(near, d, i+1) {
			if l := load[out[i].Edge]; l < least {
				best, least = out[i], l
			}
		}
	}
	return best
}
