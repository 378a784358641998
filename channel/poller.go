package channel

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"heddle/verbs"
)

// poller is how all receivers of a transport wait. One of those that wait leads:
// it has the device wait for all of them, which means that the device is polled
// for a moment, and then sleeps until a peer wakes it. The leader wakes the others, who
// wait for it as goroutines do and keep no thread. One that has got what it waited
// for returns, and another one takes the lead. So however many wait, one thread
// sleeps in the device, and a wake-up is one look at each.
//
// Who finds a leader there first looks for itself, as long as that was worth it
// before: it is much faster than to be woken.
type poller struct {
	dev  verbs.Context
	ends func() bool // look, made once

	// alone is the leader if nobody else waits.
	alone atomic.Pointer[waiter]

	mu           sync.Mutex
	list         []*waiter // who waits, guarded by mu, as all below
	led          bool      // one of them leads, or has been told to
	waits, woken uint64
}

// looker is a CQ that can be waited for with others: Look is Wait that does not
// wait.
type looker interface{ Look() (bool, error) }

// waiter is an end that waits, for memory or for an event of a queue.
type waiter struct {
	ready func() bool
	cq    looker
	told  chan struct{} // holds one: what it waits for is there, or it is to lead
	spin  time.Duration // how long it looks for itself

	place       int // in the list; guarded by the poller's mu, as all below
	leads, done bool
	err         error
}

const (
	looksAtOnce = 256
	leastSpin   = time.Microsecond
)

// mostSpin is how long it looks for itself at most: longer than a peer needs to
// wake and to answer. With two CPUs it takes one of them from the peer.
func mostSpin() time.Duration {
	if runtime.NumCPU() <= 2 {
		return 40 * time.Microsecond
	}
	return 100 * time.Microsecond
}

func newPoller(dev verbs.Context) *poller {
	p := &poller{dev: dev}
	p.ends = p.look
	return p
}

// check looks once.
func (w *waiter) check() (ok bool) {
	if w.ready != nil {
		return w.ready()
	}
	ok, w.err = w.cq.Look()
	return ok || w.err != nil
}

// checks looks several times.
func (w *waiter) checks() bool {
	if ready := w.ready; ready != nil {
		for range looksAtOnce {
			if ready() {
				return true
			}
		}
		return false
	}
	for range looksAtOnce {
		if w.check() {
			return true
		}
	}
	return false
}

// wait waits until there is what w looks for. It is for one goroutine at a time.
func (p *poller) wait(ctx context.Context, w *waiter) error {
	if w.checks() {
		return w.err
	}
	// Who was woken by what came before has waited for this processor, and the
	// device would keep it for as long as it looks, and then for a while asleep.
	runtime.Gosched()
	if w.checks() || p.isLed() && w.spun() {
		return w.err
	}
	began := time.Now()
	leads := p.join(w)
	if !leads && w.checkOnce(p) {
		return p.leave(w, nil)
	}
	err := p.stay(ctx, w, leads)
	w.learn(time.Since(began))
	return err
}

func (p *poller) isLed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.led
}

// spun looks as long as it may.
func (w *waiter) spun() bool {
	for start := time.Now(); time.Since(start) < w.spin; {
		if w.checks() {
			return true
		}
	}
	return false
}

// learn makes the time to look in vain shorter after a long wait, and the longest
// again after one that was short, though it was slept through.
func (w *waiter) learn(waited time.Duration) {
	if waited < 8*mostSpin() {
		w.spin = mostSpin()
	} else {
		w.spin = max(w.spin/2, leastSpin)
	}
}

// join adds a waiter, and tells whether it leads.
func (p *poller) join(w *waiter) (leads bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if w.told == nil {
		w.told = make(chan struct{}, 1)
	}
	leads = !p.led
	w.leads, w.done, w.err, w.place = leads, false, nil, len(p.list)
	p.led = true
	p.list = append(p.list, w)
	p.waits++
	p.count()
	return leads
}

// count tells the leader whether it is alone; mu is held.
func (p *poller) count() {
	if len(p.list) == 1 {
		p.alone.Store(p.list[0])
	} else {
		p.alone.Store(nil)
	}
}

// checkOnce looks after it was added: what came before that, the leader, who may
// sleep, was not woken for.
func (w *waiter) checkOnce(p *poller) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return w.done || w.check()
}

// stay waits in the list, as the leader or until the leader tells.
func (p *poller) stay(ctx context.Context, w *waiter, leads bool) error {
	for !leads {
		select {
		case <-w.told:
		case <-ctx.Done():
			return p.leave(w, context.Cause(ctx))
		}
		p.mu.Lock()
		done := w.done
		leads = w.leads
		p.mu.Unlock()
		if done {
			return w.err
		}
	}
	return p.leave(w, p.dev.Await(ctx, p.ends))
}

// leave takes a waiter from the list, and has another one lead if it did.
func (p *poller) leave(w *waiter, err error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if w.done {
		err = nil // it came meanwhile, and is taken
	} else {
		p.remove(w)
	}
	select {
	case <-w.told:
	default:
	}
	if w.leads {
		w.leads = false
		p.led = len(p.list) > 0
		if p.led {
			next := p.list[0]
			next.leads = true
			next.told <- struct{}{}
		}
	}
	if err == nil {
		err = w.err
	}
	return err
}

// remove takes it from the list; mu is held.
func (p *poller) remove(w *waiter) {
	last := p.list[len(p.list)-1]
	p.list[w.place], last.place = last, w.place
	p.list[len(p.list)-1] = nil
	p.list = p.list[:len(p.list)-1]
	p.count()
}

// look is what the leader does: it looks for all, and tells whether it has what
// it waits for itself.
func (p *poller) look() bool {
	if w := p.alone.Load(); w != nil {
		return w.check()
	}
	mine, others := p.lookForAll()
	if others {
		// The device may put this thread to sleep next, and those who were woken are to
		// run before that.
		runtime.Gosched()
	}
	return mine
}

func (p *poller) lookForAll() (mine, others bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := len(p.list) - 1; i >= 0; i-- {
		w := p.list[i]
		switch {
		case !w.check():
		case w.leads:
			mine = true
		default:
			p.remove(w)
			w.done = true
			w.told <- struct{}{}
			p.woken++
			others = true
		}
	}
	return mine, others
}
