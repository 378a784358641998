package subnet

import (
	"fmt"
	"strconv"
	"strings"

	"heddle/fabric"
	"heddle/ib"
	"heddle/mad"
)

// Node is a node, and what it told of itself.
type Node struct {
	// ID is its index in View.Nodes and in View.Fabric.
	ID fabric.NodeID
	// Info is what it told first; PortGUID and LocalPortNum are of the port
	// where the first way came in.
	Info        mad.NodeInfo
	Description string
	Switch      mad.SwitchInfo // of a switch
	// Changed says that a switch told of a port whose state changed since the
	// last sweep that cleared that.
	Changed bool
	// Stale is for how many sweeps the node did not answer, though its link is
	// up: all of this is what a sweep before saw. See View.Keep.
	Stale int
	// Ports are by number, from 0 to NumPorts; an adapter has no port 0.
	Ports []Port
	// Path is a directed route to it.
	Path []uint8

	own bool // the sweep began here
}

// Port is a port of a node.
type Port struct {
	// Answered says that Info is what the port told.
	Answered bool
	Info     mad.PortInfo
	// GUID is that of an adapter's port, and of port 0 of a switch.
	GUID ib.GUID
	// PKeys is the P_Key table of a port with a LID, 0 for an empty entry, up
	// to the first block that was not told. Nil is not asked for.
	PKeys []ib.PKey
	// Path is a directed route that comes in through the port, by which an
	// adapter's port is set up; that of the node for a switch's ports.
	Path []uint8
	// FDR10 says that the speed that shows as QDR is FDR10.
	FDR10 bool

	peer   *Node // behind the cable; nil for nobody
	number uint8 // of the peer's port
}

// Answered takes the answer to a Set of a port or of SwitchInfo: the node is as
// it says now. What cannot be read changes nothing.
func (n *Node) Answered(attr mad.AttrID, modifier uint32, data []byte) {
	switch attr {
	case mad.AttrPortInfo:
		if info, err := mad.ParsePortInfo(data); err == nil && int(uint8(modifier)) < len(n.Ports) {
			n.Ports[uint8(modifier)].Info = info
		}
	case mad.AttrSwitchInfo:
		if info, err := mad.ParseSwitchInfo(data); err == nil {
			n.Switch = info
		}
	default: // of what is not kept here
	}
}

// IsSwitch tells whether the node is a switch.
func (n *Node) IsSwitch() bool { return n.Info.NodeType == mad.NodeSwitch }

// GUID is the node's GUID.
func (n *Node) GUID() ib.GUID { return n.Info.NodeGUID }

// Label is how messages name the node.
func (n *Node) Label() string { return fabric.Node{GUID: n.GUID(), Name: n.Description}.Label() }

// Peer is the port at the other end of the cable in a port; ok is false where
// nobody was found there.
func (n *Node) Peer(port uint8) (peer *Node, number uint8, ok bool) {
	if int(port) >= len(n.Ports) {
		return nil, 0, false
	}
	p := &n.Ports[port]
	return p.peer, p.number, p.peer != nil
}

// Addressed yields the numbers of the ports that have a LID: port 0 of a
// switch, and those of an adapter that were found.
func (n *Node) Addressed() []uint8 {
	if n.IsSwitch() {
		return []uint8{0}
	}
	var list []uint8
	for i := range n.Ports {
		if n.Ports[i].Path != nil || n.Ports[i].Answered {
			list = append(list, uint8(i))
		}
	}
	return list
}

// Rate is what the link in a port runs at.
func (p *Port) Rate() ib.LinkRate {
	rate := p.Info.LinkRate()
	if p.FDR10 {
		rate.Speed = ib.FDR10
	}
	return rate
}

// View is what a sweep saw.
type View struct {
	// Nodes are in the order of their GUIDs.
	Nodes []*Node
	// Own is the port that the sweep began at.
	Own fabric.End
	// Fabric has the same nodes by the same indices.
	Fabric *fabric.Fabric
	// Faults are what did not answer (fabric.FaultUnreachable), and what is
	// wrong with the fabric.
	Faults []fabric.Fault
	// Requests were asked, without those that were sent again.
	Requests int

	unseen []fabric.Fault // what the sweep itself found wrong
}

// view puts what was found in order and makes its fabric.
func (w *walk) view() *View {
	v := &View{}
	for _, n := range w.nodes {
		v.Nodes = append(v.Nodes, n)
	}
	v.Own.Port = uint16(w.ownPort)
	v.renumber()
	v.unseen = w.faults
	v.Rebuild()
	return v
}

// Rebuild makes the fabric of the nodes once more, after what they told was
// changed: with LIDs that they got since.
func (v *View) Rebuild() {
	var b fabric.Builder
	for _, f := range v.unseen {
		b.Report(f)
	}
	for _, n := range v.Nodes {
		b.AddNode(n.fabricNode(), fabric.Place{})
		n.setPorts(&b)
	}
	for _, n := range v.Nodes {
		n.lay(&b)
	}
	v.Fabric, v.Faults = b.Build()
}

func (n *Node) fabricNode() fabric.Node {
	told := fabric.Node{
		GUID: n.GUID(), Name: n.Description, Kind: kindOf(n.Info.NodeType), NumPorts: uint16(n.Info.NumPorts),
		SystemGUID: n.Info.SystemImageGUID, VendorID: n.Info.VendorID, DeviceID: uint32(n.Info.DeviceID),
	}
	switch {
	case !n.IsSwitch():
	case n.Switch == mad.SwitchInfo{}: // not told
		told.MulticastCap = fabric.CapUnknown
	default:
		told.EnhancedPort0, told.MulticastCap = n.Switch.EnhancedPort0, int32(n.Switch.MulticastFDBCap)
	}
	told.Aggregation = told.Kind == fabric.Adapter && strings.Contains(n.Description, "Aggregation Node")
	return told
}

func kindOf(t mad.NodeType) fabric.Kind {
	switch t {
	case mad.NodeSwitch:
		return fabric.Switch
	case mad.NodeRouter:
		return fabric.Router
	case mad.NodeCA:
		return fabric.Adapter
	default:
		return fabric.Adapter // a kind that does not forward, as far as we know
	}
}

func (n *Node) setPorts(b *fabric.Builder) {
	for _, number := range n.Addressed() {
		p := &n.Ports[number]
		b.SetPort(fabric.End{Node: n.ID, Port: uint16(number)},
			fabric.PortInfo{GUID: p.GUID, LID: p.Info.LID, LMC: p.Info.LMC}, fabric.Place{})
	}
}

// lay states the cables that end here, each at one of its ends.
func (n *Node) lay(b *fabric.Builder) {
	for i := range n.Ports {
		p := &n.Ports[i]
		if p.peer == nil || p.peer.ID < n.ID || p.peer == n && int(p.number) < i {
			continue
		}
		rate := p.Rate()
		if !rate.IsValid() {
			rate = p.peer.Ports[p.number].Rate()
		}
		b.Cable(fabric.End{Node: n.ID, Port: uint16(i)}, fabric.End{Node: p.peer.ID, Port: uint16(p.number)}, rate, fabric.Place{})
	}
}

// pathText is a directed route as infiniband-diags write and take it.
func pathText(path []uint8) string {
	words := []string{"0"}
	for _, port := range path {
		words = append(words, strconv.Itoa(int(port)))
	}
	return strings.Join(words, ",")
}

func (n *Node) at() string { return fmt.Sprintf("%s (path %s)", n.Label(), pathText(n.Path)) }
