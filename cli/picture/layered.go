package picture

import (
	"cmp"
	"fmt"
	"slices"

	"heddle/route"
)

// layers gives each vertex a row, from 0 at the top, where a graph has ranks, or
// else where its switches are at different distances from those with hosts. It is
// nil for other graphs.
func layers(g *route.Graph) []int32 {
	if ranks, ok := route.Ranks(g); ok && slices.Max(ranks) > 0 {
		return ranks
	}
	var leaves []int32
	for v := range int32(g.NumVertices()) {
		if g.HostsAt(v) > 0 {
			leaves = append(leaves, v)
		}
	}
	hops := g.HopsFrom(leaves)
	top := int32(0)
	if len(hops) > 0 {
		top = slices.Max(hops)
	}
	if top == 0 {
		return nil
	}
	for v := range hops {
		hops[v] = top - max(0, hops[v])
	}
	return hops
}

// layeredLayout puts each rank in a row. Where rows would be too dense, some
// switches share a dot: those of one pod and rank, a pod being what hangs
// together without the ranks from the top; above the pods those with the same
// neighbours; and what is still too many, neighbours in the row.
func layeredLayout(g *route.Graph, row []int32) *layout {
	n := len(row)
	l := &layout{cell: make([]int32, n), gap: 1}
	rows := make([][]int32, slices.Max(row)+1) // by rank: vertices
	for v := range int32(n) {
		l.cell[v] = -1
		if g.Usable(v) {
			rows[row[v]] = append(rows[row[v]], v)
		}
	}
	pod, above := pods(g, row)
	for rank, vertices := range rows {
		family := vertices
		if len(vertices) > 2*maxDots {
			family = families(g, vertices, pod, rank < above)
		}
		y := 0.98 - 0.96*float64(rank)/float64(len(rows)-1)
		l.addRow(vertices, family, y)
		l.marks = append(l.marks, mark{y, rowText(rank, len(vertices), distinct(family))})
	}
	return l
}

// families gives each vertex of a dense row the lowest one that it shares a dot
// with.
func families(g *route.Graph, vertices, pod []int32, abovePods bool) []int32 {
	family := make([]int32, len(vertices))
	for i, v := range vertices {
		family[i] = pod[v]
	}
	if abovePods {
		family = twins(g, vertices)
	}
	if n := distinct(family); n < minDots || n > 2*maxDots {
		per := (len(vertices) + maxDots - 1) / maxDots
		for i := range family {
			family[i] = vertices[i/per*per]
		}
	}
	return family
}

// minDots is how many dots a row with many switches has at least.
const minDots = 4

func rowText(rank, switches, families int) []string {
	lines := []string{fmt.Sprintf("rank %d", rank), switchCount(switches)}
	if switches > families {
		lines = append(lines, fmt.Sprintf("in %d dots", families))
	}
	return lines
}

func distinct(family []int32) int {
	return len(slices.Compact(slices.Sorted(slices.Values(family))))
}

// addRow puts the families of a row beside each other, in the order in which
// they first appear.
func (l *layout) addRow(vertices, family []int32, y float64) {
	dot := map[int32]int32{}
	first := len(l.at)
	for i, v := range vertices {
		if _, ok := dot[family[i]]; !ok {
			dot[family[i]] = int32(len(l.at))
			l.at = append(l.at, point{y: y})
		}
		l.cell[v] = dot[family[i]]
	}
	step := 1 / float64(len(l.at)-first)
	for i := range l.at[first:] {
		l.at[first+i].x = (float64(i) + 0.5) * step
	}
	l.gap = min(l.gap, step)
}

// pods gives each vertex the lowest one that it hangs together with without the
// ranks above some, as few as make minDots pods, and that number of ranks.
func pods(g *route.Graph, row []int32) (pod []int32, above int) {
	for above = 1; above < int(slices.Max(row)); above++ {
		pod = joined(g, func(v int32) bool { return int(row[v]) >= above })
		count := 0
		for v, p := range pod {
			if int(row[v]) >= above && int(p) == v && len(g.Up(p)) > 0 {
				count++
			}
		}
		if count >= minDots {
			return pod, above
		}
	}
	return joined(g, func(int32) bool { return false }), above + 1
}

// joined gives each vertex the lowest one that it hangs together with by edges
// between vertices that are within.
func joined(g *route.Graph, within func(int32) bool) []int32 {
	first := make([]int32, g.NumVertices())
	for v := range first {
		first[v] = int32(v)
	}
	find := func(v int32) int32 {
		for first[v] != v {
			first[v] = first[first[v]]
			v = first[v]
		}
		return v
	}
	for e := range int32(g.NumEdges()) {
		if a, b := g.Ends(e); g.EdgeUp(e) && within(a) && within(b) {
			a, b = find(a), find(b)
			first[max(a, b)] = min(a, b)
		}
	}
	for v := range first {
		first[v] = find(int32(v))
	}
	return first
}

// twins gives each of the vertices the first that has the same neighbours.
func twins(g *route.Graph, vertices []int32) []int32 {
	family := make([]int32, len(vertices))
	first := map[string]int32{}
	for i, v := range vertices {
		key := neighbours(g, v)
		if _, ok := first[key]; !ok {
			first[key] = v
		}
		family[i] = first[key]
	}
	return family
}

// neighbours is a text that is the same for the same set of neighbours.
func neighbours(g *route.Graph, v int32) string {
	var to []int32
	for _, a := range g.Up(v) {
		to = append(to, a.To)
	}
	slices.SortFunc(to, cmp.Compare[int32])
	return fmt.Sprint(slices.Compact(to))
}

func switchCount(n int) string {
	if n == 1 {
		return "1 switch"
	}
	return fmt.Sprintf("%d switches", n)
}
