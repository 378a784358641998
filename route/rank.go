package route

import "math/bits"

// Ranks finds out whether a graph is layered as a tree of switches is, such as
// a fat tree, be it trimmed or short of some links: whether the hops to the
// nearest leaf switch, one with end nodes, differ by one between the ends of
// each edge. The ranks are then an Order, 0 for the switches farthest from the
// leaves. Aggregation nodes inside of switches do not make a leaf; where all
// end nodes give no ranks, switches with less than half as many of them as the
// fullest are taken for spines with a management node.
func Ranks(g *Graph) (Order, bool) {
	hosts := make([]int, g.NumVertices())
	most := 0
	for v := range hosts {
		hosts[v] = g.HostsAt(int32(v))
		most = max(most, hosts[v])
	}
	for _, least := range []int{1, (most + 1) / 2} {
		if o, ok := ranksFrom(g, func(v int32) bool { return hosts[v] >= max(1, least) }); ok {
			return o, true
		}
	}
	return nil, false
}

func ranksFrom(g *Graph, leaf func(int32) bool) (Order, bool) {
	var queue []int32
	for v := range int32(g.NumVertices()) {
		if g.usable[v] && leaf(v) {
			queue = append(queue, v)
		}
	}
	hops, top := g.spreadFrom(queue)
	for e, ends := range g.ends {
		if g.EdgeUp(int32(e)) {
			a, b := hops[ends[0]], hops[ends[1]]
			if a < 0 || b < 0 || a-b != 1 && b-a != 1 {
				return nil, false
			}
		}
	}
	for v := range hops {
		hops[v] = top - max(0, hops[v])
	}
	return hops, true
}

// spreadFrom gives the hops of each vertex from the nearest of the starts,
// whatever the order; -1 where there is no path. top is the largest.
func (g *Graph) spreadFrom(starts []int32) (hops []int32, top int32) {
	hops = make([]int32, g.NumVertices())
	for v := range hops {
		hops[v] = -1
	}
	for _, v := range starts {
		hops[v] = 0
	}
	queue := append([]int32(nil), starts...)
	for i := 0; i < len(queue); i++ {
		u := queue[i]
		top = hops[u]
		g.eachNeighbour(u, func(v int32) {
			if hops[v] < 0 {
				hops[v] = hops[u] + 1
				queue = append(queue, v)
			}
		})
	}
	return hops, top
}

// HopsFrom gives the hops of each vertex from the nearest of the starts,
// whatever the order; -1 where there is no path.
func (g *Graph) HopsFrom(starts []int32) []int32 {
	hops, _ := g.spreadFrom(starts)
	return hops
}

// eachNeighbour visits the far ends of the usable edges of a vertex.
func (g *Graph) eachNeighbour(v int32, visit func(int32)) {
	g.eachArc(v, func(a Arc) { visit(a.To) })
}

// eachArc visits the usable edges of a vertex, whatever the order.
func (g *Graph) eachArc(v int32, visit func(Arc)) {
	for _, a := range g.Up(v) {
		visit(a)
	}
	if g.order == nil {
		return
	}
	for _, a := range g.Down(v) {
		visit(a)
	}
}

// OrderFor is an order in which every group of adapters has a root: some switch
// above all of them, whatever the fabric.
//
// Where the fabric has ranks, and a switch of each component is above all of
// its leaves, it is the ranks: valley-free trees are as low as any. Where links
// are lost so that there is no such switch, it is the ranks with the fewest
// edges turned round that make one (turn): almost all groups keep the roots
// that they have in the ranks.
//
// In all other fabrics it is grown from the top, so that ways up from everywhere
// end at one switch (grow): a dragonfly's by its groups (clusterRanks), which
// costs no height, but the links of the highest groups carry a large share of all
// trees; others' by the hops from a switch in the middle. On a torus large groups
// meet at that switch, and its links carry them all; other orders that were tried
// there were better by a factor of two at most. Layers by service level are the
// way for such fabrics.
func OrderFor(g *Graph) Order {
	ranks, ok := Ranks(g)
	if !ok {
		return growUnranked(g)
	}
	tops, whole := highest(g, ranks)
	if whole {
		return ranks
	}
	if order, ok := turn(g, tops, ranks); ok {
		return order
	}
	return grow(g, tops, ranks)
}

func growUnranked(g *Graph) Order {
	if ranks, ok := clusterRanks(g); ok {
		return grow(g, firsts(g, ranks), ranks)
	}
	starts := firsts(g, make(Order, g.NumVertices()))
	for i, v := range starts {
		starts[i] = g.middle(v)
	}
	hops, _ := g.spreadFrom(starts)
	return grow(g, starts, hops)
}

// firsts gives for each component its vertex of the lowest rank.
func firsts(g *Graph, ranks Order) []int32 {
	var first []int32 // by component
	for v := range int32(g.NumVertices()) {
		p := g.Part(v)
		for int(p) >= len(first) {
			first = append(first, -1)
		}
		if p >= 0 && (first[p] < 0 || ranks[v] < ranks[first[p]]) {
			first[p] = v
		}
	}
	return first
}

// middle is the vertex half-way between two that are far from each other, in
// the component of v.
func (g *Graph) middle(v int32) int32 {
	a := g.lastFrom(v)
	b := g.lastFrom(a)
	fromA, _ := g.spreadFrom([]int32{a})
	fromB, _ := g.spreadFrom([]int32{b})
	best := a
	for x := range fromA {
		if fromA[x] >= 0 && max(fromA[x], fromB[x]) < max(fromA[best], fromB[best]) {
			best = int32(x)
		}
	}
	return best
}

// lastFrom is the lowest of the vertices farthest from v.
func (g *Graph) lastFrom(v int32) int32 {
	hops, top := g.spreadFrom([]int32{v})
	for x, d := range hops {
		if d == top {
			return int32(x)
		}
	}
	return v
}

// grow numbers the vertices from the starts, one for each component. After a
// component's start comes always one that has a neighbour before it, of those
// the one of the lowest rank, and of those the one that had a neighbour first.
// So each vertex but a start has another above it.
func grow(g *Graph, starts []int32, ranks Order) Order {
	order := make(Order, g.NumVertices())
	for v := range order {
		order[v] = -1
	}
	top := int32(0)
	for _, r := range ranks {
		top = max(top, r)
	}
	queues := make([][]int32, top+2) // by rank, of those that have a neighbour; the starts first
	queues[0] = append(queues[0], starts...)
	queued := make([]bool, len(order))
	for _, v := range starts {
		queued[v] = true
	}
	next := int32(0)
	for at := 0; at < len(queues); {
		if len(queues[at]) == 0 {
			at++
			continue
		}
		v := queues[at][0]
		queues[at] = queues[at][1:]
		order[v] = next
		next++
		g.eachNeighbour(v, func(u int32) {
			if !queued[u] {
				queued[u] = true
				queues[ranks[u]+1] = append(queues[ranks[u]+1], u)
				at = min(at, int(ranks[u])+1)
			}
		})
	}
	for v := range order {
		if order[v] < 0 {
			order[v] = next
		}
	}
	return order
}

// highest gives for each component a switch that is above most of its leaves,
// and tells whether these are above all of them.
func highest(g *Graph, ranks Order) (tops []int32, whole bool) {
	below := leavesBelow(g, ranks)
	best := make([]int32, g.NumVertices()) // by component: the vertex, plus one
	most := make([]int, g.NumVertices())
	leaves := make([]int, g.NumVertices())
	parts := int32(0)
	for v := range int32(g.NumVertices()) {
		p := g.Part(v)
		if p < 0 {
			continue
		}
		parts = max(parts, p+1)
		if g.HostsAt(v) > 0 {
			leaves[p]++
		}
		n := 0
		for _, w := range below[v] {
			n += bits.OnesCount64(w)
		}
		if best[p] == 0 || n > most[p] {
			best[p], most[p] = v+1, n
		}
	}
	whole = true
	for p := range parts {
		tops = append(tops, best[p]-1)
		whole = whole && most[p] == leaves[p]
	}
	return tops, whole
}

// leavesBelow gives for each vertex the set of vertices with end nodes that it
// is above, itself included.
func leavesBelow(g *Graph, ranks Order) [][]uint64 {
	n := g.NumVertices()
	words := setWords(n)
	flat := make([]uint64, n*words)
	below := make([][]uint64, n)
	byRank := make([][]int32, 0, 8)
	for v := range int32(n) {
		below[v], flat = flat[:words:words], flat[words:]
		if g.HostsAt(v) > 0 {
			below[v][v>>6] |= 1 << (v & 63)
		}
		for int(ranks[v]) >= len(byRank) {
			byRank = append(byRank, nil)
		}
		byRank[ranks[v]] = append(byRank[ranks[v]], v)
	}
	for r := len(byRank) - 1; r > 0; r-- {
		for _, v := range byRank[r] {
			g.eachNeighbour(v, func(u int32) {
				if ranks[u] < ranks[v] {
					for i, w := range below[v] {
						below[u][i] |= w
					}
				}
			})
		}
	}
	return below
}
