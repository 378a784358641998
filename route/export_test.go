package route

// What tests in route_test need of the inside.

// MaxBallRadius is the largest diameter for NewBallFinder.
const MaxBallRadius = maxBallRadius

// NewWordFinder and NewBallFinder are the finders that NewFinder chooses from.
func NewWordFinder(h *Hops) Finder { return newWordFinder(h) }

func NewBallFinder(h *Hops) Finder { return newBallFinder(h) }

// SpanBound and AscentBound are the least numbers of edges of a group's tree
// that LowerBound adds up.
func SpanBound(h *Hops, leaves []int32) int {
	m := spanning{h: h}
	m.span(leaves)
	return m.edges()
}

func AscentBound(g *Graph, leaves []int32) int { return newAscent(g).bound(leaves, 1<<30) }

// PartBound is what LowerBound finds by one partition.
func PartBound(g *Graph, d *Demand, h *Hops, label []int32, parts int32) int {
	b := newBounder(g, d, h)
	copy(b.label, label)
	b.partition(parts)
	return b.best
}
