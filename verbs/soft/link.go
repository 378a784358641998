package soft

import (
	"heddle/ib"
	"heddle/verbs"
	"heddle/verbs/soft/internal/engine"
)

// Link carries the packets of a device's one port. It puts around them what the
// network needs, and takes that off again: LRH, GRH and both CRCs on InfiniBand;
// IP, UDP and the invariant CRC on Ethernet. It may lose packets, double them and
// change their order; it must not give one that was damaged, or is not for this
// port. What is sent to the port itself comes back to it; what it sends to a group
// does not, as a device gives that to its own members. Send, Join, Leave and Attr
// may be called by any goroutine.
type Link interface {
	// Attr is how the link is now.
	Attr() LinkAttr
	// Start has receive called with what comes, by one goroutine at a time, until
	// Close returns. The packets are the link's again when receive returns. It is
	// called once, before anything is sent. Receive calls Send, and Send must not
	// call receive.
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

// Packet is a packet on its way between a device and its link: its path, and its
// bytes from the BTH to the end of the padding.
type Packet = engine.Packet

// Path is how a packet gets to a peer, or got here from there.
type Path = engine.Path

// Trailer is how many bytes behind the Data of a packet that is sent are the
// link's: for the CRCs.
const Trailer = engine.Trailer

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
