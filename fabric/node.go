package fabric

import (
	"fmt"

	"heddle/ib"
)

// Kind is the type of a node, as NodeInfo:NodeType tells it.
type Kind uint8

// The kinds of nodes. The zero Kind is invalid.
const (
	Switch  Kind = iota + 1
	Adapter      // a channel adapter (HCA, and also a switch's aggregation node)
	Router
)

// String names the kind.
func (k Kind) String() string {
	switch k {
	case Switch:
		return "switch"
	case Adapter:
		return "adapter"
	case Router:
		return "router"
	default:
		return fmt.Sprintf("kind(%d)", uint8(k))
	}
}

// NodeID is a node's index in its fabric, from 0; it stays the same in all
// fabrics made from one by Without and With.
type NodeID int32

// LinkID is a link's index in its fabric, from 0, with the same promise.
type LinkID int32

// NoNode and NoLink are the indices of nothing.
const (
	NoNode NodeID = -1
	NoLink LinkID = -1
)

// MaxPorts is the highest external port number of a node (IBTA 1, 14.2.5.3).
// Nodes with more can be routed on indices, but no table can be programmed.
const MaxPorts = 254

// CapUnknown is the multicast capacity of a switch whose source does not say.
const CapUnknown = -1

// Node is what is known of one node.
type Node struct {
	GUID ib.GUID
	// Name is the node description: opaque text, not a key.
	Name string
	// ID is what a topology file calls the node, such as S-0002c90300001234.
	// It is unique within a fabric.
	ID   string
	Kind Kind
	// NumPorts is the number of external ports: 1 to MaxPorts for a real node.
	// A model may have more, such as the top switches of a trimmed tree that
	// stand for whole directors; Build warns of them.
	NumPorts   uint16
	SystemGUID ib.GUID
	VendorID   uint32
	DeviceID   uint32
	// EnhancedPort0 is true for a switch with an enhanced port 0.
	EnhancedPort0 bool
	// Aggregation is true for an adapter that is the aggregation node inside a
	// switch (SHARP), not a host.
	Aggregation bool
	// MulticastCap is SwitchInfo:MulticastFDBCap, the number of MLIDs that the
	// switch can forward: 0 for a switch without multicast, CapUnknown where
	// the source does not say.
	MulticastCap int32
}

// Label is how messages name the node: its description and its GUID or ID.
func (n Node) Label() string {
	key := n.ID
	if n.GUID.IsValid() {
		key = n.GUID.String()
	}
	if n.Name == "" || n.Name == key {
		return key
	}
	return n.Name + " (" + key + ")"
}

// PortInfo is what a topology file may tell of one port.
type PortInfo struct {
	GUID ib.GUID
	// LID is the base LID; 0 where none is known or assigned.
	LID ib.LID
	// LMC makes the port own 2^LMC LIDs from LID on; 0 to 7.
	LMC uint8
}

// Port is one port of a node of a fabric.
type Port struct {
	PortInfo
	// Link is the cable in the port, NoLink where there is none.
	Link LinkID
}

// End is one end of a link: a port of a node. Port 0 of a switch is its
// management port, which no cable reaches, but which can be a group's member.
type End struct {
	Node NodeID
	Port uint16
}

// Link is a cable between two ports. A self link has both in one node.
type Link struct {
	A, B End
	Rate ib.LinkRate
}

// Other returns the end of the link that is not e.
func (l Link) Other(e End) End {
	if l.A == e {
		return l.B
	}
	return l.A
}

// Group is a multicast group: the ports that its tree has to reach.
// Several processes on one port make one member.
type Group struct {
	// Name labels the group in reports; it may be empty.
	Name    string
	Members []End
}
