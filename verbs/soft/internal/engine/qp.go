package engine

import (
	"slices"
	"time"

	"heddle/ib"
	"heddle/packet"
	"heddle/verbs"
	"heddle/verbs/internal/queue"
)

// Receives is a receive queue, of one QP or shared.
type Receives struct {
	*queue.Recvs
	// Taken, where it is not nil, is called after a buffer was taken.
	Taken func()
	// Shared is that of an SRQ.
	Shared bool
}

// Peer is what a QP has to know of the one that it is connected to.
type Peer struct {
	Path  Path
	QPN   ib.QPN
	PSN   uint32 // of its first request
	MTU   ib.MTU
	Reads int
}

// QP is a queue pair. It is guarded as its engine is.
type QP struct {
	Attr verbs.QPAttr // filled; MTU is valid, PKey the value of the port's table
	// Owner is the object of it that programs have.
	Owner any

	engine         *Engine
	number         ib.QPN
	pd             uint32
	sendCQ, recvCQ Completions
	state          verbs.QPState
	closed         bool
	path           Path
	peer           ib.QPN
	mtu            int // of the path, in bytes
	groups         []ib.MGID
	deadline       time.Duration // of a timer; 0 is none
	queued         time.Duration // the earliest entry in the heap
	initial        uint32        // PSN of its first request
	requester
	responder
}

// NewQP makes a QP in INIT, of a protection domain. The attributes are filled.
func (e *Engine) NewQP(a verbs.QPAttr, pd uint32, send, recv Completions, recvs *Receives) *QP {
	q := &QP{engine: e, Attr: a, pd: pd, sendCQ: send, recvCQ: recv, state: verbs.Init, mtu: a.MTU.Bytes()}
	for {
		e.last = (e.last + 1) & 0xff_ffff
		if q.number = e.last; q.number > 15 && q.number != ib.MulticastQPN && e.qps[q.number] == nil {
			break
		}
	}
	q.requester.make(&q.Attr)
	q.responder.make(q, recvs)
	q.initial = e.cfg.Random.Uint32N(1 << 24)
	e.qps[q.number] = q
	return q
}

// QPN is the QP's number.
func (q *QP) QPN() ib.QPN { return q.number }

// PSN is that of its first request after Connect.
func (q *QP) PSN() uint32 { return q.initial }

// State is the QP's.
func (q *QP) State() verbs.QPState { return q.state }

// MTU is that of the path.
func (q *QP) MTU() ib.MTU { return ib.MTUFromBytes(q.mtu) }

// Connect takes the QP from INIT to RTS. A QP of UD is given nil.
func (q *QP) Connect(to *Peer) {
	if to != nil {
		q.path, q.peer = to.Path, to.QPN
		q.mtu = min(q.Attr.MTU, to.MTU).Bytes()
		q.asks.most = max(1, min(q.Attr.Reads, to.Reads))
		q.origin = to.PSN
	}
	q.state = verbs.RTS
}

// Modify takes it to another state, which is allowed.
func (q *QP) Modify(to verbs.QPState) {
	switch to {
	case verbs.Err:
		q.fail()
	case verbs.Reset:
		q.reset()
	default:
		q.state = to
		q.settle()
	}
}

// receives tells whether packets of a peer are taken.
func (q *QP) receives() bool {
	return q.state == verbs.RTS || q.state == verbs.SQD || q.state == verbs.SQE || q.state == verbs.RTR
}

// fail takes the QP to the error state: each request and buffer that was not done
// is flushed, in order.
func (q *QP) fail() {
	if q.closed || q.state == verbs.Err || q.state == verbs.Reset {
		return
	}
	q.acknowledge() // what was done before
	q.state = verbs.Err
	q.wait(0)
	q.flushSends()
	q.flushRecvs()
}

// Fatal does so with an event.
func (q *QP) Fatal() {
	if !q.closed && q.state != verbs.Err && q.state != verbs.Reset {
		q.engine.cfg.Tell(verbs.EventQPFatal, q)
		q.fail()
	}
}

// reset forgets all.
func (q *QP) reset() {
	q.state = verbs.Reset
	q.wait(0)
	q.requester.forget()
	q.responder.forget()
	q.initial = q.engine.cfg.Random.Uint32N(1 << 24)
	q.mtu = q.Attr.MTU.Bytes()
	mine := func(wc *verbs.WC) bool { return wc.QPN == q.number }
	q.sendCQ.Forget(mine)
	q.recvCQ.Forget(mine)
}

// Close ends it.
func (q *QP) Close() {
	if q.closed {
		return
	}
	q.acknowledge()
	q.reset()
	q.closed = true
	for len(q.groups) > 0 {
		q.Leave(q.groups[0])
	}
	delete(q.engine.qps, q.number)
	q.engine.acking = slices.DeleteFunc(q.engine.acking, func(p *QP) bool { return p == q })
}

// wire is a sequence number on the wire.
func wire(origin uint32, seq uint64) uint32 { return (origin + uint32(seq)) & 0xff_ffff }

// number is the sequence number that a PSN means, the one that is nearest to
// another; ok is false where there is none that near.
func unwire(psn, origin uint32, near uint64) (seq uint64, ok bool) {
	d := int32((psn-wire(origin, near))<<8) >> 8
	if d < 0 && uint64(-d) > near {
		return 0, false
	}
	return near + uint64(int64(d)), true
}

// expired does what a timer is for.
func (q *QP) expired() {
	switch {
	case q.resting:
		q.resting = false
		q.rewind()
		q.settle()
	case q.unacked < q.highest:
		q.timedOut()
	}
}

// header begins a packet to the peer.
func (q *QP) header(op packet.Opcode, psn uint32) *packet.Headers {
	h := &q.engine.head
	*h = packet.Headers{BTH: packet.BTH{
		Opcode: op | services[q.Attr.Type], Migrated: true, PKey: q.Attr.PKey, QPN: q.peer, PSN: psn,
	}}
	return h
}
