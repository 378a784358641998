package route

// LowerBound is a number that the maximum EFI of these groups cannot be below,
// whatever trees are laid for them, of any height. It is the largest found by
// these arguments, which hold for every connected set of edges that joins a
// group's leaves:
//
// Cut. Take a set of switches. Each group with a leaf inside and another
// outside uses an edge between inside and outside. So many groups, shared among
// so many edges, put at least the mean on one of them.
//
// Partition. Take a partition of all switches. A group with leaves in t parts
// joins them with t-1 edges between parts, or more: with t if no edge joins two
// parts that hold leaves.
//
// Volume. All groups together use so many edges, of all that there are: see
// spanning and ascent for the number that a group uses at least.
//
// The sets that are tried: single leaves; balls around leaves; what a tree of
// switches falls into when the ranks from the top are taken away; what holds
// together by triangles, such as the groups of a dragonfly; the halves of the
// fabric nearer to either end of an edge. There are so many of them that it
// takes a fraction of a second on 12,000 switches.
func LowerBound(g *Graph, d *Demand, h *Hops) int {
	return LowerBoundWithin(g, d, h, ascentSteps)
}

// Numbers of steps, a few nanoseconds each, that the searches of LowerBound may
// take, so that their time does not depend on how the groups are.
const (
	spanSteps   = 1 << 27
	cutSteps    = 1 << 25
	ascentSteps = 1 << 26
)

// LowerBoundWithin is LowerBound with another limit on the steps of the dual
// ascent, which takes the longest and which matters where volume is the best
// argument, as on a torus: 0 for none, 1<<29 for all that there is to gain there.
func LowerBoundWithin(g *Graph, d *Demand, h *Hops, steps int) int {
	b := newBounder(g, d, h)
	b.singles()
	b.underRanks()
	b.triangles()
	b.balls()
	b.halves()
	b.volume(steps)
	return b.best
}

type bounder struct {
	g     *Graph
	d     *Demand
	h     *Hops
	edges [][2]int32 // usable, by their ends
	best  int
	steps int // left for cuts

	groups []int32 // those with two leaves or more
	total  int     // their leaves

	label  []int32 // by vertex: the part
	part   []int32 // by part: the stamp of the last group that has a leaf there
	across []int32 // by part: groups with a leaf inside and another outside
	border []int32 // by part: edges that lead out
	held   []bool  // by part: it has leaves
	stamp  int32
}

func newBounder(g *Graph, d *Demand, h *Hops) *bounder {
	parts := max(3, g.NumVertices())
	b := &bounder{
		g: g, d: d, h: h, steps: cutSteps, label: make([]int32, g.NumVertices()), part: make([]int32, parts),
		across: make([]int32, parts), border: make([]int32, parts), held: make([]bool, parts),
	}
	for e, ends := range g.ends {
		if g.EdgeUp(int32(e)) {
			b.edges = append(b.edges, ends)
		}
	}
	for i := range d.NumGroups() {
		if k := len(d.Leaves(i)); k >= 2 {
			b.groups = append(b.groups, int32(i))
			b.total += k
		}
	}
	return b
}

// share raises the bound to the mean of some uses over some edges, rounded up.
func (b *bounder) share(uses, edges int) {
	if edges > 0 {
		b.best = max(b.best, (uses+edges-1)/edges)
	}
}

// partition judges the parts that label gives, from 0 to parts-1: each by
// itself, and all together.
func (b *bounder) partition(parts int32) {
	clear(b.across[:parts])
	clear(b.border[:parts])
	clear(b.held[:parts])
	joins, touched := b.count()
	between, apart := 0, true
	for _, ends := range b.edges {
		x, y := b.label[ends[0]], b.label[ends[1]]
		if x == y {
			continue
		}
		between++
		b.border[x]++
		b.border[y]++
		apart = apart && !(b.held[x] && b.held[y])
	}
	if apart {
		joins = touched
	}
	b.share(joins, between)
	for p := range parts {
		b.share(int(b.across[p]), int(b.border[p]))
	}
}

// count counts, over the groups with leaves in two parts or more, these parts:
// less one a group, and all of them.
func (b *bounder) count() (joins, touched int) {
	var parts []int32
	for _, i := range b.groups {
		parts = parts[:0]
		b.stamp++
		for _, leaf := range b.d.Leaves(int(i)) {
			p := b.label[leaf]
			b.held[p] = true
			if b.part[p] != b.stamp {
				b.part[p] = b.stamp
				parts = append(parts, p)
			}
		}
		if len(parts) < 2 {
			continue
		}
		joins += len(parts) - 1
		touched += len(parts)
		for _, p := range parts {
			b.across[p]++
		}
	}
	return joins, touched
}
