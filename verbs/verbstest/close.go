package verbstest

import (
	"context"
	"fmt"

	"heddle/verbs"
)

// closing order: what others were made of is busy until those are closed, and
// Close may be called again.
func closeBusy(e *env) {
	pd := e.near.newPD()
	sends, recvs := e.near.cq(8), e.near.cq(8)
	mr := e.near.regionOf(pd, 4096, everything)
	qp, err := pd.CreateQP(verbs.QPAttr{Type: verbs.RC, SendCQ: sends.CQ, RecvCQ: recvs.CQ})
	e.must("QP", err)
	e.closing(rankQP, "QP", qp.Close)
	e.wants("close a context with a PD", e.near.dev.Close(), verbs.ErrBusy)
	e.wants("close a PD with an MR and a QP", pd.Close(), verbs.ErrBusy)
	e.wants("close the CQ of the sends of a QP", sends.Close(), verbs.ErrBusy)
	e.wants("close the CQ of the receives of a QP", recvs.Close(), verbs.ErrBusy)
	for range 2 {
		e.must("close QP", qp.Close())
	}
	e.wants("close a PD with an MR", pd.Close(), verbs.ErrBusy)
	for range 2 {
		e.must("close MR", mr.Close())
		e.must("close PD", pd.Close())
		e.must("close CQ", sends.Close())
		e.must("close CQ", recvs.Close())
	}
}

func closeBusySRQ(e *env) {
	pd := e.near.newPD()
	c := e.near.cq(8)
	q, err := pd.CreateSRQ(verbs.SRQAttr{})
	e.must("SRQ", err)
	e.closing(rankSRQ, "SRQ", q.Close)
	qp, err := pd.CreateQP(verbs.QPAttr{Type: verbs.RC, SendCQ: c.CQ, RecvCQ: c.CQ, SRQ: q})
	e.must("QP", err)
	e.closing(rankQP, "QP", qp.Close)
	e.wants("close the SRQ of a QP", q.Close(), verbs.ErrBusy)
	e.must("close QP", qp.Close())
	e.wants("close a PD with an SRQ", pd.Close(), verbs.ErrBusy)
	for range 2 {
		e.must("close SRQ", q.Close())
		e.must("close PD", pd.Close())
	}
	e.wants("receive posted to a closed SRQ", q.PostRecv(&verbs.RecvWR{}), verbs.ErrClosed)
}

// afterClose has calls on closed objects fail.
func afterClose(e *env) {
	a, b := e.pair(verbs.RC)
	r := e.rig(a, b, 64)
	wr := r.request(e.oneSided(), 8)
	e.must("close QP", a.qp.Close())
	e.wants("post", a.qp.PostSend(&wr), verbs.ErrClosed)
	e.wants("post receive", a.qp.PostRecv(&verbs.RecvWR{}), verbs.ErrClosed)
	e.wants("modify", a.qp.Modify(verbs.Err), verbs.ErrClosed)
	e.wants("connect", a.qp.Connect(e.ctx, b.qp.Endpoint()), verbs.ErrClosed)
	_, err := a.qp.State()
	e.wants("state", err, verbs.ErrClosed)
	pd := e.near.newPD()
	e.must("close PD", pd.Close())
	_, err = pd.CreateQP(verbs.QPAttr{Type: verbs.RC, SendCQ: a.sends.CQ, RecvCQ: a.sends.CQ})
	e.wants("create a QP", err, verbs.ErrClosed)
}

// contextEnds has the waits of a context end with their own context, and when it
// is closed.
func contextEnds(e *env) {
	dev := e.near.dev
	_, err := dev.Event(canceled())
	e.wants("Event", err, context.Canceled)
	e.wants("Await", dev.Await(canceled(), func() bool { return false }), context.Canceled)
	e.must("Await of what is so", dev.Await(e.ctx, func() bool { return true }))
	ctx, cancel := e.moment()
	defer cancel()
	e.wants("Await past a deadline", dev.Await(ctx, func() bool { return false }), context.DeadlineExceeded)
	e.must("close PD", e.near.pd.Close())
	e.ends("Event", func() error { _, err := dev.Event(e.ctx); return err }, dev.Close)
	_, err = dev.Event(e.ctx)
	e.wants("Event of a closed context", err, verbs.ErrClosed)
	e.wants("Await of a closed context", dev.Await(e.ctx, func() bool { return false }), verbs.ErrClosed)
	_, err = dev.AllocPD()
	e.wants("PD of a closed context", err, verbs.ErrClosed)
}

func awaitEnds(e *env) {
	dev := e.near.dev
	e.must("close PD", e.near.pd.Close())
	e.ends("Await", func() error { return dev.Await(e.ctx, func() bool { return false }) }, dev.Close)
}

// inFlight closes QPs with work under way, at both ends, and gives their memory
// back; another pair is unharmed.
func inFlight(e *env) {
	c, d := e.pair(verbs.RC)
	size := min(e.longest(), 64<<10)
	for round := range max(e.suite.Rounds/10, 4) {
		a, b := e.pair(verbs.RC)
		ma, mb := a.memory(size), b.memory(size)
		for id := range uint64(16) {
			a.post(verbs.SendWR{ID: id, Op: e.oneSided(), Flags: verbs.Signaled, SGEs: []verbs.SGE{ma.SGE(0, size)}, RemoteAddr: mb.addr(0), RKey: mb.RKey()})
			a.recv(id, ma.SGE(0, 8))
		}
		first, second := a, b
		if round%2 == 1 {
			first, second = b, a
		}
		e.must("close the first QP", first.qp.Close())
		e.must("close the second QP", second.qp.Close())
		for _, r := range []*region{ma, mb} {
			e.must("close MR", r.Close())
			e.must("close memory", r.Memory().Close())
		}
		e.works(c, d)
	}
}

// closedMRInFlight takes an MR away from under requests: each completes, well or
// with an error, and nobody is harmed.
func closedMRInFlight(e *env) {
	c, d := e.pair(verbs.RC)
	size := min(e.longest(), 64<<10)
	for range max(e.suite.Rounds/10, 4) {
		a, b := e.pair(verbs.RC)
		ma, mb := a.memory(size), b.memory(size)
		const many = 16
		for id := range uint64(many) {
			a.post(verbs.SendWR{ID: id, Op: e.oneSided(), Flags: verbs.Signaled, SGEs: []verbs.SGE{ma.SGE(0, size)}, RemoteAddr: mb.addr(0), RKey: mb.RKey()})
		}
		e.must("close MR", mb.Close())
		ordered, seen := e.near.caps.DeliveryOrder.Holds, verbs.StatusOK
		for id := range uint64(many) {
			wc := a.sends.next()
			allowed := wc.Status == verbs.StatusOK && seen == verbs.StatusOK ||
				wc.Status == verbs.StatusRemoteAccess && seen == verbs.StatusOK ||
				wc.Status == verbs.StatusRetryExceeded && seen == verbs.StatusOK && (!ordered || e.suite.Lossy) || // the peer fell silent for a later one
				wc.Status == verbs.StatusFlushed && seen != verbs.StatusOK
			if wc.ID != id || !allowed {
				e.Fatalf("completion %d: %v after %v, want number %d", wc.ID, wc.Status, seen, id)
			}
			seen = wc.Status
		}
		e.works(c, d)
	}
}

// manyObjects opens and closes many, whose numbers and keys differ while they
// live.
func manyObjects(e *env) {
	for range 3 {
		c := e.near.cq(64)
		numbers, keys := map[any]bool{}, map[uint32]bool{}
		var list []func() error
		for range 32 {
			qp, err := e.near.pd.CreateQP(verbs.QPAttr{Type: verbs.RC, SendCQ: c.CQ, RecvCQ: c.CQ, SendWR: 4, RecvWR: 4})
			e.must("QP", err)
			r := e.near.memory(4096)
			if numbers[qp.QPN()] || keys[r.RKey()] {
				e.Errorf("QP %d or the key %#x is there twice", qp.QPN(), r.RKey())
			}
			numbers[qp.QPN()], keys[r.RKey()] = true, true
			list = append(list, qp.Close, r.Close)
		}
		for i, f := range list {
			e.must(fmt.Sprintf("close number %d", i), f())
		}
		e.must("close CQ", c.Close())
	}
}
