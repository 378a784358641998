package multicast

import "heddle/route"

// farLoad is added to each edge's load, so that a longer path always costs more
// than a heavier one (paper, section 2.2).
const farLoad = int64(1) << 32

// ssspHeap is SSSP-MC with root rotation done as in the paper: Dijkstra's
// algorithm with a heap from the root over all switches, whatever the group's
// size, cut down to the members. It is the oracle of sssp-new and what speed is
// compared with.
type ssspHeap struct {
	workspace
	cost  []int64
	via   []route.Arc // by vertex: the arc to its parent
	queue costHeap
}

func newSSSPHeap(g *route.Graph, h *route.Hops, _ Options) route.Router {
	n := g.NumVertices()
	return &ssspHeap{workspace: newWorkspace(g, h), cost: make([]int64, n), via: make([]route.Arc, n)}
}

func (s *ssspHeap) Route(st *route.State, leaves []int32, c route.Centers) route.Tree {
	root := leastUsedRoot(c, st.Through())
	s.begin(root)
	s.search(root, st.Load())
	for _, leaf := range leaves {
		for x := leaf; !s.has(x); x = s.via[x].To {
			s.add(x, s.via[x].Edge)
		}
	}
	return route.Tree{Root: root, Edges: s.edges}
}

func (s *ssspHeap) search(root int32, load []int32) {
	for i := range s.cost {
		s.cost[i] = -1
	}
	s.cost[root] = 0
	s.queue = append(s.queue[:0], vertexCost{0, root})
	for len(s.queue) > 0 {
		v := s.queue.pop()
		if v.cost != s.cost[v.vertex] {
			continue
		}
		for _, a := range s.g.Down(v.vertex) {
			c := v.cost + farLoad + int64(load[a.Edge])
			if old := s.cost[a.To]; old < 0 || c < old {
				s.cost[a.To] = c
				s.via[a.To] = route.Arc{To: v.vertex, Edge: a.Edge}
				s.queue.push(vertexCost{c, a.To})
			}
		}
	}
}

type vertexCost struct {
	cost   int64
	vertex int32
}

// costHeap is a binary heap of vertices by cost; typed, so that nothing is
// allocated for each of them.
type costHeap []vertexCost

func (h *costHeap) push(x vertexCost) {
	q := append(*h, x)
	i := len(q) - 1
	for i > 0 {
		parent := (i - 1) / 2
		if q[parent].cost <= x.cost {
			break
		}
		q[i] = q[parent]
		i = parent
	}
	q[i] = x
	*h = q
}

func (h *costHeap) pop() vertexCost {
	q := *h
	top, last := q[0], q[len(q)-1]
	q = q[:len(q)-1]
	*h = q
	i := 0
	for child := 1; child < len(q); child = 2*i + 1 {
		if child+1 < len(q) && q[child+1].cost < q[child].cost {
			child++
		}
		if last.cost <= q[child].cost {
			break
		}
		q[i] = q[child]
		i = child
	}
	if len(q) > 0 {
		q[i] = last
	}
	return top
}
