package engine

import "heddle/ib"

// Trailer is how many bytes behind the Data of a packet that is sent are the
// link's: for the CRCs.
const Trailer = 8

// Packet is a packet on its way between a device and its link.
type Packet struct {
	Path Path
	// Data is from the BTH to the end of the padding.
	Data []byte
}

// Path is how a packet gets to a peer, or got here from there: the other end's
// addresses, and what the network does with it on its way. A path that a packet
// came by leads back. It is comparable.
type Path struct {
	// LID is the other end's, or a group's MLID; 0 on Ethernet. Own is this end's
	// LID: the one that the packet was sent to, or is sent from; 0 is the first of
	// the port's.
	LID, Own uint16
	SL       ib.SL
	// Remote and Local are the GIDs of the other end and of this one, and of a
	// packet to a group Local is the group at who receives it. Without Remote it
	// has no GRH, which only InfiniBand allows.
	Remote, Local ib.GID
	Hops          uint8 // hop limit, or time to live; 0 is 64
	Class         uint8 // traffic class, or type of service
	// Port is the other end's UDP port; 0 is 4791, the one of RoCEv2.
	Port uint16
}

// from tells whether a packet that came by a path is of the peer that another one
// leads to.
func (p *Path) from(peer *Path) bool {
	if p.Remote.IsValid() && peer.Remote.IsValid() {
		return p.Remote == peer.Remote
	}
	return p.LID == peer.LID
}
