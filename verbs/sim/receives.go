package sim

import "heddle/verbs"

// rx is a receive that was taken for a message.
type rx struct {
	id   uint64
	sges []verbs.SGE
	room int
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
