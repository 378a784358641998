package route

import (
	"heddle/fabric"
)

// Arc is one direction of a link between switches: it leads to vertex To over
// edge Edge.
type Arc struct {
	To, Edge int32
}

// Graph is the part of a fabric that trees run through: its switches, as
// vertices 0 to NumVertices-1, and the cables between different switches, as
// edges 0 to NumEdges-1. Parallel cables are edges of their own.
//
// Vertices and edges are numbered over all switches and cables of the fabric,
// also the dead and the excluded, so that a table by vertex or edge is good for
// every graph of the same family of fabrics; what is not usable has no arcs.
//
// A graph may be ordered: then each edge leads up from one end to the other,
// and a tree may go only up towards its root. A Graph is immutable.
type Graph struct {
	f      *fabric.Fabric
	nodes  []fabric.NodeID // by vertex
	vertex []int32         // by NodeID; -1 for what is no switch
	links  []fabric.LinkID // by edge
	edge   []int32         // by LinkID; -1 for what is no edge
	ends   [][2]int32      // by edge: the vertices of link ends A and B
	usable []bool          // by vertex
	part   []int32         // by vertex: connected component, -1 where unusable
	order  Order
	only   bool // multicast switches only

	// up holds the arcs that lead towards a root, down those away from it, both
	// in ascending order of port number. They are one in an unordered graph.
	up, down arcs
}

// Order ranks the vertices of a graph: an edge leads up from its end with the
// larger value to the one with the smaller; at equal values, to the lower
// vertex. A nil Order is no order: every edge may be used both ways.
type Order []int32

// above tells whether v is above u.
func (o Order) above(v, u int32) bool {
	if o[v] != o[u] {
		return o[v] < o[u]
	}
	return v < u
}

// arcs is a table of arcs by vertex.
type arcs struct {
	start []int32
	list  []Arc
}

func (a *arcs) of(v int32) []Arc { return a.list[a.start[v]:a.start[v+1]] }

// Selection says what of a fabric a graph is made of.
type Selection struct {
	// MulticastOnly leaves out switches that cannot multicast.
	MulticastOnly bool
	// Order makes the graph ordered; its length is the number of vertices.
	Order Order
}

// NewGraph makes the graph of a fabric's live switches and links.
func NewGraph(f *fabric.Fabric, sel Selection) *Graph {
	g := &Graph{f: f, nodes: f.Switches(), order: sel.Order, only: sel.MulticastOnly}
	g.vertex = make([]int32, f.NumNodes())
	for i := range g.vertex {
		g.vertex[i] = -1
	}
	for v, id := range g.nodes {
		g.vertex[id] = int32(v)
	}
	g.numberEdges()
	g.lay()
	return g
}

// On is the graph of a changed fabric, made from that of g by Without or With:
// the same selection, the same numbers.
func (g *Graph) On(f *fabric.Fabric) *Graph {
	h := *g
	h.f = f
	h.lay()
	return &h
}

// Ordered is the same graph under an order.
func (g *Graph) Ordered(o Order) *Graph {
	h := *g
	h.order = o
	h.lay()
	return &h
}

func (g *Graph) numberEdges() {
	g.edge = make([]int32, g.f.NumLinks())
	for i := range g.edge {
		l := g.f.Link(fabric.LinkID(i))
		a, b := g.vertex[l.A.Node], g.vertex[l.B.Node]
		g.edge[i] = -1
		if a < 0 || b < 0 || a == b {
			continue
		}
		g.edge[i] = int32(len(g.links))
		g.links = append(g.links, fabric.LinkID(i))
		g.ends = append(g.ends, [2]int32{a, b})
	}
}

// lay makes all that depends on what is alive.
func (g *Graph) lay() {
	g.usable = make([]bool, len(g.nodes))
	for v, id := range g.nodes {
		g.usable[v] = g.f.NodeUp(id) && (!g.only || g.f.Node(id).MulticastCap != 0)
	}
	all := func(int32, int32) bool { return true }
	if g.order == nil {
		g.up = g.layArcs(all)
		g.down = g.up
	} else {
		g.up = g.layArcs(func(u, v int32) bool { return g.order.above(v, u) })
		g.down = g.layArcs(func(u, v int32) bool { return g.order.above(u, v) })
	}
	g.findParts()
}

// EdgeUp tells whether an edge can be used.
func (g *Graph) EdgeUp(e int32) bool {
	return g.f.LinkUp(g.links[e]) && g.usable[g.ends[e][0]] && g.usable[g.ends[e][1]]
}

// layArcs lists the arcs u->v that keep allows, by u and port number. A bucket
// sort by port keeps it linear.
func (g *Graph) layArcs(keep func(u, v int32) bool) arcs {
	a := arcs{start: make([]int32, len(g.nodes)+1)}
	for v, id := range g.nodes {
		a.start[v] = int32(len(a.list))
		if !g.usable[v] {
			continue
		}
		for e, peer := range g.f.Ports(id) {
			to := g.vertex[peer.Node]
			if to < 0 || to == int32(v) || !g.usable[to] || !keep(int32(v), to) {
				continue
			}
			a.list = append(a.list, Arc{to, g.edge[g.f.Port(e).Link]})
		}
	}
	a.start[len(g.nodes)] = int32(len(a.list))
	return a
}

// findParts labels the connected components, whatever the order.
func (g *Graph) findParts() {
	g.part = make([]int32, len(g.nodes))
	for v := range g.part {
		g.part[v] = -1
	}
	next := int32(0)
	var queue []int32
	for v := range g.part {
		if g.part[v] >= 0 || !g.usable[v] {
			continue
		}
		queue = append(queue[:0], int32(v))
		g.part[v] = next
		for len(queue) > 0 {
			u := queue[len(queue)-1]
			queue = g.spread(u, queue[:len(queue)-1])
		}
		next++
	}
}

func (g *Graph) spread(u int32, queue []int32) []int32 {
	for _, dir := range [2]*arcs{&g.up, &g.down} {
		for _, a := range dir.of(u) {
			if g.part[a.To] < 0 {
				g.part[a.To] = g.part[u]
				queue = append(queue, a.To)
			}
		}
	}
	return queue
}

// Fabric is the fabric that the graph is of.
func (g *Graph) Fabric() *fabric.Fabric { return g.f }

// NumVertices is the number of switches, usable or not.
func (g *Graph) NumVertices() int { return len(g.nodes) }

// NumEdges is the number of cables between different switches, usable or not.
func (g *Graph) NumEdges() int { return len(g.links) }

// Node is the switch that a vertex stands for.
func (g *Graph) Node(v int32) fabric.NodeID { return g.nodes[v] }

// Vertex is a switch's vertex, -1 for other nodes.
func (g *Graph) Vertex(id fabric.NodeID) int32 { return g.vertex[id] }

// Usable tells whether trees may use a vertex.
func (g *Graph) Usable(v int32) bool { return g.usable[v] }

// Link is the cable that an edge stands for.
func (g *Graph) Link(e int32) fabric.Link { return g.f.Link(g.links[e]) }

// Edge is a cable's edge, -1 for a cable that does not join two switches.
func (g *Graph) Edge(id fabric.LinkID) int32 { return g.edge[id] }

// Ends are the vertices that an edge joins.
func (g *Graph) Ends(e int32) (a, b int32) { return g.ends[e][0], g.ends[e][1] }

// Up lists the arcs of a vertex that may lead towards a tree's root, in the
// order of port numbers. The slice must not be changed.
func (g *Graph) Up(v int32) []Arc { return g.up.of(v) }

// Down lists the arcs of a vertex that may lead away from a tree's root.
func (g *Graph) Down(v int32) []Arc { return g.down.of(v) }

// Label names a vertex in messages.
func (g *Graph) Label(v int32) string { return g.f.Node(g.nodes[v]).Label() }
