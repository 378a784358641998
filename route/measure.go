package route

import "heddle/fabric"

// Measures tells how good the trees of a state are.
type Measures struct {
	// Groups counts the groups of the demand, Members their members, without
	// those that no tree can reach.
	Groups, Members int
	// Edges counts the usable edges. MaxEFI is the largest number of trees on
	// one of them, AvgEFI the mean over all of them, Uses/Edges.
	Edges  int
	MaxEFI int
	AvgEFI float64
	// Uses is the sum of all loads: the edges of all trees.
	Uses int
	// Links counts the edges that are in a tree.
	Links int
	// Histogram counts the usable edges by their load, from 0 to MaxEFI.
	Histogram []int
	// MaxHeight is the largest height of a tree: the hops from its root to the
	// farthest member, where an adapter is one hop behind its switch. So a group
	// below one switch has height 1. A group of fewer than two members has no
	// tree, and height 0.
	MaxHeight int
	// Heights counts the groups by height, from 0 to MaxHeight.
	Heights []int
}

// Measure measures the trees of all groups of a demand. It takes time linear in
// the members and edges of all trees.
func Measure(s *State, d *Demand) Measures {
	m := Measures{Groups: d.NumGroups()}
	m.measureLoad(s)
	w := newWalker(s.Graph)
	for i := range d.NumGroups() {
		height := w.height(s.Tree(i), d.Group(i).Members)
		m.Heights = tally(m.Heights, height)
		m.Members += len(d.Group(i).Members)
	}
	m.Members -= len(d.CutOff())
	m.MaxHeight = max(0, len(m.Heights)-1)
	return m
}

func (m *Measures) measureLoad(s *State) {
	for e, load := range s.Load() {
		if !s.Graph.EdgeUp(int32(e)) {
			continue
		}
		m.Edges++
		m.Uses += int(load)
		if load > 0 {
			m.Links++
		}
		m.Histogram = tally(m.Histogram, int(load))
	}
	m.MaxEFI = max(0, len(m.Histogram)-1)
	if m.Edges > 0 {
		m.AvgEFI = float64(m.Uses) / float64(m.Edges)
	}
}

// tally adds one to the count of x in a histogram.
func tally(h []int, x int) []int {
	for len(h) <= x {
		h = append(h, 0)
	}
	h[x]++
	return h
}

// height is the number of hops from the root to the farthest member that the
// tree reaches, the last one to an adapter included.
func (w *walker) height(t Tree, members []fabric.End) int {
	if t.Root < 0 || len(members) < 2 {
		return 0
	}
	w.walk(t)
	height := 0
	for _, m := range members {
		leaf, ok := w.g.f.Leaf(m)
		if !ok {
			continue
		}
		v := w.g.vertex[leaf.Node]
		if !w.reached(v) {
			continue
		}
		hops := int(w.depth[v])
		if leaf != m {
			hops++
		}
		height = max(height, hops)
	}
	return height
}
