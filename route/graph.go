package route

import (
	"slices"
	"sync"

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
	parts  func() []int32  // by vertex: connected component, -1 where unusable
	order  Order
	only   bool // multicast switches only

	// up holds the arcs that lead towards a root, down those away from it, both
	// in ascending order of port number. They are one in an unordered graph.
	up, down arcs
	runs     [][]Run // by vertex: of up
}

// Run is a stretch of a vertex's arcs that lead to consecutive vertices: arcs
// First, First+1, ... to vertices To, To+1, ... Where switches are numbered as
// they are cabled there are few, and a row of a hop table can be searched for a
// distance by whole runs instead of arc by arc.
type Run struct {
	To, First, Len int32
}

// arcs is a table of arcs by vertex.
type arcs [][]Arc

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
// the same selection, the same numbers. Its cost is that of what changed, and a
// copy of the list of vertices.
func (g *Graph) On(f *fabric.Fabric) *Graph {
	h := *g
	h.f = f
	h.usable = slices.Clone(g.usable)
	touched := g.touched(f)
	for _, v := range touched {
		h.usable[v] = h.use(v)
	}
	h.up, h.down, h.runs = slices.Clone(g.up), slices.Clone(g.down), slices.Clone(g.runs)
	var slab []Arc
	for _, v := range touched {
		slab = h.layVertex(v, slab)
	}
	h.parts = sync.OnceValue(h.findParts)
	return &h
}

// touched lists the vertices whose arcs may differ on a changed fabric.
func (g *Graph) touched(f *fabric.Fabric) (list []int32) {
	nodes, links := f.Diff(g.f)
	for _, id := range nodes {
		list = g.appendVertex(list, id)
		for p := 1; p <= int(f.Node(id).NumPorts); p++ {
			if l := f.Port(fabric.End{Node: id, Port: uint16(p)}).Link; l != fabric.NoLink {
				links = append(links, l)
			}
		}
	}
	for _, id := range links {
		l := f.Link(id)
		list = g.appendVertex(g.appendVertex(list, l.A.Node), l.B.Node)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

func (g *Graph) appendVertex(list []int32, id fabric.NodeID) []int32 {
	if v := g.vertex[id]; v >= 0 {
		list = append(list, v)
	}
	return list
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
	n := len(g.nodes)
	g.usable = make([]bool, n)
	for v := range g.nodes {
		g.usable[v] = g.use(int32(v))
	}
	g.up, g.down, g.runs = make(arcs, n), make(arcs, n), make([][]Run, n)
	var slab []Arc
	for v := range g.nodes {
		slab = g.layVertex(int32(v), slab)
	}
	g.parts = sync.OnceValue(g.findParts)
}

// use tells whether trees may use a vertex.
func (g *Graph) use(v int32) bool {
	id := g.nodes[v]
	return g.f.NodeUp(id) && (!g.only || g.f.Node(id).MulticastCap != 0)
}

// layVertex lists the arcs of a vertex by port number. They are cut from a slab
// with room for all cables of the vertex, what is left of it is returned.
func (g *Graph) layVertex(v int32, slab []Arc) []Arc {
	g.up[v], g.down[v], g.runs[v] = nil, nil, nil
	if !g.usable[v] {
		return slab
	}
	id := g.nodes[v]
	most := int(g.f.Node(id).NumPorts)
	if cap(slab) < most {
		slab = make([]Arc, 0, max(most, 1<<12))
	}
	up, down := slab[:0], []Arc(nil)
	for e, peer := range g.f.Ports(id) {
		to := g.vertex[peer.Node]
		if to < 0 || to == v || !g.usable[to] {
			continue
		}
		a := Arc{to, g.edge[g.f.Port(e).Link]}
		if g.order == nil || g.order.above(to, v) {
			up = append(up, a)
		} else {
			down = append(down, a)
		}
	}
	g.up[v], g.down[v], g.runs[v] = slices.Clip(up), down, runsOf(up)
	if g.order == nil {
		g.down[v] = g.up[v]
	}
	return slab[len(up):len(up):cap(slab)]
}

// EdgeUp tells whether an edge can be used.
func (g *Graph) EdgeUp(e int32) bool {
	return g.f.LinkUp(g.links[e]) && g.usable[g.ends[e][0]] && g.usable[g.ends[e][1]]
}

// longRuns is from which average length on runs are worth while.
const longRuns = 10

// runsOf cuts arcs into runs; nil if that would give many short ones.
func runsOf(arcs []Arc) []Run {
	var runs []Run
	for i, a := range arcs {
		if n := len(runs) - 1; n >= 0 && runs[n].To+runs[n].Len == a.To {
			runs[n].Len++
			continue
		}
		runs = append(runs, Run{a.To, int32(i), 1})
	}
	if len(arcs) < longRuns*len(runs) {
		return nil
	}
	return slices.Clip(runs)
}

// Part is the connected component of a vertex, whatever the order; -1 where it
// cannot be used.
func (g *Graph) Part(v int32) int32 { return g.parts()[v] }

// findParts labels the connected components.
func (g *Graph) findParts() []int32 {
	part := make([]int32, len(g.nodes))
	for v := range part {
		part[v] = -1
	}
	next := int32(0)
	var stack []int32
	for v := range part {
		if part[v] >= 0 || !g.usable[v] {
			continue
		}
		stack = append(stack[:0], int32(v))
		part[v] = next
		for len(stack) > 0 {
			u := stack[len(stack)-1]
			stack = g.spread(u, part, stack[:len(stack)-1])
		}
		next++
	}
	return part
}

// spread gives the neighbours of u its label.
func (g *Graph) spread(u int32, part, stack []int32) []int32 {
	for _, list := range [2][]Arc{g.up[u], g.down[u]} {
		for _, a := range list {
			if part[a.To] < 0 {
				part[a.To] = part[u]
				stack = append(stack, a.To)
			}
		}
	}
	return stack
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
func (g *Graph) Up(v int32) []Arc { return g.up[v] }

// Runs lists the runs of Up, or none where they are too short to be of use. The
// slice must not be changed.
func (g *Graph) Runs(v int32) []Run { return g.runs[v] }

// Down lists the arcs of a vertex that may lead away from a tree's root.
func (g *Graph) Down(v int32) []Arc { return g.down[v] }

// Label names a vertex in messages.
func (g *Graph) Label(v int32) string { return g.f.Node(g.nodes[v]).Label() }
