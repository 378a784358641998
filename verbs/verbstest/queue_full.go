package verbstest

import (
	"errors"

	"heddle/verbs"
)

// badInList is case V3: the first request that is bad is named, and what is
// before it is done, what is after it not.
func badInList(e *env) {
	a, b := e.pair(verbs.RC)
	r := e.rig(a, b, 64)
	op := e.oneSided()
	sges := a.qp.Attr().SendSGE
	for bad := range 4 {
		wrs := make([]verbs.SendWR, 4)
		for i := range wrs {
			wrs[i] = r.request(op, 8)
			wrs[i].ID, wrs[i].Flags = uint64(i), verbs.Signaled
		}
		wrs[bad].SGEs = make([]verbs.SGE, sges+1)
		if bad < 3 {
			wrs[3].SGEs = make([]verbs.SGE, sges+1)
		}
		n, err := a.qp.PostSends(wrs)
		if n != bad || !errors.Is(err, verbs.ErrTooManySGEs) {
			e.Fatalf("number %d is bad: %d posted, %v", bad, n, err)
		}
		for id := range uint64(bad) {
			a.sends.ok(id, op)
		}
		a.sends.none("of what was not posted")
	}
	e.badReceive(a, r)
}

func (e *env) badReceive(a *end, r *rig) {
	e.Helper()
	long := make([]verbs.SGE, a.qp.Attr().RecvSGE+1)
	wrs := []verbs.RecvWR{{ID: 1, SGEs: []verbs.SGE{r.ma.SGE(0, 8)}}, {ID: 2, SGEs: long}, {ID: 3}}
	if n, err := a.qp.PostRecvs(wrs); n != 1 || !errors.Is(err, verbs.ErrTooManySGEs) {
		e.Fatalf("receive number 1 is bad: %d posted, %v", n, err)
	}
	e.must("to error", a.qp.Modify(verbs.Err))
	a.recvs.fails(1, verbs.StatusFlushed)
	a.recvs.none("of what was not posted")
}

// queueFull fills a receive queue, and a send queue whose completions nobody
// polls.
func queueFull(e *env) {
	a, b := e.pair(verbs.RC)
	r := e.rig(a, b, 64)
	attr := a.qp.Attr()
	for id := range attr.RecvWR {
		a.recv(uint64(id), r.ma.SGE(0, 8))
	}
	e.wants("one receive more", a.qp.PostRecv(&verbs.RecvWR{}), verbs.ErrQueueFull)
	e.must("to error", a.qp.Modify(verbs.Err))
	for id := range attr.RecvWR {
		a.recvs.fails(uint64(id), verbs.StatusFlushed)
	}
	a.recv(0)
	a.recvs.fails(0, verbs.StatusFlushed)
}

// sendQueueFull has sends that the peer has no buffers for fill the send queue.
func sendQueueFull(e *env) {
	a, b := e.pair(verbs.RC)
	r := e.rig(a, b, 64)
	attr := a.qp.Attr()
	wr := r.request(verbs.OpSend, 8)
	for id := range attr.SendWR {
		wr.ID = uint64(id)
		a.post(wr)
	}
	e.wants("one request more", a.qp.PostSend(&wr), verbs.ErrQueueFull)
	e.must("to error", a.qp.Modify(verbs.Err))
	for id := range attr.SendWR {
		a.sends.fails(uint64(id), verbs.StatusFlushed)
	}
}
