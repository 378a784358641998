package multicast

import "heddle/route"

// sssp is SSSP-MC as the paper describes OpenSM's DFSSSP (algorithm 2): from
// the root the paths of fewest hops and, among those, of least total load. It
// searches only what can matter, the switches on paths of fewest hops between
// the leaves and the root, and finds paths of the same cost as Dijkstra's
// algorithm over the whole fabric does, which sssp-new-heap is.
type sssp struct {
	workspace
	root chooser
	cost []int64     // by vertex: least load to the root
	via  []route.Arc // by vertex: the first arc of that path
	seen []int32     // stamps vertices of this search
	list []int32     // those vertices, by falling distance from the root
}

func newSSSP(g *route.Graph, h *route.Hops, _ Options) route.Router {
	return newLazySSSP(g, h, firstRoot)
}

func newSSSPNew(g *route.Graph, h *route.Hops, _ Options) route.Router {
	return newLazySSSP(g, h, leastUsedRoot)
}

func newLazySSSP(g *route.Graph, h *route.Hops, root chooser) *sssp {
	n := g.NumVertices()
	return &sssp{
		workspace: newWorkspace(g, h), root: root,
		cost: make([]int64, n), via: make([]route.Arc, n), seen: make([]int32, n),
	}
}

func (s *sssp) Route(st *route.State, leaves []int32, c route.Centers) route.Tree {
	root := s.root(c, st.Through())
	s.begin(root)
	row := s.h.To(root)
	s.collect(leaves, row, root)
	s.settle(row, st.Load())
	for _, leaf := range leaves {
		for x := leaf; !s.has(x); x = s.via[x].To {
			s.add(x, s.via[x].Edge)
		}
	}
	return route.Tree{Root: root, Edges: s.edges}
}

// collect lists all vertices on paths of fewest hops from the leaves to the
// root, without the root, farthest first.
func (s *sssp) collect(leaves []int32, row []byte, root int32) {
	s.list = s.list[:0]
	s.cost[root] = 0
	farthest := byte(0)
	for _, leaf := range leaves {
		farthest = max(farthest, row[leaf])
	}
	done := 0
	for d := farthest; d > 0; d-- {
		for _, leaf := range leaves {
			if row[leaf] == d {
				s.reach(leaf)
			}
		}
		for end := len(s.list); done < end; done++ {
			for _, a := range s.g.Up(s.list[done]) {
				if row[a.To] == d-1 && d > 1 {
					s.reach(a.To)
				}
			}
		}
	}
}

func (s *sssp) reach(v int32) {
	if s.seen[v] != s.stamp {
		s.seen[v] = s.stamp
		s.list = append(s.list, v)
	}
}

// settle finds the least cost of each collected vertex, nearest first.
func (s *sssp) settle(row []byte, load []int32) {
	for i := len(s.list) - 1; i >= 0; i-- {
		v := s.list[i]
		best := int64(-1)
		for _, a := range s.g.Up(v) {
			if row[a.To]+1 != row[v] {
				continue
			}
			if c := s.cost[a.To] + int64(load[a.Edge]); best < 0 || c < best {
				best, s.via[v] = c, a
			}
		}
		s.cost[v] = best
	}
}
