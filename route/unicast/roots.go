package unicast

import (
	"heddle/route"
)

// Shares of all end nodes, in percent, that findRoots goes by. They are OpenSM's.
const (
	mostHosts = 90
	fewHosts  = 5
)

// findRoots finds roots where there are no ranks: the switches without end nodes
// that have more than 90 % of all end nodes at one distance and more than 5 % at
// no other. Where there are none, they are, for each component, the switch that
// is nearest to the end nodes by the sum of all hops, of equals the one of lowest
// GUID.
func findRoots(g *route.Graph, h *route.Hops) []int32 {
	hosts := make([]int, g.NumVertices())
	total := 0
	for v := range hosts {
		hosts[v] = g.HostsAt(int32(v))
		total += hosts[v]
	}
	if roots := byHistogram(g, h, hosts, total); len(roots) > 0 {
		return roots
	}
	return nearest(g, h, hosts)
}

func byHistogram(g *route.Graph, h *route.Hops, hosts []int, total int) []int32 {
	var roots []int32
	var bars [256]int
	for v := range int32(g.NumVertices()) {
		if !g.Usable(v) || hosts[v] > 0 || total == 0 {
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
