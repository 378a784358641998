package verbstest

import (
	"context"
	"time"

	"heddle/verbs"
)

// waits sees whether a CQ makes an event.
func (e *env) waits(c *cq, want bool, when string) {
	e.Helper()
	if want {
		e.must("event "+when, c.Wait(e.ctx))
	} else if e.makes(c) {
		e.Errorf("event %s: want none", when)
	}
}

// arm has completions make events when they were asked for, and only then.
func arm(e *env) {
	a, b := e.pair(verbs.RC)
	r := e.rig(a, b, 64)
	wr := r.request(e.oneSided(), 8)
	wr.Flags = verbs.Signaled
	for range 3 {
		e.must("arm", a.sends.Arm(false))
		a.post(wr)
		e.waits(a.sends, true, "after Arm")
		a.sends.ok(0, wr.Op)
	}
	a.do(wr)
	a.post(wr)
	a.sends.ok(0, wr.Op)
	for range 3 { // whether all was done before Arm, nobody tells
		e.drainEvents(a.sends)
		a.post(wr)
		e.settled(a, r)
		e.must("arm", a.sends.Arm(false))
		made := e.makes(a.sends)
		a.sends.ok(0, wr.Op)
		if !made {
			return
		}
	}
	e.Error("what came before Arm makes an event")
}

// makes tells whether there is an event within a moment.
func (e *env) makes(c *cq) bool {
	e.Helper()
	ctx, cancel := e.moment()
	defer cancel()
	err := c.Wait(ctx)
	if err != nil {
		e.wants("waiting for no event", err, context.DeadlineExceeded)
	}
	return err == nil
}

// settled returns when what the QP has posted is done, without a look at its CQ:
// its memory tells, or its word is taken for it.
func (e *env) settled(a *end, r *rig) {
	if e.oneSided() == verbs.OpWrite {
		mark := ^r.mb.word(0)
		r.ma.setWord(0, mark)
		a.post(verbs.SendWR{Op: verbs.OpWrite, SGEs: []verbs.SGE{r.ma.SGE(0, 8)}, RemoteAddr: r.mb.addr(0), RKey: r.mb.RKey()})
		r.mb.awaitWord(0, mark)
	}
	ctx, cancel := e.moment()
	defer cancel()
	err := a.dev.Await(ctx, func() bool { return false })
	e.wants("Await for nothing", err, context.DeadlineExceeded)
}

// drainEvents takes the event that Await of package verbs may have asked for.
func (e *env) drainEvents(c *cq) {
	ctx, cancel := e.moment()
	defer cancel()
	for {
		if c.Wait(ctx) != nil {
			return
		}
	}
}

// solicited has a receiver that is armed for solicited messages be told of these
// only.
func solicited(e *env) {
	a, b := e.pair(verbs.RC)
	r := e.rig(a, b, 64)
	for i := range 4 {
		b.recv(uint64(i), r.mb.SGE(0, 64))
	}
	wr := r.request(verbs.OpSend, 8)
	e.must("arm", b.recvs.Arm(true))
	a.do(wr)
	e.waits(b.recvs, false, "of an unsolicited message")
	b.recvs.ok(0, verbs.OpRecv)
	e.drainEvents(b.recvs) // next() may have armed it for all
	e.must("arm", b.recvs.Arm(true))
	wr.Flags = verbs.Solicited
	a.do(wr)
	e.waits(b.recvs, true, "of a solicited message")
	b.recvs.ok(1, verbs.OpRecv)
	e.drainEvents(b.recvs)
	e.must("arm", b.recvs.Arm(true))
	e.must("to error", b.qp.Modify(verbs.Err))
	e.waits(b.recvs, true, "of an error")
	b.recvs.fails(2, verbs.StatusFlushed)
	b.recvs.fails(3, verbs.StatusFlushed)
}

// waitEnds has Wait end with its context, and with the CQ.
func waitEnds(e *env) {
	c := e.near.cq(4)
	e.must("arm", c.Arm(false))
	e.wants("Wait with a context that is done", c.Wait(canceled()), context.Canceled)
	ctx, cancel := e.moment()
	defer cancel()
	e.wants("Wait past a deadline", c.Wait(ctx), context.DeadlineExceeded)
	e.ends("Wait", func() error { return c.Wait(e.ctx) }, c.Close)
	e.wants("Arm of a closed CQ", c.Arm(false), verbs.ErrClosed)
	_, err := c.Poll(make([]verbs.WC, 1))
	e.wants("Poll of a closed CQ", err, verbs.ErrClosed)
}

// ends has a call that waits end when an object is closed.
func (e *env) ends(what string, wait, end func() error) {
	e.Helper()
	errs := make(chan error, 1)
	begun := make(chan struct{})
	go func() { begun <- struct{}{}; errs <- wait() }()
	<-begun
	e.must("close", end())
	select {
	case err := <-errs:
		e.wants(what+" of what was closed", err, verbs.ErrClosed)
	case <-time.After(e.suite.Patience):
		e.Errorf("%s does not end when its object is closed", what)
	}
}

// overrun is case V4: a CQ that gets one completion more than it holds goes into
// error with its QPs, and an event says so. Those that it holds can be polled.
func overrun(e *env) {
	c := e.near.cq(4)
	depth := c.Depth()
	if depth < 4 {
		e.Fatalf("a CQ of %d, asked for 4", depth)
	}
	a := e.near.qp(verbs.RC, sendCQ(c), func(q *verbs.QPAttr) { q.SendWR = max(q.SendWR, depth+1) })
	b := e.far.qp(verbs.RC)
	e.connect(a, b)
	other, another := e.pair(verbs.RC)
	r := e.rig(a, b, 64)
	for id := range uint64(depth + 1) {
		wr := r.request(e.oneSided(), 8)
		wr.ID, wr.Flags = id, verbs.Signaled
		a.post(wr)
	}
	if ev := e.near.event(verbs.EventCQ); ev.CQ != c.CQ {
		e.Errorf("the event is of the CQ %v", ev.CQ)
	}
	for id := range uint64(depth) {
		a.sends.ok(id, e.oneSided())
	}
	_, err := c.Poll(make([]verbs.WC, 1))
	e.wants("Poll after an overrun", err, verbs.ErrCQOverrun)
	a.becomes(verbs.Err)
	e.works(other, another)
}

// cqDepth has a CQ hold what it was asked to hold.
func cqDepth(e *env) {
	for _, depth := range []int{1, 3, 64} {
		c := e.near.cq(depth)
		if c.Depth() < depth {
			e.Errorf("a CQ of %d, asked for %d", c.Depth(), depth)
		}
	}
	c := e.near.cq(16)
	a := e.near.qp(verbs.RC, sendCQ(c))
	b := e.far.qp(verbs.RC)
	e.connect(a, b)
	r := e.rig(a, b, 64)
	for range 8 {
		for id := range uint64(16) {
			wr := r.request(e.oneSided(), 8)
			wr.ID, wr.Flags = id, verbs.Signaled
			a.post(wr)
		}
		for id := range uint64(16) {
			a.sends.ok(id, e.oneSided())
		}
	}
	_, err := e.near.dev.CreateCQ(verbs.CQAttr{})
	e.wants("a CQ of nothing", err, verbs.ErrInvalid)
	if most := e.near.attr.MaxCQE; most > 0 {
		_, err := e.near.dev.CreateCQ(verbs.CQAttr{Depth: most + 1})
		e.wants("a CQ beyond the limit", err, verbs.ErrInvalid)
	}
}

// pollPart has Poll take as many completions as fit, and no more.
func pollPart(e *env) {
	a, b := e.pair(verbs.RC)
	r := e.rig(a, b, 64)
	for id := range uint64(5) {
		wr := r.request(e.oneSided(), 8)
		wr.ID, wr.Flags = id, verbs.Signaled
		a.post(wr)
	}
	var got []uint64
	for len(got) < 5 {
		var one [2]verbs.WC
		one[1].ID = 99
		n, err := verbs.Await(e.ctx, a.sends.CQ, one[:1])
		e.must("poll", err)
		if n != 1 || one[1].ID != 99 {
			e.Fatalf("%d completions in room for one, beyond it %+v", n, one[1])
		}
		got = append(got, one[0].ID)
		if n, err := a.sends.CQ.Poll(nil); n != 0 || err != nil {
			e.Fatalf("Poll without room: %d, %v", n, err)
		}
	}
	for i, id := range got {
		if id != uint64(i) {
			e.Fatalf("completions %v", got)
		}
	}
}

func (s *side) srq(wr int) verbs.SRQ {
	s.e.Helper()
	q, err := s.pd.CreateSRQ(verbs.SRQAttr{WR: wr, SGE: 1})
	s.e.must("SRQ", err)
	s.e.closing(rankSRQ, s.name+" SRQ", q.Close)
	return q
}

// srqShared has the messages of several QPs take the buffers of one SRQ, each
// once, in the order in which they were posted.
func srqShared(e *env) {
	q := e.far.srq(64)
	to := e.far.memory(64 * 64)
	c := e.far.cq(256)
	var from []*end
	senders := map[*end]*region{}
	owner := map[uint64]verbs.QP{}
	for i := range 3 {
		a := e.near.qp(verbs.RC)
		b := e.far.qp(verbs.RC, shared(c), srq(q))
		e.connect(a, b)
		from, senders[a] = append(from, a), a.memory(64)
		owner[uint64(i)] = b.qp
	}
	for id := range uint64(48) {
		e.must("post receive", q.PostRecv(&verbs.RecvWR{ID: id, SGEs: []verbs.SGE{to.SGE(int(id)*64, 64)}}))
	}
	for round := range 16 {
		for i, a := range from {
			senders[a].setWord(0, uint64(i))
			senders[a].setWord(8, uint64(round))
			a.do(verbs.SendWR{Op: verbs.OpSend, SGEs: []verbs.SGE{senders[a].SGE(0, 16)}})
			wc := c.ok(uint64(3*round+i), verbs.OpRecv)
			if at := int(wc.ID) * 64; to.word(at) != uint64(i) || to.word(at+8) != uint64(round) || wc.QPN != owner[uint64(i)].QPN() {
				e.Fatalf("message of QP %d, round %d: from %d, round %d to QP %d", i, round, to.word(at), to.word(at+8), wc.QPN)
			}
		}
	}
	e.wants("receive posted to a QP with an SRQ", owner[0].PostRecv(&verbs.RecvWR{}), verbs.ErrInvalid)
}

// srqLimit asks for an event when few buffers are left, which comes once.
func srqLimit(e *env) {
	q := e.far.srq(16)
	a := e.near.qp(verbs.RC)
	b := e.far.qp(verbs.RC, srq(q))
	e.connect(a, b)
	r := e.rig(a, b, 64)
	for id := range uint64(4) {
		e.must("post receive", q.PostRecv(&verbs.RecvWR{ID: id, SGEs: []verbs.SGE{r.mb.SGE(0, 64)}}))
	}
	e.must("limit", q.Limit(3))
	a.do(r.request(verbs.OpSend, 8))
	e.noEvent(e.far, verbs.EventSRQLimit, "with 3 buffers left and a limit of 3")
	a.do(r.request(verbs.OpSend, 8))
	if ev := e.far.event(verbs.EventSRQLimit); ev.SRQ != q {
		e.Errorf("the event is of the SRQ %v", ev.SRQ)
	}
	a.do(r.request(verbs.OpSend, 8))
	e.noEvent(e.far, verbs.EventSRQLimit, "a second time")
}

// noEvent reports an event of a type.
func (e *env) noEvent(s *side, not verbs.EventType, when string) {
	e.Helper()
	ctx, cancel := e.moment()
	defer cancel()
	for {
		ev, err := s.dev.Event(ctx)
		if err != nil {
			e.wants("waiting for no event", err, context.DeadlineExceeded)
			return
		}
		if ev.Type == not {
			e.Errorf("event %v %s", ev.Type, when)
		}
	}
}

// srqEmpty has a message wait for a buffer of an SRQ.
func srqEmpty(e *env) {
	q := e.far.srq(4)
	a := e.near.qp(verbs.RC, func(at *verbs.QPAttr) { at.RNRRetries = verbs.Forever })
	b := e.far.qp(verbs.RC, srq(q), func(at *verbs.QPAttr) { at.RNRTimer = 10 * time.Microsecond })
	e.connect(a, b)
	r := e.rig(a, b, 64)
	wr := r.request(verbs.OpSend, 8)
	wr.Flags = verbs.Signaled
	a.post(wr)
	a.sends.none("of a message without a buffer")
	e.must("post receive", q.PostRecv(&verbs.RecvWR{ID: 5, SGEs: []verbs.SGE{r.mb.SGE(0, 64)}}))
	a.sends.ok(0, verbs.OpSend)
	b.recvs.ok(5, verbs.OpRecv)
}

// srqLastWQE has the buffers of an SRQ stay when a QP goes into error: an event
// says that it will take none any more.
func srqLastWQE(e *env) {
	q := e.far.srq(8)
	var ends [2]*end
	var peers [2]*end
	for i := range ends {
		peers[i], ends[i] = e.near.qp(verbs.RC), e.far.qp(verbs.RC, srq(q))
		e.connect(peers[i], ends[i])
	}
	r := e.rig(peers[1], ends[1], 64)
	for id := range uint64(2) {
		e.must("post receive", q.PostRecv(&verbs.RecvWR{ID: id, SGEs: []verbs.SGE{r.mb.SGE(0, 64)}}))
	}
	e.must("to error", ends[0].qp.Modify(verbs.Err))
	if ev := e.far.event(verbs.EventLastWQE); ev.QP != ends[0].qp {
		e.Errorf("the event is of the QP %v", ev.QP)
	}
	ends[0].recvs.none("of buffers that an SRQ keeps")
	for id := range uint64(2) {
		peers[1].do(r.request(verbs.OpSend, 8))
		ends[1].recvs.ok(id, verbs.OpRecv)
	}
}

// srqBounds are the limits of an SRQ.
func srqBounds(e *env) {
	_, err := e.near.pd.CreateSRQ(verbs.SRQAttr{WR: e.near.attr.MaxSRQWR + 1})
	e.wants("an SRQ beyond the limit", err, verbs.ErrInvalid)
	q := e.near.srq(4)
	list := make([]verbs.SGE, e.near.attr.MaxSGE+1)
	e.wants("receive with many SGEs", q.PostRecv(&verbs.RecvWR{SGEs: list}), verbs.ErrTooManySGEs)
	n, err := q.PostRecvs([]verbs.RecvWR{{}, {SGEs: list}, {}})
	if n != 1 {
		e.Errorf("%d receives posted, number 1 is bad", n)
	}
	e.wants("a list of receives", err, verbs.ErrTooManySGEs)
}
