package sim

import (
	"encoding/binary"

	"heddle/verbs"
)

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
	if _, status := q.pd.ctx.dev.regions.Remote(q.pd.number, uint32(q.number), p.rkey, p.addr, length, need); status != verbs.StatusOK {
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
