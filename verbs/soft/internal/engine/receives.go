package engine

import (
	"heddle/packet"
	"heddle/verbs"
)

// rx is a receive that was taken for a message.
type rx struct {
	id   uint64
	sges []verbs.SGE
	room int
}

// PostRecv takes a buffer that was checked. The error wraps ErrQueueFull.
func (q *QP) PostRecv(wr *verbs.RecvWR) error {
	if q.state == verbs.Err {
		q.recvCQ.Push(verbs.WC{ID: wr.ID, Status: verbs.StatusFlushed, QPN: q.number}, true)
		return nil
	}
	return q.recvs.Push(wr)
}

// ready tells whether there is a receive.
func (q *QP) ready() bool { return q.holds || q.recvs.Front() != nil }

// take takes a receive: the one of a message that was given up, or the next.
func (q *QP) take() bool {
	if q.holds {
		return true
	}
	front := q.recvs.Front()
	if front == nil {
		return false
	}
	q.rx.id, q.rx.sges, q.rx.room = front.ID, append(q.rx.sges[:0], front.SGEs...), roomOf(front)
	q.holds = true
	q.recvs.Pop()
	if q.recvs.Taken != nil {
		q.recvs.Taken()
	}
	return true
}

// roomOf is how many bytes a buffer has.
func roomOf(wr *verbs.RecvWR) (n int) {
	for i := range wr.SGEs {
		n += int(wr.SGEs[i].Length)
	}
	return n
}

// receive puts a packet of a SEND to the receive.
func (q *QP) receive(payload []byte) (packet.Syndrome, verbs.Status) {
	if q.offset == 0 {
		for _, s := range q.rx.sges {
			if _, status := q.engine.cfg.Regions.Local(q.pd, s, verbs.LocalWrite); status != verbs.StatusOK {
				return packet.NAKOperation, verbs.StatusLocalProtection
			}
		}
	}
	if q.offset+len(payload) > q.rx.room {
		return packet.NAKInvalid, verbs.StatusLocalLength
	}
	if !q.scatter(q.rx.sges, q.offset, payload) {
		return packet.NAKOperation, verbs.StatusLocalProtection
	}
	return 0, verbs.StatusOK
}

// received completes the receive that was taken.
func (q *QP) received(wc verbs.WC, solicited bool) {
	wc.ID, wc.QPN = q.rx.id, q.number
	q.holds = false
	q.recvCQ.Push(wc, solicited || wc.Status != verbs.StatusOK)
}

// flushRecvs completes all receives that were not done.
func (q *QP) flushRecvs() {
	q.coming = nothing
	if q.holds {
		q.received(verbs.WC{Status: verbs.StatusFlushed}, true)
	}
	if q.recvs.Shared {
		q.engine.cfg.Tell(verbs.EventLastWQE, q)
		return
	}
	for f := q.recvs.Front(); f != nil; f = q.recvs.Front() {
		id := f.ID
		q.recvs.Pop()
		q.recvCQ.Push(verbs.WC{ID: id, Status: verbs.StatusFlushed, QPN: q.number}, true)
	}
}
