package verbstest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"heddle/ib"
	"heddle/verbs"
)

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

// noAllocs posts and polls through the interface, as programs do. The first round
// is for what a device keeps.
func noAllocs(e *env) {
	a, b := e.pair(verbs.RC)
	r := e.rig(a, b, 64)
	wr := r.request(e.oneSided(), 8)
	wr.Flags = verbs.Signaled
	p := poster{e: e, qp: a.qp, cq: a.sends.CQ, wr: &wr, list: []verbs.SendWR{wr, wr}, wcs: make([]verbs.WC, 4)}
	for range 2 * freeRuns {
		p.post()
	}
	p.pollAll(func(poll func()) { poll() })
	e.settled(a, r)
	e.free("posting", p.post)
	p.pollAll(func(poll func()) { e.free("polling", poll) })
	buffer := verbs.RecvWR{SGEs: []verbs.SGE{r.ma.SGE(0, 8)}}
	e.free("posting receives", func() { p.failed(a.qp.PostRecv(&buffer)) })
	e.must("post and poll", p.err)
}

// poster posts requests and polls their completions.
type poster struct {
	e    *env
	qp   verbs.QP
	cq   verbs.CQ
	wr   *verbs.SendWR
	list []verbs.SendWR
	wcs  []verbs.WC
	left int
	err  error
}

func (p *poster) failed(err error) {
	if err != nil {
		p.err = err
	}
}

func (p *poster) post() {
	p.failed(p.qp.PostSend(p.wr))
	n, err := p.qp.PostSends(p.list)
	p.failed(err)
	p.left += 1 + n
}

func (p *poster) poll() {
	n, err := p.cq.Poll(p.wcs)
	p.failed(err)
	p.left -= n
}

// pollAll polls until all is done; do does a poll.
func (p *poster) pollAll(do func(poll func())) {
	for p.left > 0 && p.err == nil {
		n, err := verbs.Await(p.e.ctx, p.cq, p.wcs)
		p.failed(err)
		p.left -= n
		do(p.poll)
	}
}

// freeRuns is how often free does something: the second half is measured.
const freeRuns = 8

// free does something that may not allocate.
func (e *env) free(what string, f func()) {
	e.Helper()
	n := testing.AllocsPerRun(1, func() {
		for range freeRuns / 2 {
			f()
		}
	})
	if n > 0 {
		e.Errorf("%s allocates: %v times in %d calls", what, n, freeRuns/2)
	}
}

// together does several things at once, until all are done or one fails.
func (e *env) together(what string, list ...func(context.Context) error) {
	e.Helper()
	ctx, cancel := context.WithCancelCause(e.ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	for _, f := range list {
		wg.Go(func() {
			if err := f(ctx); err != nil {
				cancel(err)
			}
		})
	}
	wg.Wait()
	e.must(what, context.Cause(ctx))
}

// ordinaryTraffic is what a program does most: two goroutines at each end, one of
// which posts and polls the send queue, the other the receive queue.
func ordinaryTraffic(e *env) {
	a, b := e.pair(verbs.RC)
	many := uint64(8 * e.suite.Rounds)
	var list []func(context.Context) error
	for _, q := range []*end{a, b} {
		from, to := q.memory(4096), q.memory(4096)
		for i := range 32 {
			q.recv(uint64(i), to.SGE(64*i, 64))
		}
		list = append(list,
			func(ctx context.Context) error { return q.sendAll(ctx, from, many) },
			func(ctx context.Context) error { return q.receiveAll(ctx, to, many) })
	}
	e.together("traffic", list...)
}

func (q *end) sendAll(ctx context.Context, from *region, many uint64) error {
	random := rand.New(rand.NewPCG(q.e.suite.Seed, many))
	wcs, under := make([]verbs.WC, 8), 0
	for i := range many {
		for under >= 8 || i == many-1 && under > 0 {
			n, err := verbs.Await(ctx, q.sends.CQ, wcs)
			if err = errors.Join(err, firstError(wcs[:n])); err != nil {
				return err
			}
			under -= n
		}
		slot := int(i%32) * 64
		from.setWord(slot, i)
		wr := verbs.SendWR{ID: i, Op: verbs.OpSend, Flags: verbs.Signaled, SGEs: []verbs.SGE{from.SGE(slot, 8+random.IntN(56))}}
		if err := q.qp.PostSend(&wr); err != nil {
			return err
		}
		under++
	}
	return nil
}

func (q *end) receiveAll(ctx context.Context, to *region, many uint64) error {
	wcs := make([]verbs.WC, 8)
	seen := make([]bool, many)
	for got := uint64(0); got < many; {
		n, err := verbs.Await(ctx, q.recvs.CQ, wcs)
		if err = errors.Join(err, firstError(wcs[:n])); err != nil {
			return err
		}
		for _, wc := range wcs[:n] {
			slot := int(wc.ID) * 64
			v := to.word(slot)
			if v >= many || seen[v] {
				return errors.New("a message came twice, or is not one")
			}
			seen[v] = true
			got++
			if err := q.qp.PostRecv(&verbs.RecvWR{ID: wc.ID, SGEs: []verbs.SGE{to.SGE(slot, 64)}}); err != nil {
				return err
			}
		}
	}
	return nil
}

func firstError(wcs []verbs.WC) error {
	for i := range wcs {
		if err := wcs[i].Err(); err != nil {
			return err
		}
	}
	return nil
}

// sharedCQ has several goroutines post to QPs of one CQ, which another one polls,
// while they ask for their states.
func sharedCQ(e *env) {
	c := e.near.cq(512)
	const qps, each = 4, 50
	var list []func(context.Context) error
	numbers := map[uint64]ib.QPN{}
	for i := range uint64(qps) {
		a := e.near.qp(verbs.RC, shared(c))
		b := e.far.qp(verbs.RC)
		e.connect(a, b)
		r := e.rig(a, b, 64)
		numbers[i] = a.qp.QPN()
		wr := r.request(e.oneSided(), 8)
		wr.ID, wr.Flags = i, verbs.Signaled
		list = append(list, func(ctx context.Context) error { return a.postMany(ctx, wr, each) })
	}
	count := map[uint64]int{}
	e.together("several QPs of one CQ", append(list, func(ctx context.Context) error {
		wcs := make([]verbs.WC, 8)
		for left := qps * each; left > 0; {
			n, err := verbs.Await(ctx, c.CQ, wcs)
			if err = errors.Join(err, firstError(wcs[:n])); err != nil {
				return err
			}
			for _, wc := range wcs[:n] {
				if wc.QPN != numbers[wc.ID] {
					return fmt.Errorf("completion %d of QP %d, want %d", wc.ID, wc.QPN, numbers[wc.ID])
				}
				count[wc.ID]++
			}
			left -= n
		}
		return nil
	})...)
	for id, n := range count {
		if n != each {
			e.Errorf("%d completions of QP number %d, want %d", n, id, each)
		}
	}
}

// postMany posts a request as often as that, as fast as there is room.
func (q *end) postMany(ctx context.Context, wr verbs.SendWR, many int) error {
	for range many {
		for {
			err := q.qp.PostSend(&wr)
			if err == nil {
				break
			}
			if !errors.Is(err, verbs.ErrQueueFull) || ctx.Err() != nil {
				return err
			}
			runtime.Gosched()
		}
		if _, err := q.qp.State(); err != nil {
			return err
		}
	}
	return nil
}
