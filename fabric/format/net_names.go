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

// guidMaker gives GUIDs to nodes without: it counts on from the last GUID of
// the kind, as ibsim does, and from ibsim's first ones at the beginning. For
// routers ibsim would begin at 0, which is no GUID.
type guidMaker struct {
	next, base [fabric.Router + 1]ib.GUID
	// top is beyond all that were made up.
	top    [fabric.Router + 1]ib.GUID
	stated [fabric.Router + 1]bool
}

func newGUIDMaker() guidMaker {
	first := [fabric.Router + 1]ib.GUID{
		fabric.Adapter: 0x100000, fabric.Switch: 0x200000, fabric.Router: 0x300000,
	}
	return guidMaker{next: first, base: first}
}

// set takes a GUID that the file states for the next node of a kind.
func (m *guidMaker) set(kind fabric.Kind, g ib.GUID, relative bool) {
	if relative {
		g += m.base[kind]
	} else {
		m.base[kind] = g
	}
	m.next[kind], m.stated[kind] = g, true
}

// guidOf is the GUID of a described node: as stated, as in its ID, or made up.
func (n *netReader) guidOf(node fabric.Node) ib.GUID {
	m, k := &n.guids, node.Kind
	stated := m.stated[k]
	m.stated[k] = false
	if inID, ok := guidOfID(node.ID); ok && !stated {
		return inID
	}
	if !stated {
		n.makeGUID(node)
	}
	g := m.next[k]
	m.next[k] = g + 1
	if k != fabric.Switch { // whose ports have GUIDs of their own
		m.next[k] = g + ib.GUID(node.NumPorts) + 1
	}
	if !stated {
		m.top[k] = max(m.top[k], m.next[k])
	}
	return g
}

// makeGUID moves on to a GUID that no node has.
func (n *netReader) makeGUID(node fabric.Node) {
	next := &n.guids.next[node.Kind]
	for {
		if _, taken := n.LookupGUID(*next); !taken && next.IsValid() {
			break
		}
		*next = max(*next+1, n.guids.top[node.Kind])
	}
	if n.dialect == discovered {
		n.warn(fabric.FaultGUID, "%s states no GUID: %v is used", node.ID, *next)
	}
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
