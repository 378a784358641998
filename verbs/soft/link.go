package soft

import (
	"heddle/ib"
	"heddle/verbs"
)

// Link carries the packets of a device's one port. It puts around them what the
// network needs, and takes that off again: LRH, GRH and both CRCs on InfiniBand;
// IP, UDP and the invariant CRC on Ethernet. It may lose packets, double them and
// change their order; it must not give one that was damaged, or is not for this
// port. Send, Join, Leave and Attr may be called by any goroutine.
type Link interface {
	// Attr is how the link is now.
	Attr() LinkAttr
	// Start has receive called with what comes, by one goroutine at a time, until
	// Close returns. The packets are the link's again when receive returns. It is
	// called once, before anything is sent. Receive calls Send.
	Start(receive func(batch []Packet)) error
	// Send sends packets in order. It keeps nothing of them, and never waits for a
	// peer: what cannot be sent is lost. The bytes of Data behind its length, as
	// far as Trailer goes, are there for the link's use.
	Send(batch []Packet)
	// Join has the link receive what is sent to a group, Leave ends that. They are
	// called once for a group, however many QPs are in it. The lid is 0 where the
	// link layer has none.
	Join(group ib.MGID, lid ib.MLID) error
	Leave(group ib.MGID, lid ib.MLID) error
	// Close ends it. It is idempotent, and returns when receive is not called any
	// more.
	Close() error
}

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

// LinkAttr is how a link is.
type LinkAttr struct {
	Layer verbs.LinkLayer
	State verbs.PortState
	GUID  ib.GUID // of the port
	MTU   ib.MTU  // of a packet's payload
	LID   ib.LID  // 0 on Ethernet, and as long as no subnet manager gave one
	SMLID ib.LID
	LMC   uint8
	Rate  ib.LinkRate
	GIDs  []verbs.GIDEntry
	PKeys []ib.PKey
	// Port is the UDP port that it receives at, 0 where there is none.
	Port uint16
}
