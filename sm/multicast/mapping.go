package multicast

import (
	"heddle/fabric"
	"heddle/route"
)

// mapping tells where the nodes and links of one fabric are in another: nodes by
// GUID, links by the ports of both ends. What is dead in the other is found too.
type mapping struct {
	node []fabric.NodeID // NoNode where there is none
	link []fabric.LinkID // NoLink
}

func newMapping(from, to *fabric.Fabric) mapping {
	m := mapping{make([]fabric.NodeID, from.NumNodes()), make([]fabric.LinkID, from.NumLinks())}
	for i := range m.node {
		m.node[i] = fabric.NoNode
		if guid := from.Node(fabric.NodeID(i)).GUID; guid.IsValid() {
			if id, ok := to.ByGUID(guid); ok {
				m.node[i] = id
			}
		}
	}
	for i := range m.link {
		m.link[i] = m.find(from.Link(fabric.LinkID(i)), to)
	}
	return m
}

// end is where a port is in the other fabric.
func (m mapping) end(e fabric.End, to *fabric.Fabric) (fabric.End, bool) {
	id := m.node[e.Node]
	return fabric.End{Node: id, Port: e.Port}, id != fabric.NoNode && e.Port <= to.Node(id).NumPorts
}

func (m mapping) find(l fabric.Link, to *fabric.Fabric) fabric.LinkID {
	a, okA := m.end(l.A, to)
	b, okB := m.end(l.B, to)
	if !okA || !okB {
		return fabric.NoLink
	}
	id := to.Port(a).Link
	if id == fabric.NoLink || to.Link(id).Other(a) != b {
		return fabric.NoLink
	}
	return id
}

// edges maps edges of a graph of the one fabric to those of one of the other, -1
// where there is none.
func (m mapping) edges(from, to *route.Graph) []int32 {
	list := make([]int32, from.NumEdges())
	for e := range list {
		list[e] = -1
	}
	for i, id := range m.link {
		e := from.Edge(fabric.LinkID(i))
		if e >= 0 && id != fabric.NoLink {
			list[e] = to.Edge(id)
		}
	}
	return list
}

// within finds the fabric of old's family that is like f; ok is false where f
// has what old's family has not.
func within(old, f *fabric.Fabric) (g *fabric.Fabric, ok bool) {
	m := newMapping(f, old)
	nodes, links := make([]bool, old.NumNodes()), make([]bool, old.NumLinks())
	for i, id := range m.node {
		from := fabric.NodeID(i)
		if !f.NodeUp(from) {
			continue
		}
		if id == fabric.NoNode || !alike(f, from, old, id) {
			return nil, false
		}
		nodes[id] = true
	}
	for i, id := range m.link {
		from := fabric.LinkID(i)
		if !f.LinkUp(from) {
			continue
		}
		if id == fabric.NoLink || !samePorts(f, f.Link(from), old, m) {
			return nil, false
		}
		links[id] = true
	}
	back := old.With(unset[fabric.NodeID](nodes, false), unset[fabric.LinkID](links, false))
	return back.Without(unset[fabric.NodeID](nodes, true), unset[fabric.LinkID](links, true)), true
}

// unset lists the indices where set is not, or where it is.
func unset[ID ~int32](set []bool, not bool) (ids []ID) {
	for i, is := range set {
		if is != not {
			ids = append(ids, ID(i))
		}
	}
	return ids
}

// alike tells whether two nodes are the same in all that routing looks at.
func alike(f *fabric.Fabric, x fabric.NodeID, g *fabric.Fabric, y fabric.NodeID) bool {
	a, b := f.Node(x), g.Node(y)
	return a.Kind == b.Kind && a.NumPorts == b.NumPorts && a.MulticastCap == b.MulticastCap &&
		f.Port(fabric.End{Node: x}).GUID == g.Port(fabric.End{Node: y}).GUID
}

// samePorts tells whether the ends of a link have the same GUIDs in both.
func samePorts(f *fabric.Fabric, l fabric.Link, old *fabric.Fabric, m mapping) bool {
	for _, e := range [2]fabric.End{l.A, l.B} {
		x, ok := m.end(e, old)
		if !ok || old.Port(x).GUID != f.Port(e).GUID {
			return false
		}
	}
	return true
}
