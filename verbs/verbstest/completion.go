package verbstest

import "heddle/verbs"

// eachOnce has signalled requests complete once each, in order, however Poll
// takes their completions.
func eachOnce(e *env) {
	a, b := e.pair(verbs.RC)
	r := e.rig(a, b, 1024)
	op := e.oneSided()
	depth := min(a.qp.Attr().SendWR, 64)
	posted, polled := uint64(0), uint64(0)
	for polled < uint64(4*e.suite.Rounds) {
		for posted < polled+uint64(depth) {
			wr := r.request(op, 1+e.rand.IntN(1024))
			wr.ID, wr.Flags = posted, verbs.Signaled
			a.post(wr)
			posted++
		}
		wcs := make([]verbs.WC, 1+e.rand.IntN(7))
		n, err := verbs.Await(e.ctx, a.sends.CQ, wcs)
		e.must("poll", err)
		for _, wc := range wcs[:n] {
			if wc.ID != polled || wc.Status != verbs.StatusOK || wc.Op != op || wc.QPN != a.qp.QPN() {
				e.Fatalf("completion %+v, want number %d, %v of QP %d", wc, polled, op, a.qp.QPN())
			}
			polled++
		}
	}
	for ; polled < posted; polled++ {
		a.sends.ok(polled, op)
	}
	a.sends.none("after each request completed")
}

// mixed posts requests of different operations, whose completions come in order
// all the same.
func mixed(e *env) {
	a, b := e.pair(verbs.RC)
	r := e.rig(a, b, 4096)
	var ops []verbs.Op
	for op := verbs.OpWrite; op <= verbs.OpCompareSwap; op++ {
		if e.near.caps.Can(verbs.RC, op) && op != verbs.OpWriteImm {
			ops = append(ops, op)
		}
	}
	const many = 32
	for range max(e.suite.Rounds/10, 4) {
		var posted []verbs.Op
		for i := range many {
			op, n := ops[e.rand.IntN(len(ops))], 8
			if !op.Atomic() {
				n = e.rand.IntN(min(e.longest(), 4096))
			}
			wr := r.request(op, n)
			wr.ID, wr.Flags = uint64(i), verbs.Signaled
			a.post(wr)
			posted = append(posted, op)
		}
		for i, op := range posted {
			a.sends.ok(uint64(i), op)
		}
	}
}

func unsignaled(e *env) {
	a, b := e.pair(verbs.RC)
	r := e.rig(a, b, 64)
	op := e.oneSided()
	for id := range uint64(20) {
		wr := r.request(op, 8)
		wr.ID = id
		if id%5 == 4 {
			wr.Flags = verbs.Signaled
		}
		a.post(wr)
	}
	for _, id := range []uint64{4, 9, 14, 19} {
		a.sends.ok(id, op)
	}
	a.sends.none("of requests without Signaled")
}

func sigAll(e *env) {
	a, b := e.pair(verbs.RC, func(q *verbs.QPAttr) { q.SigAll = true })
	r := e.rig(a, b, 64)
	op := e.oneSided()
	for id := range uint64(5) {
		wr := r.request(op, 8)
		wr.ID = id
		if id%2 == 0 {
			wr.Flags = verbs.Signaled
		}
		a.post(wr)
	}
	for id := range uint64(5) {
		a.sends.ok(id, op)
	}
	a.sends.none("after one each")
}

// unsignaledFails has a request that fails complete, though it is not signalled.
func unsignaledFails(e *env) {
	a, b := e.pair(verbs.RC)
	r := e.rig(a, b, 64)
	wr := r.request(e.oneSided(), 8)
	wr.ID, wr.RKey = 7, ^wr.RKey
	a.post(wr)
	a.sends.fails(7, verbs.StatusRemoteAccess)
	a.is(verbs.Err)
}

// flush is case V2: of a QP that goes into error, each request completes once
// and in order: what was done, what failed, and the rest as flushed.
func flush(e *env) {
	a, b := e.pair(verbs.RC)
	r := e.rig(a, b, 64)
	op := e.oneSided()
	for id := range uint64(6) {
		a.recv(id, r.ma.SGE(0, 8))
	}
	wrs := make([]verbs.SendWR, 12)
	for i := range wrs {
		wrs[i] = r.request(op, 8)
		wrs[i].ID = uint64(i)
		if i < 3 || i%2 == 1 {
			wrs[i].Flags = verbs.Signaled
		}
	}
	wrs[3].RKey = ^wrs[3].RKey
	first := 0
	if !e.near.caps.DeliveryOrder.Holds {
		first = 3 // the peer may see the bad one before those, and then none of them
	}
	e.posts(a, wrs[:first])
	for id := range uint64(first) {
		a.sends.ok(id, op)
	}
	e.posts(a, wrs[first:])
	for id := uint64(first); id < 3; id++ {
		a.sends.ok(id, op)
	}
	a.sends.fails(3, verbs.StatusRemoteAccess)
	for id := uint64(4); id < uint64(len(wrs)); id++ {
		a.sends.fails(id, verbs.StatusFlushed)
	}
	for id := range uint64(6) {
		a.recvs.fails(id, verbs.StatusFlushed)
	}
	a.is(verbs.Err)
	a.sends.none("after the flush")
	a.recvs.none("after the flush")
}

// posts posts a list, which has to work.
func (e *env) posts(q *end, wrs []verbs.SendWR) {
	e.Helper()
	if n, err := q.qp.PostSends(wrs); n != len(wrs) || err != nil {
		e.Fatalf("%d posted of %d: %v", n, len(wrs), err)
	}
}

// flushByModify flushes a QP that its own program takes into error.
func flushByModify(e *env) {
	a, b := e.pair(verbs.RC)
	r := e.rig(a, b, 64)
	for id := range uint64(8) {
		a.recv(id, r.ma.SGE(0, 8))
	}
	e.must("to error", a.qp.Modify(verbs.Err))
	a.is(verbs.Err)
	for id := range uint64(8) {
		wc := a.recvs.fails(id, verbs.StatusFlushed)
		if wc.QPN != a.qp.QPN() {
			e.Errorf("a flushed receive is of QP %d, want %d", wc.QPN, a.qp.QPN())
		}
	}
	a.recvs.none("after the flush")
}

// postInError is case V2: what is posted to a QP in error completes as flushed.
func postInError(e *env) {
	a, b := e.pair(verbs.RC)
	r := e.rig(a, b, 64)
	before := r.mb.load(0, 2*guard+64)
	e.must("to error", a.qp.Modify(verbs.Err))
	for id := range uint64(3) {
		wr := r.request(e.oneSided(), 8)
		wr.ID = id
		a.post(wr)
		a.recv(10+id, r.ma.SGE(0, 8))
	}
	for id := range uint64(3) {
		a.sends.fails(id, verbs.StatusFlushed)
		a.recvs.fails(10+id, verbs.StatusFlushed)
	}
	if !r.mb.equal(0, before) {
		e.Error("a flushed request was done")
	}
}
