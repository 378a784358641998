package engine

import (
	"math"

	"heddle/verbs"
)

// stop has a request fail once all before it are done.
func (q *QP) stop(number uint64, s verbs.Status) {
	if number < q.halt {
		q.halt, q.status = number, s
	}
	q.retire()
}

// settle completes what is done, and sends what that makes room for.
func (q *QP) settle() {
	q.retire()
	q.Pump()
	if q.state != verbs.SQD {
		q.drained = false
	} else if !q.drained && q.done == q.begun {
		q.drained = true
		q.engine.cfg.Tell(verbs.EventSQDrained, q)
	}
}

// retire completes requests in order.
func (q *QP) retire() {
	for q.done < q.begun && q.done < q.halt {
		f := q.flight(q.done)
		if q.unacked < f.first+uint64(f.packets) {
			return
		}
		number := q.done
		q.done++
		q.complete(number, verbs.StatusOK)
		if q.state == verbs.Err { // its completion was one too many
			return
		}
	}
	if q.done == q.halt {
		q.failed(q.status)
	}
}

// complete makes a request's completion where one is wanted. The requests before
// it that made none keep their places until now, as a device learns by a
// completion that they are free.
func (q *QP) complete(number uint64, s verbs.Status) {
	wr := q.sends.At(number)
	if !q.Attr.SigAll && wr.Flags&verbs.Signaled == 0 && s == verbs.StatusOK {
		return
	}
	wc := verbs.WC{ID: wr.ID, Status: s, QPN: q.number}
	if s == verbs.StatusOK {
		wc.Op, wc.ByteLen = wr.Op, uint32(q.flight(number).length)
	}
	for q.sends.First() <= number {
		q.sends.Pop()
	}
	q.sendCQ.Push(wc, true)
}

// failed is the oldest request that is not done failing, and with it the QP, or
// of the unreliable services its send queue.
func (q *QP) failed(s verbs.Status) {
	q.halt = math.MaxUint64
	if q.done == q.sends.Next() {
		q.fail()
		return
	}
	number := q.done
	q.done++
	if q.Attr.Type != verbs.RC {
		q.state = verbs.SQE
		q.complete(number, s)
		q.flushSends()
		return
	}
	q.complete(number, s)
	q.fail()
}

// flushSends completes all that was not done.
func (q *QP) flushSends() {
	for q.sends.First() < q.done {
		q.sends.Pop()
	}
	for q.done < q.sends.Next() {
		number := q.done
		q.done++
		q.complete(number, verbs.StatusFlushed)
	}
	q.begun, q.at, q.sent, q.halt = q.done, q.done, 0, math.MaxUint64
	q.unacked, q.highest, q.resting = q.next, q.next, false
	q.asks.first = q.asks.next
}
