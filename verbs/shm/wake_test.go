//go:build linux && (amd64 || arm64)

package shm

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"heddle/verbs"
)

// pause goes on after a moment, of the length after which waits begin to sleep.
func pause(random *rand.Rand) {
	if random.IntN(3) == 0 {
		return
	}
	long := time.Duration(random.Int64N(int64(2 * spinTime())))
	for start := time.Now(); time.Since(start) < long; {
		if random.IntN(64) == 0 {
			runtime.Gosched()
		}
	}
}

const wakeRounds = 400

// bareParty sleeps until it is woken.
func bareParty(t *testing.T) *party {
	p := newParty(t)
	Bare(p.opened)
	return p
}

func awaitOne(ctx context.Context, cq verbs.CQ) error {
	var wcs [1]verbs.WC
	if _, err := verbs.Await(ctx, cq, wcs[:]); err != nil {
		return err
	}
	if wcs[0].Status != verbs.StatusOK {
		return fmt.Errorf("completed with %v", wcs[0].Status)
	}
	return context.Cause(ctx) // the end of its time would have woken it
}

// TestWaitersOfOneContext: two CQs and a word of memory, each waited for by a
// goroutine of its own: each sleeps and is woken on its own account, whatever
// happens to the others at that moment.
func TestWaitersOfOneContext(t *testing.T) {
	a, b := bareParty(t), bareParty(t)
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	random := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0))
	woken := [3]chan error{make(chan error), make(chan error), make(chan error)}
	var senders [2]*pair
	for i := range senders {
		cq, err := b.CreateCQ(verbs.CQAttr{Depth: 16})
		if err != nil {
			t.Fatal(err)
		}
		qp, err := b.pd.CreateQP(verbs.QPAttr{Type: verbs.RC, SendCQ: cq, RecvCQ: cq, RecvWR: 8, SendWR: 8})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = errors.Join(qp.Close(), cq.Close()) })
		senders[i] = a.newPair(t, verbs.RC)
		joinPairs(t, senders[i], qp.(*pair))
		t.Cleanup(func() { _ = senders[i].Close() })
		Bare(a.opened, senders[i])
		go func() {
			for range wakeRounds {
				err := qp.PostRecv(&verbs.RecvWR{SGEs: []verbs.SGE{b.mr.SGE(0, 8)}})
				woken[i] <- errors.Join(err, awaitOne(ctx, cq))
			}
		}()
	}
	word := (*uint64)(unsafe.Pointer(&b.mem.Bytes()[4096]))
	go func() {
		for i := range uint64(wakeRounds) {
			err := b.Await(ctx, func() bool { return atomic.LoadUint64(word) > i })
			woken[2] <- errors.Join(err, context.Cause(ctx))
		}
	}()
	value := (*uint64)(unsafe.Pointer(&a.mem.Bytes()[64]))
	for i := range uint64(wakeRounds) {
		for _, which := range random.Perm(3) {
			pause(random)
			wr := &verbs.SendWR{Op: verbs.OpSend, SGEs: []verbs.SGE{a.mr.SGE(0, 8)}}
			q := senders[which%2]
			if which == 2 {
				atomic.StoreUint64(value, i+1)
				wr = &verbs.SendWR{Op: verbs.OpWrite, SGEs: []verbs.SGE{a.mr.SGE(64, 8)}, RKey: b.mr.RKey(), RemoteAddr: b.mr.Addr() + 4096}
			}
			if err := q.PostSend(wr); err != nil {
				t.Fatal(err)
			}
		}
		for which, c := range woken {
			if err := <-c; err != nil {
				t.Fatalf("round %d, waiter %d: %v", i, which, err)
			}
		}
	}
}

// TestLateBuffers: a message is there before its buffer or after it, while a
// goroutine goes to sleep, for a QP's own buffers and for those of an SRQ.
func TestLateBuffers(t *testing.T) {
	for name, shared := range map[string]bool{"own": false, "SRQ": true} {
		t.Run(name, func(t *testing.T) { lateBuffers(t, shared) })
	}
}

func lateBuffers(t *testing.T, shared bool) {
	a, b := bareParty(t), bareParty(t)
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	attr := verbs.QPAttr{Type: verbs.RC, SendCQ: b.cq, RecvCQ: b.cq, RecvWR: 8, SendWR: 8}
	var buffers interface{ PostRecv(*verbs.RecvWR) error }
	if shared {
		srq, err := b.pd.CreateSRQ(verbs.SRQAttr{WR: 8, SGE: 1})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = srq.Close() })
		attr.SRQ, attr.RecvWR, buffers = srq, 0, srq
	}
	qp, err := b.pd.CreateQP(attr)
	if err != nil {
		t.Fatal(err)
	}
	if !shared {
		buffers = qp
	}
	x := a.newPair(t, verbs.RC)
	joinPairs(t, x, qp.(*pair))
	t.Cleanup(func() { _ = errors.Join(x.Close(), qp.Close()) })
	Bare(a.opened, x)
	woken, sent := make(chan error), make(chan error)
	go func() {
		for range wakeRounds {
			woken <- awaitOne(ctx, b.cq)
		}
	}()
	random, other := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0)), rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 1))
	for i := range wakeRounds {
		go func() {
			pause(other)
			sent <- x.PostSend(&verbs.SendWR{Op: verbs.OpSend, SGEs: []verbs.SGE{a.mr.SGE(0, 8)}})
		}()
		pause(random)
		err := buffers.PostRecv(&verbs.RecvWR{SGEs: []verbs.SGE{b.mr.SGE(0, 8)}})
		if err := errors.Join(err, <-sent, <-woken); err != nil {
			t.Fatalf("round %d: %v", i, err)
		}
	}
}

// TestBellCounts: who said that they sleep does not, when the bell has rung since
// and somebody else says so.
func TestBellCounts(t *testing.T) {
	var b bell
	if err := b.make(); err != nil {
		t.Fatal(err)
	}
	first := b.doze()
	b.ring()
	if second := b.doze(); second == first {
		t.Fatalf("two sleep on %d, of whom one was woken", first)
	}
	futexWait(b.word, first, time.Hour)
	if err := b.close(); err != nil {
		t.Error(err)
	}
}

// TestBusyReceiver: another goroutine is at a QP's ring, and looked there before
// something came. Who goes to sleep then, and who feeds an SRQ, waits for it.
func TestBusyReceiver(t *testing.T) {
	a, b := bareParty(t), bareParty(t)
	srq, err := b.pd.CreateSRQ(verbs.SRQAttr{WR: 8, SGE: 1})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	qp, err := b.pd.CreateQP(verbs.QPAttr{Type: verbs.RC, SendCQ: b.cq, RecvCQ: b.cq, SendWR: 8, SRQ: srq})
	if err != nil {
		t.Fatal(err)
	}
	x, y := a.newPair(t, verbs.RC), qp.(*pair)
	joinPairs(t, x, y)
	Bare(a.opened, x)
	wr, buffer := &verbs.SendWR{Op: verbs.OpSend, SGEs: []verbs.SGE{a.mr.SGE(0, 8)}}, &verbs.RecvWR{SGEs: []verbs.SGE{b.mr.SGE(0, 8)}}

	got := make(chan error)
	y.receiving.Lock()
	err = errors.Join(srq.PostRecv(buffer), x.PostSend(wr)) // no QP is hungry, and nobody sleeps
	go func() { got <- awaitOne(ctx, b.cq) }()
	for start := time.Now(); b.bell.sleeps.Load() == 0 && time.Since(start) < 50*time.Millisecond; {
		runtime.Gosched()
	}
	y.doneReceiving()
	if err := errors.Join(err, <-got); err != nil {
		t.Errorf("who went to sleep: %v", err)
	}

	err = x.PostSend(wr)
	y.pull(nil) // it is hungry
	y.receiving.Lock()
	go func() { got <- srq.PostRecv(buffer) }()
	for start := time.Now(); time.Since(start) < 10*time.Millisecond; {
		runtime.Gosched()
	}
	y.doneReceiving()
	wcs := make([]verbs.WC, 1)
	if err := errors.Join(err, <-got); err != nil {
		t.Error(err)
	}
	if n, err := y.recvCQ.CQ.Poll(wcs); n != 1 || err != nil { // which does no work of QPs
		t.Errorf("after an SRQ was fed: %d completions, %v", n, err)
	}
	if err := errors.Join(x.Close(), y.Close(), srq.Close()); err != nil {
		t.Error(err)
	}
}
