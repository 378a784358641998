package unicast

import (
	"heddle/route"
)

// Shares of all end nodes, in percent, that FindRoots goes by. They are OpenSM's.
const (
	mostHosts = 90
	fewHosts  = 5
)

// FindRoots finds the roots of a tree-like fabric: the switches that have more
// than 90 % of all end nodes at one distance and not more than 5 % at any other.
// Where there are none, they are the switches of the highest rank, if the
// fabric has ranks; else, for each component, a switch that is nearest to the
// end nodes by the sum of all hops, the one of lowest GUID of equals.
func FindRoots(g *route.Graph, h *route.Hops) []int32 {
	hosts := make([]int, g.NumVertices())
	total := 0
	for v := range hosts {
		hosts[v] = g.HostsAt(int32(v))
		total += hosts[v]
	}
	if roots := byHistogram(g, h, hosts, total); len(roots) > 0 {
		return roots
	}
	if ranks, ok := route.Ranks(g); ok {
		return topOf(g, ranks)
	}
	return nearest(g, h, hosts)
}

func byHistogram(g *route.Graph, h *route.Hops, hosts []int, total int) []int32 {
	var roots []int32
	var bars [256]int
	for v := range int32(g.NumVertices()) {
		if !g.Usable(v) || total == 0 {
			continue
		}
		clear(bars[:])
		for leaf, n := range hosts {
			bars[h.To(v)[leaf]] += n
		}
		most, few := 0, 0
		for _, n := range bars[:route.Far] {
			if n*100 > mostHosts*total {
				most++
			}
			if n*100 > fewHosts*total {
				few++
			}
		}
		if most == 1 && few == 1 {
			roots = append(roots, v)
		}
	}
	return roots
}

func topOf(g *route.Graph, ranks route.Order) []int32 {
	var roots []int32
	for v, r := range ranks {
		if r == 0 && g.Usable(int32(v)) {
			roots = append(roots, int32(v))
		}
	}
	return roots
}

// nearest gives the root of each component.
func nearest(g *route.Graph, h *route.Hops, hosts []int) []int32 {
	n := g.NumVertices()
	best, least := make([]int32, n), make([]int, n) // by component; best plus one
	sum := make([]int, n)
	for v := range int32(n) {
		p := g.Part(v)
		if p < 0 {
			continue
		}
		for leaf, count := range hosts {
			if d := h.To(v)[leaf]; d != route.Far {
				sum[v] += count * int(d)
			}
		}
		if b := best[p] - 1; b < 0 || sum[v] < least[p] || sum[v] == least[p] && guid(g, v) < guid(g, b) {
			best[p], least[p] = v+1, sum[v]
		}
	}
	var roots []int32
	for _, b := range best {
		if b > 0 {
			roots = append(roots, b-1)
		}
	}
	return roots
}

func guid(g *route.Graph, v int32) uint64 { return uint64(g.Fabric().Node(g.Node(v)).GUID) }
