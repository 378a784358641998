package sim

import (
	"heddle/verbs"
	"heddle/verbs/internal/queue"
)

// responder is the half of a QP that executes what the peer asks for. Packets
// that came wait in held until it is their turn, by their slots: those of RC are
// the packet sequence numbers, others are counted as they come.
type responder struct {
	recvs  *queue.Recvs
	held   []*packet // by slot, modulo; a power of two of them
	commit uint64    // the slot whose packet is executed next
	next   uint64    // the slot that the next packet has, or in strict order must have
	nagged bool      // a gap was told of
	follow uint64    // the number of the next packet of UC
	era    uint32    // the peer's epoch that follow is of

	rx    *rx    // of the message that is coming
	taken []*rx  // receives that were taken and have not completed, in order
	drop  uint64 // 1 more than the number of the message that is dropped

	results []result // of atomics, for duplicates
	oldest  int
	fetches []*packet // answers whose data is being read, in strict order
}

// result is what an atomic gave.
type result struct {
	seq   uint64
	value uint64
	valid bool
}

// executed stands in held for a packet that was executed before its turn.
var executed = &packet{phase: placed}

func (r *responder) make(q *qp) {
	if q.srq == nil {
		r.recvs = queue.NewRecvs(q.attr.RecvWR, q.attr.RecvSGE)
	} else {
		r.recvs = q.srq.recvs
	}
	size := 16
	if q.attr.Type == verbs.RC {
		size = window
	}
	r.held = make([]*packet, size)
	r.results = make([]result, 2*max(1, q.attr.Reads))
}

// forget makes it as new.
func (r *responder) forget(q *qp) {
	clear(r.held)
	clear(r.results)
	if q.srq == nil {
		for r.recvs.Front() != nil {
			r.recvs.Pop()
		}
	}
	*r = responder{recvs: r.recvs, held: r.held, results: r.results}
}

func (r *responder) at(slot uint64) **packet { return &r.held[slot&uint64(len(r.held)-1)] }

// requested takes a packet of RC.
func (q *qp) requested(p *packet) {
	held := *q.at(p.seq)
	switch {
	case !q.receives():
		q.net.free(p)
	case p.seq < q.commit || p.seq < q.commit+window && held == executed:
		q.repeated(p)
	case p.seq >= q.commit+window || held != nil:
		q.net.free(p)
	case q.net.order == strict && p.seq != q.next:
		q.gap(p)
	case p.asks:
		q.net.transmit(q.net.reply(p, pull))
		q.net.free(p)
	default:
		q.nagged = false
		q.next = p.seq + 1
		q.hold(p, p.seq)
	}
}

// came takes a packet that nobody waits for an answer to.
func (q *qp) came(p *packet) {
	if !q.receives() || q.attr.Type == verbs.UC && !q.follows(p) || q.attr.Type == verbs.UD && !q.wants(p) {
		q.net.trace(p, "ignored")
		q.net.free(p)
		return
	}
	slot := q.next
	q.next++
	if slot-q.commit >= uint64(len(q.held)) {
		q.grow()
	}
	q.hold(p, slot)
}

// follows tells whether a packet of UC begins a message, or goes on with one of
// which all came so far.
func (q *qp) follows(p *packet) bool {
	same := p.srcEpoch == q.era
	if same && p.seq < q.follow || !p.first() && !(same && p.seq == q.follow) {
		return false
	}
	q.follow, q.era = p.seq+1, p.srcEpoch
	return true
}

// grow makes room for twice as many packets.
func (q *qp) grow() {
	old := q.held
	q.held = make([]*packet, 2*len(old))
	for i := range uint64(len(old)) {
		slot := q.commit + i
		*q.at(slot) = old[slot&uint64(len(old)-1)]
	}
}

// gap tells once that a packet is missing.
func (q *qp) gap(p *packet) {
	if !q.nagged && p.seq > q.next {
		q.nagged = true
		r := q.net.reply(p, nak)
		r.seq, r.why = q.next, nakSequence
		q.net.transmit(r)
	}
	q.net.free(p)
}

// repeated answers a packet again.
func (q *qp) repeated(p *packet) {
	switch {
	case p.op == verbs.OpRead:
		if q.mayRead(p) == nakNone {
			q.fetch(p)
		}
	case waitsForAnswer(p.op):
		for _, r := range q.results {
			if r.valid && r.seq == p.seq {
				q.giveResult(p, r.value)
			}
		}
	case q.net.order == anyhow:
		q.acknowledge(p, p.seq)
	default:
		q.acknowledge(p, q.commit-1)
	}
	q.net.free(p)
}

// hold keeps a packet until its turn.
func (q *qp) hold(p *packet, slot uint64) {
	p.slot, p.phase = slot, waiting
	*q.at(slot) = p
	if q.startsAtOnce(p) && q.start(p) && p.phase == placed {
		q.moved(p)
		return
	}
	q.advance()
}

// startsAtOnce tells whether a packet need not wait for those before it.
func (q *qp) startsAtOnce(p *packet) bool {
	switch q.net.order {
	case anyhow:
		return true
	case loose:
		return isWrite(p.op)
	default:
		return isWrite(p.op) && q.isRelaxed(p)
	}
}

// isRelaxed tells whether the memory of a WRITE was registered so.
func (q *qp) isRelaxed(p *packet) bool {
	r := q.pd.ctx.dev.regions.Find(p.rkey)
	return r != nil && r.Access&verbs.RelaxedOrder != 0
}

// advance executes the packets whose turn it is.
func (q *qp) advance() {
	for q.receives() {
		at := q.at(q.commit)
		p := *at
		if p == nil {
			return
		}
		if p != executed {
			if p.phase == waiting && !q.start(p) || p.phase != placed || !q.finish(p) {
				return
			}
			q.net.free(p)
		}
		*at = nil
		q.commit++
	}
}

// moved goes on when a packet's data is in memory.
func (q *qp) moved(p *packet) {
	if q.net.order == anyhow {
		slot := p.slot
		if !q.finish(p) {
			return
		}
		*q.at(slot) = executed
		q.net.free(p)
	}
	q.advance()
}
