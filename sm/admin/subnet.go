package admin

import (
	"heddle/ib"
	"heddle/mad"
)

// Subnet is what a sweep saw, and what it gave the ports. NewSnapshot makes a
// Snapshot of it and keeps it: it must not change afterwards.
type Subnet struct {
	// Prefix is the subnet's, ib.DefaultPrefix where it is 0.
	Prefix uint64
	Nodes  []Node
	// Managers are the subnet managers, our own among them.
	Managers []mad.SMInfoRecord
	// SLs are the service levels of partitions by the base of their P_Key; 0
	// for those that it does not have.
	SLs map[uint16]ib.SL
	// Lifetime is that of packets between any two ports.
	Lifetime mad.TimeValue
	// MFTs tells what the switches hold for groups, which changes between
	// sweeps; nil for nothing. It is called by many goroutines at once.
	MFTs MFTs
	// Tables are the tables of ports that a sweep does not read; nil for none.
	Tables PortTables
}

// MFTs are the multicast forwarding tables of the switches.
type MFTs interface {
	// MFT gives a block of 32 MLIDs at a position of 16 ports, as far as the
	// switch is known to hold it.
	MFT(sw ib.GUID, block uint16, position uint8) (mad.MulticastForwarding, bool)
}

// Node is a node of the subnet.
type Node struct {
	Info        mad.NodeInfo
	Description mad.NodeDescription
	// Switch is of a switch; nil where it is not known.
	Switch *mad.SwitchInfo
	// Ports are by number, from 0 to NumPorts at most.
	Ports []Port
	// LFT is the port by LID, mad.NoPort for none, of a switch.
	LFT []uint8
}

// IsSwitch tells whether the node is a switch.
func (n *Node) IsSwitch() bool { return n.Info.NodeType == mad.NodeSwitch }

// Port is a port of a node.
type Port struct {
	// Known says that the port answered: Info is what it told, with the LID
	// that it has now.
	Known bool
	// GUID is that of an adapter's port, and of port 0 of a switch.
	GUID ib.GUID
	Info mad.PortInfo
	// Rate is what its link runs at; where zero, what Info says.
	Rate ib.Rate
	// PKeys is the P_Key table, from index 0; nil is that of the power-on
	// state, the default partition. It is that of a port with an address.
	PKeys []ib.PKey
	// Linked says that the cable leads to port PeerPort of the node of index
	// Peer.
	Linked   bool
	Peer     int32
	PeerPort uint8
}

// rate is what the port runs at.
func (p *Port) rate() ib.Rate {
	if p.Rate.IsValid() {
		return p.Rate
	}
	return p.Info.LinkRate().Rate()
}

// mtu is the largest payload that the port may send.
func (p *Port) mtu() ib.MTU {
	if p.Info.NeighborMTU.IsValid() {
		return p.Info.NeighborMTU
	}
	return p.Info.MTUCap
}
