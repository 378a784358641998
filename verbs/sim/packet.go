package sim

import (
	"heddle/ib"
	"heddle/verbs"
)

// packetKind is what a packet says.
type packetKind uint8

const (
	request  packetKind = iota
	datagram            // of UC and UD too: nobody answers
	ack                 // seq is done; of cumulative ones, all before it too
	answer              // to a READ or an atomic
	nak
	pull // the target of a WRITE asks for its data
)

// nakKind is why a request is refused.
type nakKind uint8

const (
	nakNone nakKind = iota
	nakSequence
	nakNotReady
	nakInvalid
	nakAccess
	nakOperation
)

// phase is how far a packet came at its target.
type phase uint8

const (
	waiting phase = iota
	moving        // into memory
	placed
)

// packet is what crosses the network. It carries more than a real one, so that
// any of a message can be understood without those before it.
type packet struct {
	kind               packetKind
	op                 verbs.Op
	src, dst           *qp
	srcEpoch, dstEpoch uint32
	seq                uint64 // packet sequence number
	msg                uint64 // number of the request at its sender
	offset, length     int    // of the payload in the message
	total              int    // of the message
	last               bool
	solicited          bool
	asks               bool // of a WRITE: the target is to READ it
	imm                uint32
	addr               uint64 // of the message in the target's memory
	rkey               uint32
	compare, swap      uint64
	data               []byte
	why                nakKind
	timer              ticks // of nakNotReady
	qkey               ib.QKey
	global             bool // it has a GRH
	sgid, dgid         ib.GID

	// At the target.
	slot      uint64
	phase     phase
	fault     nakKind
	status    verbs.Status // of the receive, with fault
	abandoned bool
	rx        *rx
	pieces    [maxPieces]piece
	count     int    // of pieces
	next      int    // piece
	before    uint64 // of an atomic
	until     ticks  // no other atomic begins
}

// first tells whether a message begins with it.
func (p *packet) first() bool { return p.offset == 0 }

// waitsForAnswer tells whether an acknowledgement is not enough.
func waitsForAnswer(op verbs.Op) bool {
	return op == verbs.OpRead || op == verbs.OpFetchAdd || op == verbs.OpCompareSwap
}

func isSend(op verbs.Op) bool { return op == verbs.OpSend || op == verbs.OpSendImm }

func isWrite(op verbs.Op) bool { return op == verbs.OpWrite || op == verbs.OpWriteImm }

// newPacket takes one from the pool.
func (n *Network) newPacket() *packet {
	if k := len(n.pool); k > 0 {
		p := n.pool[k-1]
		n.pool = n.pool[:k-1]
		return p
	}
	return &packet{data: make([]byte, 0, n.cfg.Profile.MTU.Bytes())}
}

// free gives a packet back.
func (n *Network) free(p *packet) {
	*p = packet{data: p.data[:0]}
	n.pool = append(n.pool, p)
}

// reply makes a packet that goes back to where p came from.
func (n *Network) reply(p *packet, kind packetKind) *packet {
	r := n.newPacket()
	r.kind, r.op, r.seq, r.msg = kind, p.op, p.seq, p.msg
	r.src, r.dst, r.srcEpoch, r.dstEpoch = p.dst, p.src, p.dstEpoch, p.srcEpoch
	return r
}

// transmit sends a packet, to arrive or not.
func (n *Network) transmit(p *packet) {
	p.src.count(p)
	n.launch(p)
}

// launch sends a packet that was counted.
func (n *Network) launch(p *packet) {
	lost, again := n.impair(p)
	if lost {
		n.free(p)
		return
	}
	n.deliver(p)
	if again {
		twin := n.newPacket()
		data := append(twin.data, p.data...)
		*twin = *p
		twin.data = data
		n.deliver(twin)
	}
}

// deliver has a packet arrive.
func (n *Network) deliver(p *packet) {
	at := n.arrivalTime()
	if j := n.faults.Jitter; j > 0 && n.cfg.Clock != Crossings {
		at += ticks(n.random.Int64N(int64(j) + 1))
	}
	if s := n.cfg.Profile.Spread; s > 0 && (p.kind != datagram || !n.cfg.Profile.Delivery) {
		at += ticks(n.random.Int64N(int64(s)))
	} else {
		at = max(at, p.src.lastArrival+1)
		p.src.lastArrival = at
	}
	n.trace(p, "sent")
	n.schedule(event{at: at, kind: arrival, pkt: p})
}

// arrive has the target look at a packet.
func (n *Network) arrive(p *packet) {
	q := p.dst
	if q.closed || q.epoch != p.dstEpoch || q.pd.ctx.dev.dead {
		n.trace(p, "for nobody")
		n.free(p)
		return
	}
	n.trace(p, "arrived")
	switch p.kind {
	case request:
		q.requested(p)
	case datagram:
		q.came(p)
	case ack:
		q.acknowledged(p)
		n.free(p)
	case answer:
		q.answered(p)
		n.free(p)
	case nak:
		q.refused(p)
		n.free(p)
	case pull:
		q.pulled(p)
		n.free(p)
	}
}
