package route

import "heddle/fabric"

// HostsAt counts the live adapter and router ports on a switch, without the
// aggregation node inside of it.
func (g *Graph) HostsAt(v int32) (n int) {
	if !g.usable[v] {
		return 0
	}
	for _, peer := range g.f.Ports(g.nodes[v]) {
		if node := g.f.Node(peer.Node); node.Kind != fabric.Switch && !node.Aggregation {
			n++
		}
	}
	return n
}

// PortOf is the port that an edge has at one of its ends.
func (g *Graph) PortOf(v, e int32) uint16 {
	l := g.Link(e)
	if l.A.Node == g.nodes[v] {
		return l.A.Port
	}
	return l.B.Port
}
