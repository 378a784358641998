package fabric

import (
	"iter"
	"slices"

	"heddle/ib"
)

// Fabric is an immutable graph of nodes, ports and links. All methods are safe
// for use by several goroutines.
type Fabric struct {
	nodes []Node
	first []int32 // first[n] is the slot of node n's port 0 in ports
	ports []Port
	links []Link

	switches, adapters, routers []NodeID

	byGUID map[ib.GUID]NodeID
	byID   map[string]NodeID
	byPort map[ib.GUID]End
	byName map[string][]NodeID

	// What Without took out; nil where it took nothing.
	deadNodes, deadLinks bitset
}

func (f *Fabric) slot(e End) int { return int(f.first[e.Node]) + int(e.Port) }

// index makes the lists and maps of the nodes.
func (f *Fabric) index() {
	f.byPort, f.byName = map[ib.GUID]End{}, make(map[string][]NodeID, len(f.nodes))
	for i := range f.nodes {
		id, n := NodeID(i), &f.nodes[i]
		switch n.Kind {
		case Switch:
			f.switches = append(f.switches, id)
		case Adapter:
			f.adapters = append(f.adapters, id)
		case Router:
			f.routers = append(f.routers, id)
		}
		f.byName[n.Name] = append(f.byName[n.Name], id)
		f.indexPorts(id)
	}
}

func (f *Fabric) indexPorts(id NodeID) {
	for p := range f.ports[f.first[id]:f.first[id+1]] {
		e := End{id, uint16(p)}
		if g := f.Port(e).GUID; g.IsValid() {
			if _, taken := f.byPort[g]; !taken {
				f.byPort[g] = e
			}
		}
	}
}

// NumNodes is the number of nodes, dead ones included: the length of a table
// by NodeID.
func (f *Fabric) NumNodes() int { return len(f.nodes) }

// NumLinks is the number of links, dead ones included: the length of a table
// by LinkID.
func (f *Fabric) NumLinks() int { return len(f.links) }

// Node returns a node.
func (f *Fabric) Node(id NodeID) Node { return f.nodes[id] }

// Link returns a link.
func (f *Fabric) Link(id LinkID) Link { return f.links[id] }

// Port returns a port of a node; its Link may be dead, see LinkUp. A port that
// the node has not got is the empty port.
func (f *Fabric) Port(e End) Port {
	if e.Port > f.nodes[e.Node].NumPorts {
		return Port{Link: NoLink}
	}
	return f.ports[f.slot(e)]
}

// Switches, Adapters and Routers list the nodes of a kind in the order of their
// indices, dead ones included. The slices must not be changed.
func (f *Fabric) Switches() []NodeID { return f.switches }

// Adapters lists the channel adapters; see Switches.
func (f *Fabric) Adapters() []NodeID { return f.adapters }

// Routers lists the routers; see Switches.
func (f *Fabric) Routers() []NodeID { return f.routers }

// ByGUID finds a node by its node GUID.
func (f *Fabric) ByGUID(g ib.GUID) (NodeID, bool) {
	id, ok := f.byGUID[g]
	return id, ok
}

// ByID finds a node by the ID of its topology file.
func (f *Fabric) ByID(id string) (NodeID, bool) {
	n, ok := f.byID[id]
	return n, ok
}

// ByPortGUID finds a port by its GUID.
func (f *Fabric) ByPortGUID(g ib.GUID) (End, bool) {
	e, ok := f.byPort[g]
	return e, ok
}

// ByName lists the nodes with a description, in the order of their indices.
// The slice must not be changed.
func (f *Fabric) ByName(name string) []NodeID { return f.byName[name] }

// NodeUp tells whether a node is alive.
func (f *Fabric) NodeUp(id NodeID) bool { return !f.deadNodes.has(int(id)) }

// LinkUp tells whether a link and both of its nodes are alive.
func (f *Fabric) LinkUp(id LinkID) bool {
	if f.deadLinks.has(int(id)) {
		return false
	}
	l := &f.links[id]
	return f.NodeUp(l.A.Node) && f.NodeUp(l.B.Node)
}

// Peer returns the far end of the live cable in a port; ok is false where there
// is none.
func (f *Fabric) Peer(e End) (peer End, ok bool) {
	id := f.Port(e).Link
	if id == NoLink || !f.LinkUp(id) {
		return End{Node: NoNode}, false
	}
	return f.links[id].Other(e), true
}

// Ports yields the external ports of a node that have a live cable, with the
// far end, in ascending order of port number.
func (f *Fabric) Ports(id NodeID) iter.Seq2[End, End] {
	return func(yield func(End, End) bool) {
		for p := 1; p <= int(f.nodes[id].NumPorts); p++ {
			e := End{id, uint16(p)}
			if peer, ok := f.Peer(e); ok && !yield(e, peer) {
				return
			}
		}
	}
}

// EndPorts lists the adapter ports that have a live cable, by node and port:
// where processes run and what groups are made of.
func (f *Fabric) EndPorts() []End {
	var ends []End
	for _, id := range f.adapters {
		for e := range f.Ports(id) {
			ends = append(ends, e)
		}
	}
	return ends
}

// Leaf is the switch that a port hangs on: the node itself for a switch, the
// cable's far end for an adapter. ok is false where there is none.
func (f *Fabric) Leaf(e End) (leaf End, ok bool) {
	if f.nodes[e.Node].Kind == Switch {
		return e, f.NodeUp(e.Node)
	}
	peer, ok := f.Peer(e)
	return peer, ok && f.nodes[peer.Node].Kind == Switch
}

// EndLabel is how messages name a port.
func (f *Fabric) EndLabel(e End) string {
	b := Builder{nodes: f.nodes}
	return b.endLabel(e)
}

// Components lists the connected parts of the live graph, the largest first;
// the nodes of each in the order of their indices.
func (f *Fabric) Components() [][]NodeID {
	seen := make([]bool, len(f.nodes))
	var parts [][]NodeID
	for i := range f.nodes {
		if id := NodeID(i); !seen[i] && f.NodeUp(id) {
			parts = append(parts, f.component(id, seen))
		}
	}
	slices.SortStableFunc(parts, func(x, y []NodeID) int { return len(y) - len(x) })
	return parts
}

func (f *Fabric) component(start NodeID, seen []bool) []NodeID {
	seen[start] = true
	part := []NodeID{start}
	for k := 0; k < len(part); k++ {
		for _, peer := range f.Ports(part[k]) {
			if !seen[peer.Node] {
				seen[peer.Node] = true
				part = append(part, peer.Node)
			}
		}
	}
	slices.Sort(part)
	return part
}

func (f *Fabric) unlinked() []NodeID {
	var ids []NodeID
	for i := range f.nodes {
		if !f.linked(NodeID(i)) {
			ids = append(ids, NodeID(i))
		}
	}
	return ids
}

// linked tells whether a node has a live link, be it one to itself.
func (f *Fabric) linked(id NodeID) bool {
	for range f.Ports(id) {
		return true
	}
	return false
}
