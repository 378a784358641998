package verbstest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"heddle/ib"
	"heddle/verbs"
)

// side is one of the two devices.
type side struct {
	e    *env
	name string
	dev  verbs.Context
	pd   verbs.PD
	caps verbs.Caps
	attr verbs.DeviceAttr
}

// rank is the order in which a test closes what it opened.
type rank int

const (
	rankWindow rank = iota
	rankQP
	rankSRQ
	rankOther
	rankMR
	rankMemory
	rankPD
	rankContext
)

type closer struct {
	rank  rank
	what  string
	close func() error
}

func (e *env) closing(r rank, what string, end func() error) {
	e.closers = append(e.closers, closer{r, what, end})
}

// closeAll closes all, also what the test closed itself: Close is idempotent.
func (e *env) closeAll() {
	slices.Reverse(e.closers)
	slices.SortStableFunc(e.closers, func(a, b closer) int { return int(a.rank - b.rank) })
	for _, c := range e.closers {
		if err := c.close(); err != nil {
			e.Errorf("close %s: %v", c.what, err)
		}
	}
	e.closers = nil
}

func (e *env) side(dev verbs.Context, name string) *side {
	e.closing(rankContext, name+" context", dev.Close)
	s := &side{e: e, name: name, dev: dev, caps: dev.Caps(), attr: dev.Attr()}
	s.pd = s.newPD()
	return s
}

func (s *side) newPD() verbs.PD {
	s.e.Helper()
	pd, err := s.dev.AllocPD()
	s.e.must("PD", err)
	s.e.closing(rankPD, s.name+" PD", pd.Close)
	return pd
}

// must ends the test where a call that has to work did not.
func (e *env) must(what string, err error) {
	if err != nil {
		e.Helper()
		e.Fatalf("%s: %v", what, err)
	}
}

// wants reports an error that is not the one of the rule.
func (e *env) wants(what string, got, want error) {
	if !errors.Is(got, want) || want == nil && got != nil {
		e.Helper()
		e.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// moment is a context for what must not come.
func (e *env) moment() (context.Context, context.CancelFunc) {
	return context.WithTimeout(e.ctx, e.suite.Moment)
}

// cq is a CQ of a test, with the completions that it took of it.
type cq struct {
	verbs.CQ
	e    *env
	held []verbs.WC
}

func (s *side) cq(depth int) *cq {
	s.e.Helper()
	c, err := s.dev.CreateCQ(verbs.CQAttr{Depth: depth})
	s.e.must("CQ", err)
	s.e.closing(rankOther, s.name+" CQ", c.Close)
	return &cq{CQ: c, e: s.e}
}

// next waits for a completion.
func (c *cq) next() verbs.WC {
	c.e.Helper()
	if len(c.held) == 0 {
		wcs := make([]verbs.WC, 16)
		n, err := verbs.Await(c.e.ctx, c.CQ, wcs)
		c.e.must("waiting for a completion", err)
		c.held = wcs[:n]
	}
	wc := c.held[0]
	c.held = c.held[1:]
	return wc
}

// ok waits for a completion that has to be this one, and good.
func (c *cq) ok(id uint64, op verbs.Op) verbs.WC {
	c.e.Helper()
	wc := c.next()
	if wc.ID != id || wc.Status != verbs.StatusOK || wc.Op != op && wc.Op != plain(op) {
		c.e.Fatalf("completion %+v, want number %d of %v, success", wc, id, op)
	}
	return wc
}

// plain is an operation without its immediate, which a sender's completion need
// not tell of.
func plain(op verbs.Op) verbs.Op {
	switch op {
	case verbs.OpSendImm:
		return verbs.OpSend
	case verbs.OpWriteImm:
		return verbs.OpWrite
	default:
		return op
	}
}

// fails waits for a completion that has to be this one, with one of the results.
func (c *cq) fails(id uint64, want ...verbs.Status) verbs.WC {
	c.e.Helper()
	wc := c.next()
	if wc.ID != id || !c.e.allowed(wc.Status, want) {
		c.e.Fatalf("completion %d: %v, want number %d: %v", wc.ID, wc.Status, id, want)
	}
	return wc
}

// allowed tells whether a request may end so. Where packets get lost, that may be
// the peer's refusal, after which it is silent.
func (e *env) allowed(got verbs.Status, want []verbs.Status) bool {
	remote := func(s verbs.Status) bool {
		return s >= verbs.StatusRemoteInvalidRequest && s <= verbs.StatusRemoteOperation
	}
	return slices.Contains(want, got) || e.suite.Lossy && got == verbs.StatusRetryExceeded && slices.ContainsFunc(want, remote)
}

// none reports completions that nothing was posted for.
func (c *cq) none(when string) {
	c.e.Helper()
	ctx, cancel := c.e.moment()
	defer cancel()
	wcs := make([]verbs.WC, 4)
	if n, err := verbs.Await(ctx, c.CQ, wcs); n > 0 || len(c.held) > 0 || !errors.Is(err, context.DeadlineExceeded) {
		c.e.Errorf("%s: completions %+v %+v, error %v", when, c.held, wcs[:n], err)
	}
}

// end is one end of a connection, or a QP for datagrams.
type end struct {
	*side
	qp           verbs.QP
	sends, recvs *cq
}

type option func(*verbs.QPAttr)

// qp makes a QP in INIT. Where its options name no CQs, it has two of its own.
func (s *side) qp(service verbs.QPType, options ...option) *end {
	s.e.Helper()
	q := &end{side: s}
	attr := verbs.QPAttr{Type: service, SendWR: 64, RecvWR: 64, SendSGE: min(2, s.caps.MaxSGE), RecvSGE: min(2, s.caps.MaxSGE), QKey: qkey}
	for _, o := range options {
		o(&attr)
	}
	q.sends, q.recvs = s.queueOf(attr.SendCQ, &attr.SendCQ), s.queueOf(attr.RecvCQ, &attr.RecvCQ)
	qp, err := s.pd.CreateQP(attr)
	s.e.must("QP", err)
	s.e.closing(rankQP, s.name+" QP", qp.Close)
	q.qp = qp
	return q
}

// queueOf gives a QP a CQ where it has none.
func (s *side) queueOf(given verbs.CQ, into *verbs.CQ) *cq {
	if c, ok := given.(*cq); ok {
		*into = c.CQ
		return c
	}
	c := s.cq(256)
	*into = c.CQ
	return c
}

const qkey ib.QKey = 0x1234567

// shared has a QP use a CQ for both of its queues.
func shared(c *cq) option { return func(a *verbs.QPAttr) { a.SendCQ, a.RecvCQ = c, c } }

func sendCQ(c *cq) option { return func(a *verbs.QPAttr) { a.SendCQ = c } }

func srq(q verbs.SRQ) option { return func(a *verbs.QPAttr) { a.SRQ = q } }

// pair is two QPs that are connected.
func (e *env) pair(service verbs.QPType, options ...option) (a, b *end) {
	e.Helper()
	a, b = e.near.qp(service, options...), e.far.qp(service, options...)
	e.connect(a, b)
	return a, b
}

// connect has both ends connect at the same time: one may wait for the other.
func (e *env) connect(a, b *end) {
	e.Helper()
	var wg sync.WaitGroup
	errs := [2]error{}
	to := [2][]byte{b.qp.Endpoint(), a.qp.Endpoint()}
	for i, q := range []*end{a, b} {
		wg.Go(func() { errs[i] = q.qp.Connect(e.ctx, to[i]) })
	}
	wg.Wait()
	e.must("connect", errors.Join(errs[:]...))
}

// post posts a request, which has to work.
func (q *end) post(wr verbs.SendWR) {
	q.e.Helper()
	q.e.must(fmt.Sprintf("post %v", wr.Op), q.qp.PostSend(&wr))
}

// do posts a request and waits until it is done.
func (q *end) do(wr verbs.SendWR) {
	q.e.Helper()
	wr.Flags |= verbs.Signaled
	q.post(wr)
	q.sends.ok(wr.ID, wr.Op)
}

// recv posts a buffer, which has to work.
func (q *end) recv(id uint64, sges ...verbs.SGE) {
	q.e.Helper()
	q.e.must("post receive", q.qp.PostRecv(&verbs.RecvWR{ID: id, SGEs: sges}))
}

// is reports a QP that is in another state.
func (q *end) is(want verbs.QPState) {
	q.e.Helper()
	if got, err := q.qp.State(); got != want || err != nil {
		q.e.Errorf("%s QP is in %v (%v), want %v", q.name, got, err, want)
	}
}

// becomes waits until a QP is in a state that nothing tells of.
func (q *end) becomes(want verbs.QPState) {
	q.e.Helper()
	for {
		got, err := q.qp.State()
		q.e.must("state", err)
		if got == want {
			return
		}
		if q.e.ctx.Err() != nil {
			q.e.Fatalf("%s QP stays in %v, want %v", q.name, got, want)
		}
		runtime.Gosched()
	}
}

// event waits for an event of a type, passing over others.
func (s *side) event(want verbs.EventType) verbs.Event {
	s.e.Helper()
	for {
		ev, err := s.dev.Event(s.e.ctx)
		s.e.must(fmt.Sprintf("waiting for the event %v", want), err)
		if ev.Type == want {
			return ev
		}
	}
}

// works has a pair do something, to show that it is unharmed.
func (e *env) works(a, b *end) {
	e.Helper()
	r := e.rig(a, b, 64)
	r.transfer(e.oneSided(), 64)
}

// oneSided is an operation that the target's program has no part in, which each
// device has: WRITE, or else READ.
func (e *env) oneSided() verbs.Op {
	if e.near.caps.Can(verbs.RC, verbs.OpWrite) {
		return verbs.OpWrite
	}
	return verbs.OpRead
}
