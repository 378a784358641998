package route

import "slices"

// turn makes an order of ranks in which each top, one for each component, is
// above all leaves of its component. It finds for each leaf the way up to the
// top on which the fewest edges lead down by rank, and turns those round: the
// lower end is above the upper one from then on. In a fat tree that lost some
// links that is about one edge for each leaf or pod that the top lost; a switch
// at a turned edge is not above one of its leaves or pods any more, and all
// else is as it was. It fails where the turned edges and the ranks contradict
// each other.
func turn(g *Graph, tops []int32, ranks Order) (Order, bool) {
	above := fewestTurns(g, tops, ranks)
	turned := make([][]int32, g.NumVertices()) // by vertex: neighbours of lower rank that are above it
	done := make([]bool, g.NumVertices())
	for _, top := range tops {
		done[top] = true
	}
	for v := range int32(g.NumVertices()) {
		if g.HostsAt(v) == 0 {
			continue
		}
		for x := v; !done[x] && above[x] >= 0; x = above[x] {
			done[x] = true
			if ranks[x] < ranks[above[x]] {
				turned[x] = append(turned[x], above[x])
			}
		}
	}
	return sortByRank(g, ranks, turned)
}

// fewestTurns gives for each vertex the next on its way to a top, of the ways
// with the fewest edges that lead down by rank; -1 where there is none.
func fewestTurns(g *Graph, tops []int32, ranks Order) (above []int32) {
	n := g.NumVertices()
	above = make([]int32, n)
	cost := make([]int32, n)
	for v := range above {
		above[v], cost[v] = -1, int32(n)
	}
	var later []int32
	now := append([]int32(nil), tops...)
	for _, v := range tops {
		cost[v] = 0
	}
	for turns := int32(0); len(now) > 0; turns++ {
		later = later[:0]
		for i := 0; i < len(now); i++ {
			v := now[i]
			if cost[v] < turns {
				continue
			}
			g.eachNeighbour(v, func(u int32) {
				if ranks[u] > ranks[v] && cost[u] > turns {
					cost[u], above[u] = turns, v
					now = append(now, u)
				} else if ranks[u] <= ranks[v] && cost[u] > turns+1 {
					cost[u], above[u] = turns+1, v
					later = append(later, u)
				}
			})
		}
		now, later = later, now
	}
	return above
}

// sortByRank numbers the vertices so that those above others come first, where
// turned[v] lists neighbours that are above v against the ranks. It fails where
// that goes round in a circle.
func sortByRank(g *Graph, ranks Order, turned [][]int32) (Order, bool) {
	n := g.NumVertices()
	isTurned := func(v, u int32) bool { return slices.Contains(turned[v], u) }
	waits := make([]int32, n) // by vertex: edges to vertices above it that have no number yet
	below := func(v int32, visit func(int32)) {
		g.eachNeighbour(v, func(u int32) {
			if ranks[v] < ranks[u] && !isTurned(v, u) || ranks[v] > ranks[u] && isTurned(u, v) {
				visit(u)
			}
		})
	}
	for v := range int32(n) {
		below(v, func(u int32) { waits[u]++ })
	}
	order := make(Order, n)
	var queue []int32
	for v := range int32(n) {
		if waits[v] == 0 {
			queue = append(queue, v)
		}
	}
	for i := 0; i < len(queue); i++ {
		order[queue[i]] = int32(i)
		below(queue[i], func(u int32) {
			if waits[u]--; waits[u] == 0 {
				queue = append(queue, u)
			}
		})
	}
	return order, len(queue) == n
}
