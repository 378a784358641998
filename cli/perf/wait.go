package perf

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"

	"heddle/verbs"
)

// looks is how often something is looked at in a loop before anybody else may do
// anything: about a microsecond.
const looks = 2048

// wanted is a bell, or room for messages, that is waited for.
type wanted struct {
	at     int
	number uint64
	room   int         // for so many messages since the beginning; 0 for a bell
	ready  func() bool // it is there
	nudges int
	nudge  func() bool // it is there, or the device has gone on a bit
}

// init makes the functions that devices are given, once and for all.
func (w *wanted) init(t *trial) {
	w.ready = func() bool {
		if w.room > 0 {
			return w.room-t.told() <= t.slots
		}
		return t.rung(w.at, w.number)
	}
	w.nudge = func() bool { w.nudges--; return w.nudges <= 0 || w.ready() }
}

// hear waits for the bell of the message of a number, from 0.
func (t *trial) hear(i int) error {
	at, number := t.in(i), uint64(i+1)
	t.want.at, t.want.number, t.want.room = at, number, 0
	if t.Events {
		return t.await(t.want.ready)
	}
	word, unused, want := t.bellAt(at, number)
	for n := 1; ; n++ {
		for range looks {
			if atomic.LoadUint64(word)>>unused == want {
				return nil
			}
		}
		if err := t.yield(n); err != nil {
			return err
		}
	}
}

// nudges is how often a device looks in yield: some of them go on only where
// somebody waits, others soon fall asleep.
const nudges = 16

// yield lets the device and other goroutines go on, at the n-th time that all
// looks were in vain.
func (t *trial) yield(n int) error {
	runtime.Gosched()
	t.want.nudges = nudges
	if err := t.end.dev.Await(t.ctx, t.want.nudge); err != nil {
		return t.why(err)
	}
	if n%64 != 0 {
		return nil
	}
	if err := t.sender.glance(); err != nil {
		return err
	}
	return context.Cause(t.ctx)
}

// await has the device wait.
func (t *trial) await(ready func() bool) error {
	if err := t.sender.glance(); err != nil {
		return err
	}
	if err := t.end.dev.Await(t.ctx, ready); err != nil {
		return t.why(err)
	}
	return nil
}

// why is the error of a wait, or of the request that it waited for in vain.
func (t *trial) why(err error) error {
	if failed := t.sender.glance(); failed != nil {
		return failed
	}
	return err
}

// poll waits for completions.
func (t *trial) poll(cq verbs.CQ, into []verbs.WC) (int, error) {
	if t.Events {
		return verbs.Await(t.ctx, cq, into)
	}
	for {
		for range looks {
			if n, err := cq.Poll(into); n > 0 || err != nil {
				return n, err
			}
		}
		if err := context.Cause(t.ctx); err != nil {
			return 0, err
		}
		runtime.Gosched()
	}
}

// next waits for the next completion of a receive.
func (t *trial) next() (*verbs.WC, error) {
	if t.at == t.n {
		n, err := t.poll(t.recvCQ, t.wcs[:])
		if err != nil {
			return nil, t.why(err)
		}
		t.at, t.n = 0, n
	}
	wc := &t.wcs[t.at]
	t.at++
	return wc, wc.Err()
}

// take waits for the message of a number, from 0, and gives its buffer back.
func (t *trial) take(i int) error {
	if t.polled() {
		if err := t.hear(i); err != nil || !t.Check {
			return err
		}
		t.checked++
		return t.verify(t.in(i), uint64(i+1))
	}
	wc, err := t.next()
	if err != nil {
		return err
	}
	if t.Check {
		if err := t.checkReceived(wc, i); err != nil {
			return err
		}
	}
	return t.giveBack()
}

func (t *trial) checkReceived(wc *verbs.WC, i int) error {
	t.checked++
	at, size := t.in(int(wc.ID)), t.Size
	if t.Op == verbs.OpWriteImm {
		at = t.in(i)
	}
	if t.Service == verbs.UD {
		size += verbs.GRHSize
	}
	if int(wc.ByteLen) != size {
		return fmt.Errorf("message %d has %d bytes, and not %d", i+1, wc.ByteLen, size)
	}
	if t.Op.HasImm() && wc.Imm != uint32(i+1) {
		return mismatch(t.Op, i+1, uint64(wc.Imm))
	}
	return t.verify(at, uint64(i+1))
}

func mismatch(op verbs.Op, want int, got uint64) error {
	return fmt.Errorf("%v brought %d, and not %d", op, got, want)
}

// giveBack posts buffers again, several together. They were taken in order.
func (t *trial) giveBack() error {
	t.free++
	some := 1
	if t.slots%4 == 0 {
		some = t.slots / 4
	}
	if t.free%some != 0 {
		return nil
	}
	from := (t.free - some) % t.slots
	_, err := t.qp.PostRecvs(t.recvs[from : from+some])
	return err
}

// told is how many messages the peer said that it has taken.
func (t *trial) told() int { return int(atomic.LoadUint64(t.word(t.counted()))) }
