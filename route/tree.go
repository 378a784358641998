package route

// Tree is a group's multicast tree over the switches: the edges that it uses,
// each once, in both directions. A group whose members hang on one switch has
// no edges and that switch as its root. Root is -1 for no tree at all: a group
// without a member.
type Tree struct {
	Root  int32
	Edges []int32
}

// State is what has been routed so far: the trees, by the group's number, and
// the load that they put on edges and switches. It is not safe for concurrent
// use. Engines read it; only Put and Take change it.
type State struct {
	Graph *Graph
	Hops  *Hops

	trees []Tree
	// load counts, by edge, the trees that use it: the edge forwarding index.
	load []int32
	// edges counts, by load, the edges that have it; top is the largest load.
	edges []int32
	top   int32
	// through counts, by vertex, the trees that pass through it.
	through []int32
	// seen stamps the vertices of the tree at hand.
	seen  []int32
	stamp int32
	slab  []int32
}

// NewState is the state of a graph without any group.
func NewState(g *Graph, h *Hops) *State {
	return &State{
		Graph: g, Hops: h,
		load:    make([]int32, g.NumEdges()),
		edges:   []int32{int32(g.NumEdges())},
		through: make([]int32, g.NumVertices()),
		seen:    make([]int32, g.NumVertices()),
	}
}

// Load is the table of EFI by edge. It must not be changed, and follows Put and
// Take.
func (s *State) Load() []int32 { return s.load }

// Top is the largest load: the maximum EFI.
func (s *State) Top() int { return int(s.top) }

// Through is the table, by vertex, of trees that pass through it.
func (s *State) Through() []int32 { return s.through }

// NumTrees is one more than the highest number that Put was given.
func (s *State) NumTrees() int { return len(s.trees) }

// Tree returns the tree of a group; Root is -1 where it has none.
func (s *State) Tree(group int) Tree {
	if group >= len(s.trees) {
		return Tree{Root: -1}
	}
	return s.trees[group]
}

// Put gives a group its tree, in place of the one that it had, and counts its
// load. The edges are copied.
func (s *State) Put(group int, t Tree) {
	for len(s.trees) <= group {
		s.trees = append(s.trees, Tree{Root: -1})
	}
	s.count(s.trees[group], -1)
	t.Edges = s.keep(s.trees[group].Edges, t.Edges)
	s.trees[group] = t
	s.count(t, 1)
}

// Take takes a group's tree out, and its load.
func (s *State) Take(group int) {
	if group >= len(s.trees) {
		return
	}
	s.count(s.trees[group], -1)
	s.trees[group] = Tree{Root: -1}
}

// keep copies edges to where old stood, if there is room, or into the slab.
func (s *State) keep(old, edges []int32) []int32 {
	if len(edges) <= cap(old) {
		return append(old[:0], edges...)
	}
	if cap(s.slab)-len(s.slab) < len(edges) {
		s.slab = make([]int32, 0, max(1<<14, len(edges)))
	}
	at := len(s.slab)
	s.slab = append(s.slab, edges...)
	return s.slab[at:len(s.slab):len(s.slab)]
}

// count adds a tree's load, n times. A tree of k edges passes through k+1
// vertices: the root, and all ends of edges.
func (s *State) count(t Tree, n int32) {
	if t.Root < 0 {
		return
	}
	s.stamp++
	s.touch(t.Root, n)
	for _, e := range t.Edges {
		s.shift(e, n)
		s.touch(s.Graph.ends[e][0], n)
		s.touch(s.Graph.ends[e][1], n)
	}
}

// shift changes the load of an edge and keeps the top: a load of n at an edge
// more or less moves it by no more than one step.
func (s *State) shift(e, n int32) {
	old := s.load[e]
	s.load[e] = old + n
	s.edges[old]--
	if int(old+n) == len(s.edges) {
		s.edges = append(s.edges, 0)
	}
	s.edges[old+n]++
	if old+n > s.top {
		s.top = old + n
	}
	for s.top > 0 && s.edges[s.top] == 0 {
		s.top--
	}
}

func (s *State) touch(v, n int32) {
	if s.seen[v] != s.stamp {
		s.seen[v] = s.stamp
		s.through[v] += n
	}
}

// Rebase moves the state to a changed fabric (Graph.On) and its hop table
// (Hops.On). Trees that use a dead edge or switch are taken out, and their
// groups listed: they are to be routed anew. All other trees stay as they are;
// after a loss they keep the least height, since distances only grow.
func (s *State) Rebase(g *Graph, h *Hops) (lost []int) {
	gone, _ := changedEdges(s.Graph, g)
	s.Graph, s.Hops = g, h
	dead := make([]bool, g.NumEdges())
	for _, e := range gone {
		dead[e] = true
	}
	for i := range s.trees {
		if s.broken(s.trees[i], dead) {
			s.Take(i)
			lost = append(lost, i)
		}
	}
	return lost
}

func (s *State) broken(t Tree, dead []bool) bool {
	if t.Root >= 0 && !s.Graph.usable[t.Root] {
		return true
	}
	for _, e := range t.Edges {
		if dead[e] {
			return true
		}
	}
	return false
}
