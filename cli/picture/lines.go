package picture

import (
	"cmp"
	"slices"

	"heddle/route"
)

// line joins two dots and stands for all links between their switches.
type line struct{ a, b int32 }

// lines are the lines of a layout, each once.
type lines struct {
	*layout
	list []line
	of   []int32 // by edge: its line, -1 for an edge within one dot
}

func newLines(g *route.Graph, l *layout) *lines {
	all := &lines{layout: l, of: make([]int32, g.NumEdges())}
	index := map[line]int32{}
	for e := range int32(g.NumEdges()) {
		a, b := g.Ends(e)
		k := line{l.cell[a], l.cell[b]}
		all.of[e] = -1
		if k.a == k.b || !g.EdgeUp(e) {
			continue
		}
		if k.a > k.b {
			k.a, k.b = k.b, k.a
		}
		at, ok := index[k]
		if !ok {
			at = int32(len(all.list))
			index[k] = at
			all.list = append(all.list, k)
		}
		all.of[e] = at
	}
	return all
}

// loads gives the largest load of each line, and of the edges within each dot;
// -1 for a dot without any.
func (l *lines) loads(g *route.Graph, load []int32) (byLine, byDot []int32) {
	byLine, byDot = make([]int32, len(l.list)), make([]int32, len(l.at))
	for i := range byDot {
		byDot[i] = -1
	}
	for e, x := range load {
		if i := l.of[e]; i >= 0 {
			byLine[i] = max(byLine[i], x)
		} else if a, _ := g.Ends(int32(e)); g.EdgeUp(int32(e)) {
			byDot[l.cell[a]] = max(byDot[l.cell[a]], x)
		}
	}
	return byLine, byDot
}

// maxLines is how many lines of one picture are drawn: the most loaded half of
// them, and an even choice of the rest.
const maxLines = 4000

// choose lists the lines to draw, by rising load, so that what matters lies on
// top.
func choose(byLine []int32) []int32 {
	order := make([]int32, len(byLine))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(byLine[a], byLine[b]) })
	if len(order) <= maxLines {
		return order
	}
	rest := len(order) - maxLines/2
	var thin []int32
	for i := range maxLines / 2 {
		thin = append(thin, order[i*rest/(maxLines/2)])
	}
	return append(thin, order[rest:]...)
}
