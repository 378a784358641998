package verbstest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"

	"heddle/ib"
	"heddle/verbs"
)

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
