package sim

import (
	"encoding/binary"

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

// rx is a receive that was taken for a message.
type rx struct {
	id   uint64
	sges []verbs.SGE
	room int
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

// flushRecvs completes all receives that were not done.
func (q *qp) flushRecvs() {
	clear(q.held)
	for len(q.taken) > 0 {
		q.completeRecv(q.taken[0], verbs.WC{Status: verbs.StatusFlushed}, false)
	}
	q.rx = nil
	if q.srq != nil {
		q.pd.ctx.tell(verbs.Event{Type: verbs.EventLastWQE, QP: q, QPN: q.number})
		return
	}
	for f := q.recvs.Front(); f != nil; f = q.recvs.Front() {
		id := f.ID
		q.recvs.Pop()
		q.recvCQ.Push(verbs.WC{ID: id, Status: verbs.StatusFlushed, QPN: q.number}, true)
	}
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

// start begins to execute a packet; false is that it was refused for now.
func (q *qp) start(p *packet) bool {
	switch {
	case isSend(p.op):
		return q.startSend(p)
	case isWrite(p.op):
		p.fault = q.mayWrite(p)
		q.move(p)
		return true
	case p.op == verbs.OpRead:
		if p.fault = q.mayRead(p); p.fault == nakNone {
			q.fetch(p)
		}
	default:
		if p.fault = q.mayChange(p); p.fault == nakNone {
			q.startAtomic(p)
			return true
		}
	}
	p.phase = placed
	return true
}

// mayWrite tells what is wrong with a WRITE.
func (q *qp) mayWrite(p *packet) nakKind {
	return q.may(p, p.total, verbs.RemoteWrite)
}

func (q *qp) mayRead(p *packet) nakKind { return q.may(p, p.total, verbs.RemoteRead) }

// mayChange tells what is wrong with an atomic (V8).
func (q *qp) mayChange(p *packet) nakKind {
	if p.addr%8 != 0 {
		return nakInvalid
	}
	return q.may(p, 8, verbs.RemoteAtomic)
}

func (q *qp) may(p *packet, length int, need verbs.Access) nakKind {
	if q.attr.Access&need == 0 {
		return nakAccess
	}
	if _, status := q.pd.ctx.dev.regions.Remote(q.pd.number, p.rkey, p.addr, length, need); status != verbs.StatusOK {
		return nakAccess
	}
	return nakNone
}

// startSend takes a receive for a message, and moves a packet of it there.
func (q *qp) startSend(p *packet) bool {
	if p.first() {
		if !q.ready() {
			return q.notReady(p)
		}
		q.rx = q.take()
	} else if q.rx == nil || q.drop == p.msg+1 {
		p.phase, p.fault = placed, nakSequence // the rest of what was dropped
		return true
	}
	p.rx = q.rx
	p.fault, p.status = q.accepts(p)
	if p.last && p.fault == nakNone {
		q.rx = nil
	}
	q.move(p)
	return true
}

// accepts tells whether a message fits where it goes.
func (q *qp) accepts(p *packet) (nakKind, verbs.Status) {
	for _, s := range p.rx.sges {
		if _, status := q.pd.ctx.dev.regions.Local(q.pd.number, s, verbs.LocalWrite); status != verbs.StatusOK {
			return nakOperation, verbs.StatusLocalProtection
		}
	}
	if p.total+q.headroom() > p.rx.room {
		return nakInvalid, verbs.StatusLocalLength
	}
	return nakNone, verbs.StatusOK
}

// headroom is what comes before a message's data in a receive.
func (q *qp) headroom() int {
	if q.attr.Type == verbs.UD {
		return verbs.GRHSize
	}
	return 0
}

// ready tells whether there is a receive.
func (q *qp) ready() bool {
	return !q.net.chance(q.net.faults.NotReady) && (q.rx != nil || q.recvs.Front() != nil)
}

// take takes a receive: the one of a message that was given up, or the next.
func (q *qp) take() *rx {
	if x := q.rx; x != nil {
		q.rx = nil
		return x
	}
	front := q.recvs.Front()
	x := q.net.newRx()
	x.id, x.sges, x.room = front.ID, append(x.sges[:0], front.SGEs...), 0
	for _, s := range x.sges {
		x.room += int(s.Length)
	}
	q.recvs.Pop()
	q.taken = append(q.taken, x)
	if q.srq != nil {
		q.srq.check()
	}
	return x
}

func (n *Network) newRx() *rx {
	if k := len(n.rxPool); k > 0 {
		x := n.rxPool[k-1]
		n.rxPool = n.rxPool[:k-1]
		return x
	}
	return new(rx)
}

// completeRecv completes a receive.
func (q *qp) completeRecv(x *rx, wc verbs.WC, solicited bool) {
	for i := range q.taken {
		if q.taken[i] == x {
			q.taken = append(q.taken[:i], q.taken[i+1:]...)
			break
		}
	}
	wc.ID, wc.QPN = x.id, q.number
	q.net.rxPool = append(q.net.rxPool, x)
	q.recvCQ.Push(wc, solicited || wc.Status != verbs.StatusOK)
}

// notReady is a message that finds no receive: the peer is told, or where nobody
// waits for an answer the message is dropped, which is true.
func (q *qp) notReady(p *packet) bool {
	if q.attr.Type != verbs.RC {
		q.drop, p.phase, p.fault = p.msg+1, placed, nakSequence
		return true
	}
	r := q.net.reply(p, nak)
	r.why, r.timer = nakNotReady, q.net.lasting(q.attr.RNRTimer)
	q.net.transmit(r)
	q.putBack(p.slot)
	return false
}

// putBack forgets a packet, and in strict order those after it: the peer will
// send them again.
func (q *qp) putBack(slot uint64) {
	last := slot
	if q.net.order == strict {
		last, q.next, q.nagged = q.next-1, slot, true
	}
	for s := slot; s <= last; s++ {
		at := q.at(s)
		if p := *at; p != nil && p != executed {
			if p.phase == moving {
				p.abandoned = true
			} else {
				q.net.free(p)
			}
		}
		*at = nil
	}
}

// finish ends the execution of a packet whose turn it is; false is that it was
// refused.
func (q *qp) finish(p *packet) bool {
	if p.fault != nakNone {
		return q.finishFault(p)
	}
	if p.last {
		switch {
		case isSend(p.op):
			q.received(p)
		case p.op == verbs.OpWriteImm:
			if !q.ready() {
				return q.notReady(p)
			}
			q.completeRecv(q.take(), verbs.WC{
				Op: verbs.OpRecvWriteImm, ByteLen: uint32(p.total), Imm: p.imm, Flags: verbs.WithImm,
			}, p.solicited)
		}
	}
	if q.attr.Type == verbs.RC && !waitsForAnswer(p.op) && (p.last || p.seq%16 == 15 || q.net.order == anyhow) {
		q.acknowledge(p, p.seq)
	}
	return q.receives()
}

// received completes the receive of a SEND.
func (q *qp) received(p *packet) {
	wc := verbs.WC{Op: verbs.OpRecv, ByteLen: uint32(p.total + q.headroom())}
	if p.op == verbs.OpSendImm {
		wc.Imm, wc.Flags = p.imm, verbs.WithImm
	}
	if q.attr.Type == verbs.UD {
		wc.SrcQPN = p.src.number
		if p.global {
			wc.Flags |= verbs.WithGRH
		}
	}
	q.completeRecv(p.rx, wc, p.solicited)
}

// finishFault ends a packet that was refused for good.
func (q *qp) finishFault(p *packet) bool {
	if q.attr.Type != verbs.RC { // it is dropped, and its message with it
		if p.first() {
			q.drop = p.msg + 1
		}
		return true
	}
	r := q.net.reply(p, nak)
	r.why = p.fault
	q.net.transmit(r)
	if p.rx != nil {
		q.completeRecv(p.rx, verbs.WC{Status: p.status}, true)
		q.rx = nil
	}
	what := verbs.EventQPAccess
	if p.fault == nakInvalid {
		what = verbs.EventQPRequest
	}
	q.pd.ctx.tell(verbs.Event{Type: what, QP: q, QPN: q.number})
	q.fail()
	return false
}

// acknowledge tells the peer that packets were executed.
func (q *qp) acknowledge(p *packet, seq uint64) {
	r := q.net.reply(p, ack)
	r.seq = seq
	q.net.transmit(r)
}

// startAtomic executes an atomic, at once or in two steps.
func (q *qp) startAtomic(p *packet) {
	if q.net.cfg.Profile.CPUAtomics {
		value, _ := q.change(p)
		q.remember(p, value)
		p.phase = placed
		return
	}
	d := q.pd.ctx.dev
	at := max(q.net.now, d.atomicsUntil)
	d.atomicsUntil = at + 2 + ticks(q.net.random.IntN(pieceTime))
	p.phase, p.next, p.until = moving, 0, d.atomicsUntil
	q.net.schedule(event{at: at, kind: storing, pkt: p})
}

// atomicStep loads the word of an atomic, or stores it.
func (n *Network) atomicStep(p *packet) {
	q := p.dst
	if q.void(p) {
		return
	}
	word, ok := q.word(p)
	switch {
	case !ok:
		p.fault = nakAccess
	case p.next == 0:
		p.next, p.before = 1, word.Load()
		n.schedule(event{at: p.until - 1, kind: storing, pkt: p})
		return
	case p.op == verbs.OpFetchAdd:
		word.Store(p.before + p.swap)
	case p.before == p.compare:
		word.Store(p.swap)
	}
	if ok {
		q.remember(p, p.before)
	}
	p.phase = placed
	q.moved(p)
}

// remember keeps an atomic's result, and answers.
func (q *qp) remember(p *packet, value uint64) {
	q.results[q.oldest] = result{seq: p.seq, value: value, valid: true}
	q.oldest = (q.oldest + 1) % len(q.results)
	q.giveResult(p, value)
}

func (q *qp) giveResult(p *packet, value uint64) {
	r := q.net.reply(p, answer)
	r.data = binary.NativeEndian.AppendUint64(r.data, value)
	q.net.transmit(r)
}
