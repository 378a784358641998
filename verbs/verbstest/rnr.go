package verbstest

import (
	"time"

	"heddle/verbs"
)

// lateReceive is case V1: a message waits for its buffer, however long.
func lateReceive(e *env) {
	a, b := e.pair(verbs.RC, func(q *verbs.QPAttr) { q.RNRTimer, q.RNRRetries = 10*time.Microsecond, verbs.Forever })
	r := e.rig(a, b, 64)
	r.sequence = 3
	data := e.noise(64)
	r.ma.store(guard, data)
	wr := r.request(verbs.OpSend, 64)
	wr.Flags = verbs.Signaled
	a.post(wr)
	a.sends.none("of a message without a buffer") // hundreds of times the RNR timer
	b.recv(3, r.mb.SGE(guard, 64))
	a.sends.ok(3, verbs.OpSend)
	r.arrived(&wr, 64)
	if !r.mb.equal(guard, data) {
		e.Error("the message came with other bytes")
	}
	r.transfer(verbs.OpSend, 64)
}

// behindLate has what is posted behind a message that waits for a buffer wait as
// well, where messages come in order.
func behindLate(e *env) {
	a, b := e.pair(verbs.RC, func(q *verbs.QPAttr) { q.RNRTimer = 10 * time.Microsecond })
	r := e.rig(a, b, 64)
	for id := range uint64(8) {
		wr := r.request(verbs.OpSend, 8)
		r.ma.setWord(guard+8*int(id), id)
		wr.ID, wr.Flags, wr.SGEs = id, verbs.Signaled, []verbs.SGE{r.ma.SGE(guard+8*int(id), 8)}
		a.post(wr)
	}
	for id := range uint64(8) {
		b.recv(id, r.mb.SGE(guard, 8))
		a.sends.ok(id, verbs.OpSend)
		b.recvs.ok(id, verbs.OpRecv)
		if got := r.mb.word(guard); got != id {
			e.Fatalf("message %d came in place of %d", got, id)
		}
	}
}

// noReceive is case V1: after its number of retries a message fails, and the QP
// with it.
func noReceive(op verbs.Op) func(*env) {
	return func(e *env) {
		for _, retries := range []int{0, 1, 6} {
			a := e.near.qp(verbs.RC, func(q *verbs.QPAttr) { q.RNRRetries = verbs.Times(retries) })
			b := e.far.qp(verbs.RC, func(q *verbs.QPAttr) { q.RNRTimer = 10 * time.Microsecond })
			e.connect(a, b)
			r := e.rig(a, b, 64)
			before := r.mb.load(0, 64+2*guard)
			for id := range uint64(3) {
				wr := r.request(op, 8)
				wr.ID = id
				a.post(wr)
			}
			a.sends.fails(0, verbs.StatusRNRRetryExceeded)
			a.sends.fails(1, verbs.StatusFlushed)
			a.sends.fails(2, verbs.StatusFlushed)
			a.is(verbs.Err)
			if op == verbs.OpSend && !r.mb.equal(0, before) {
				e.Error("memory was changed")
			}
		}
	}
}

// goneQP has requests to a QP that is closed fail after the retries, of which the
// default is not for ever.
func goneQP(e *env) {
	c, d := e.pair(verbs.RC)
	a, b := e.pair(verbs.RC, func(q *verbs.QPAttr) { q.Timeout = time.Millisecond })
	r := e.rig(a, b, 64)
	e.must("close the peer's QP", b.qp.Close())
	wr := r.request(e.oneSided(), 8)
	wr.ID = 6
	a.post(wr)
	a.sends.fails(6, verbs.StatusRetryExceeded, verbs.StatusRemoteAborted, verbs.StatusRemoteOperation)
	a.is(verbs.Err)
	e.works(c, d)
}

// errorPeer has requests to a QP in error fail too: it answers nothing.
func errorPeer(e *env) {
	a, b := e.pair(verbs.RC, func(q *verbs.QPAttr) { q.Timeout, q.Retries = time.Millisecond, verbs.Times(1) })
	r := e.rig(a, b, 64)
	before := r.mb.load(0, 64+2*guard)
	e.must("to error", b.qp.Modify(verbs.Err))
	wr := r.request(e.oneSided(), 8)
	wr.ID = 6
	a.post(wr)
	a.sends.fails(6, verbs.StatusRetryExceeded, verbs.StatusRemoteAborted, verbs.StatusRemoteOperation)
	a.is(verbs.Err)
	if !r.mb.equal(0, before) {
		e.Error("a QP in error let its memory be changed")
	}
}
