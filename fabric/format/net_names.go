package format

import (
	"heddle/fabric"
	"heddle/ib"
)

// netNames are the IDs of a netlist, described or only mentioned.
type netNames struct {
	refs []netRef
	byID map[string]int32
}

// netRef is a node as port lines know it.
type netRef struct {
	id   string
	node fabric.NodeID // NoNode until it is described
	// What the first line says that mentions it before it is described.
	name string
	line int
	// ports is the highest port that a line mentions; ported is true where one
	// gives the port's GUID, so that it is no switch.
	ports  uint16
	ported bool
	// badLID is true where a line gives it a LID that cannot be.
	badLID bool
	// made is true where the node was added from the lines that name it.
	made bool
}

// ref finds or makes the entry of an ID.
func (n *netNames) ref(id []byte) int32 {
	if i, ok := n.byID[string(id)]; ok {
		return i
	}
	i := int32(len(n.refs))
	n.refs = append(n.refs, netRef{id: string(id), node: fabric.NoNode})
	n.byID[n.refs[i].id] = i
	return i
}

// kind is what a node must be that is only mentioned; 0 where that is open.
func (r *netRef) kind() fabric.Kind {
	if _, ok := guidOfID(r.id); ok {
		switch r.id[0] {
		case 'S':
			return fabric.Switch
		case 'H':
			return fabric.Adapter
		case 'R':
			return fabric.Router
		}
	}
	if r.ported {
		return fabric.Adapter
	}
	return 0
}

// guidOfID is the GUID in an ID of ibnetdiscover's form, S-0002c90300001234.
func guidOfID(id string) (ib.GUID, bool) {
	if len(id) != 18 || id[1] != '-' {
		return 0, false
	}
	return parseGUID([]byte(id[2:]))
}

// guidMaker gives GUIDs to nodes without: from ibsim's first ones on, and in a
// net of ibsim from the last one stated, as ibsim does. For routers ibsim would
// begin at 0, which is no GUID. All is by kind.
type guidMaker struct {
	// stated is for the next node, 0 where the file says none; base is the last
	// one that was not relative.
	stated, base [fabric.Router + 1]ib.GUID
	next         [fabric.Router + 1]ib.GUID
	// top is beyond all that were made up.
	top [fabric.Router + 1]ib.GUID
}

func newGUIDMaker() guidMaker {
	first := [fabric.Router + 1]ib.GUID{
		fabric.Adapter: 0x100000, fabric.Switch: 0x200000, fabric.Router: 0x300000,
	}
	return guidMaker{base: first, next: first}
}

// set takes a GUID that the file states for the next node of a kind.
func (m *guidMaker) set(kind fabric.Kind, g ib.GUID, relative bool) {
	if relative {
		g += m.base[kind]
	} else {
		m.base[kind] = g
	}
	m.stated[kind] = g
}

// guidOf is the GUID of a node: as stated, as in its ID, or made up.
func (n *netReader) guidOf(node fabric.Node, at fabric.Place) ib.GUID {
	m := &n.guids
	g := m.stated[node.Kind]
	m.stated[node.Kind] = 0
	if g != 0 {
		if n.dialect == simulated {
			m.next[node.Kind] = g + guidStep(node)
		}
		return g
	}
	if g, ok := guidOfID(node.ID); ok {
		return g
	}
	return n.makeGUID(node, at)
}

// guidStep is how many GUIDs a node takes: the ports of a switch have none of
// their own.
func guidStep(node fabric.Node) ib.GUID {
	if node.Kind == fabric.Switch {
		return 1
	}
	return ib.GUID(node.NumPorts) + 1
}

// makeGUID is a GUID that no node has.
func (n *netReader) makeGUID(node fabric.Node, at fabric.Place) ib.GUID {
	m := &n.guids
	g := m.next[node.Kind]
	for {
		if _, taken := n.LookupGUID(g); !taken && g.IsValid() {
			break
		}
		if g++; g == 0 { // from the start once more
			m.top[node.Kind] = 0
		}
		g = max(g, m.top[node.Kind])
	}
	m.next[node.Kind] = g + guidStep(node)
	m.top[node.Kind] = max(m.top[node.Kind], m.next[node.Kind])
	if n.dialect == discovered {
		n.warnAt(at, fabric.FaultGUID, "%s states no GUID: %v is used", node.ID, g)
	}
	return g
}

// derivePorts gives the ports of a simulated node the GUIDs that ibsim gives.
func (n *netReader) derivePorts(id fabric.NodeID) {
	if n.dialect != simulated {
		return
	}
	node := n.Node(id)
	for p := range node.NumPorts {
		n.SetPort(fabric.End{Node: id, Port: p + 1}, fabric.PortInfo{GUID: node.GUID + ib.GUID(p) + 1}, n.at())
	}
}
