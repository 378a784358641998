package route

import (
	"cmp"
	"slices"
)

// clusters finds what hangs together by edges that are sides of a triangle, such
// as the groups of a dragonfly. It gives the cluster of each vertex and their
// number; a vertex without a triangle is a cluster by itself.
func clusters(g *Graph) (label []int32, parts int32) {
	sides := triangleSides(g)
	return g.components(func(e int32) bool { return sides[e] })
}

// triangleSides tells of each edge whether its ends have a common neighbour.
func triangleSides(g *Graph) []bool {
	sides := make([]bool, g.NumEdges())
	mark := make([]int32, g.NumVertices())
	for u := range int32(len(mark)) {
		g.eachArc(u, func(a Arc) { mark[a.To] = u + 1 })
		g.eachArc(u, func(a Arc) {
			if a.To > u && !sides[a.Edge] {
				g.eachArc(a.To, func(b Arc) { sides[a.Edge] = sides[a.Edge] || mark[b.To] == u+1 })
			}
		})
	}
	return sides
}

// components labels what hangs together by the edges that keep allows, in the
// order of the lowest vertex.
func (g *Graph) components(keep func(e int32) bool) (label []int32, parts int32) {
	label = make([]int32, g.NumVertices())
	for v := range label {
		label[v] = -1
	}
	var queue []int32
	for v := range label {
		if label[v] >= 0 {
			continue
		}
		label[v] = parts
		for queue = append(queue[:0], int32(v)); len(queue) > 0; {
			u := queue[len(queue)-1]
			queue = queue[:len(queue)-1]
			g.eachArc(u, func(a Arc) {
				if label[a.To] < 0 && keep(a.Edge) {
					label[a.To] = parts
					queue = append(queue, a.To)
				}
			})
		}
		parts++
	}
	return label, parts
}

// clusterRanks ranks the switches of a fabric of clusters of which most are joined
// with each other, as the groups of a dragonfly are: by cluster, and within one by
// the highest cluster that a link leads to. Then the highest of the clusters that
// a group of adapters is in, or any above it, can be the root, and the switch with
// the link there is above most of its cluster. Clusters with more links are higher,
// so that a damaged one is low. It is not ok where most switches are in no such
// cluster.
func clusterRanks(g *Graph) (ranks Order, ok bool) {
	label, parts := clusters(g)
	byLinks(g, label, parts)
	reach := make([]int32, len(label)) // the highest cluster that a vertex has a link to
	inside := make([]bool, len(label)) // it has a link within its cluster
	joined := map[[2]int32]bool{}
	for v := range int32(len(label)) {
		reach[v] = parts
		g.eachArc(v, func(a Arc) {
			to, from := label[a.To], label[v]
			if to == from {
				inside[v] = true
				return
			}
			reach[v] = min(reach[v], to)
			joined[[2]int32{min(to, from), max(to, from)}] = true
		})
	}
	if !mostJoined(g, label, inside, joined) {
		return nil, false
	}
	turn := make([]int32, len(label))
	for v := range turn {
		turn[v] = int32(v)
	}
	slices.SortFunc(turn, func(a, b int32) int {
		return cmp.Or(cmp.Compare(label[a], label[b]), cmp.Compare(reach[a], reach[b]), cmp.Compare(a, b))
	})
	ranks = make(Order, len(turn))
	for at, v := range turn {
		ranks[v] = int32(at)
	}
	return ranks, true
}

// byLinks numbers the clusters anew, those with more link ends first.
func byLinks(g *Graph, label []int32, parts int32) {
	ends := make([]int, parts)
	for v, p := range label {
		g.eachArc(int32(v), func(Arc) { ends[p]++ })
	}
	turn := make([]int32, parts)
	for p := range turn {
		turn[p] = int32(p)
	}
	slices.SortStableFunc(turn, func(a, b int32) int { return ends[b] - ends[a] })
	place := make([]int32, parts)
	for at, p := range turn {
		place[p] = int32(at)
	}
	for v, p := range label {
		label[v] = place[p]
	}
}

// mostJoined tells whether most live switches are in clusters of two or more, and
// half of all pairs of such clusters are joined by a link.
func mostJoined(g *Graph, label []int32, inside []bool, joined map[[2]int32]bool) bool {
	live, members := 0, 0
	known := map[int32]bool{} // clusters of two or more
	for v := range label {
		if g.Usable(int32(v)) {
			live++
		}
		if inside[v] {
			members++
			known[label[v]] = true
		}
	}
	pairs := 0
	for p := range joined {
		if known[p[0]] && known[p[1]] {
			pairs++
		}
	}
	return len(known) >= 3 && 2*members > live && 4*pairs >= len(known)*(len(known)-1)
}
