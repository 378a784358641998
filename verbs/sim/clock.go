package sim

import (
	"context"
	"runtime"
	"time"

	"heddle/verbs"
)

// Clock is how time goes on in a network.
type Clock uint8

const (
	// Virtual time goes on when somebody waits: an empty Poll, a Wait or an Await
	// runs the next event. A program of one goroutine does the same for a seed
	// each time. With several goroutines, time may run ahead of one that has
	// not come to wait yet; where that matters use Real time, in a
	// testing/synctest bubble if it has to be simulated.
	Virtual Clock = iota
	// Crossings is Virtual time in which a packet's way costs 1 ns and all else
	// nothing, so that half round trips are read off it.
	Crossings
	// Real time is the clock's.
	Real
)

// ticks is time within a network: of 1 ns, or with Crossings of a crossing's
// 1<<20th part, so that what costs nothing still has an order.
type ticks int64

const crossing ticks = 1 << 20

// kind is what an event is.
type kind uint8

const (
	arrival  kind = iota // a packet is there
	placing              // the next piece of a packet goes to memory
	fetching             // the next piece of an answer is read from memory
	storing              // the second half of an atomic
	qpFault
	deviceFault
	peerGone
	timeout   // of an acknowledgement
	readiness // the peer's RNR timer has run out
)

// event is something that will happen.
type event struct {
	at    ticks
	seq   uint64 // what was scheduled first comes first
	kind  kind
	epoch uint32 // of qp; an older one is void
	qp    *qp
	pkt   *packet
}

func (e *event) before(f *event) bool { return e.at < f.at || e.at == f.at && e.seq < f.seq }

// events is a heap.
type events []event

func (h *events) push(e event) {
	s := append(*h, e)
	i := len(s) - 1
	for i > 0 {
		up := (i - 1) / 2
		if !e.before(&s[up]) {
			break
		}
		s[i] = s[up]
		i = up
	}
	s[i] = e
	*h = s
}

func (h *events) pop() event {
	s := *h
	top, last := s[0], s[len(s)-1]
	s[len(s)-1] = event{}
	s = s[:len(s)-1]
	i := 0
	for {
		down := 2*i + 1
		if down >= len(s) {
			break
		}
		if right := down + 1; right < len(s) && s[right].before(&s[down]) {
			down = right
		}
		if !s[down].before(&last) {
			break
		}
		s[i] = s[down]
		i = down
	}
	if len(s) > 0 {
		s[i] = last
	}
	*h = s
	return top
}

// schedule adds an event; mu is held.
func (n *Network) schedule(e event) {
	n.scheduled++
	e.seq = n.scheduled
	if n.cfg.Clock == Real && (len(n.events) == 0 || e.at < n.events[0].at) {
		select {
		case n.wake <- struct{}{}:
		default:
		}
	}
	n.events.push(e)
}

// lasting is how long a timer's duration is.
func (n *Network) lasting(d time.Duration) ticks {
	if n.cfg.Clock != Crossings {
		return ticks(d)
	}
	return ticks(min(d, 1<<40)) * crossing
}

// arrivalTime is when a packet that leaves now is there at the earliest.
func (n *Network) arrivalTime() ticks {
	if n.cfg.Clock == Crossings {
		return n.now - n.now%crossing + crossing
	}
	return n.now + ticks(n.cfg.Delay)
}

// enter begins what looks at or changes the network.
func (n *Network) enter() {
	n.mu.Lock()
	if n.cfg.Clock == Real {
		n.now = max(n.now, ticks(time.Since(n.began)))
	}
}

// leave ends it, and has all look again who wait.
func (n *Network) leave() {
	n.changed()
	n.mu.Unlock()
}

func (n *Network) changed() {
	n.generation.Add(1)
	if n.news != nil {
		close(n.news)
		n.news = nil
	}
}

// step runs the next event if its time has come; mu is held.
func (n *Network) step() (e event, ok bool) {
	if n.shut || len(n.events) == 0 || n.cfg.Clock == Real && n.events[0].at > n.now {
		return e, false
	}
	e = n.events.pop()
	n.now = max(n.now, e.at)
	n.run(&e)
	n.changed()
	return e, true
}

// turn runs one event by somebody who waits, and tells whether there was one.
func (n *Network) turn() bool {
	n.enter()
	e, ok := n.step()
	n.mu.Unlock()
	if ok && e.kind >= timeout {
		runtime.Gosched() // somebody may be about to do what is waited for
	}
	return ok
}

// idle is what somebody does who waits and found nothing after the generation was
// read: it runs an event, or else waits until there was one.
func (n *Network) idle(ctx context.Context, generation uint64) error {
	if n.turn() {
		return nil
	}
	n.mu.Lock()
	if n.generation.Load() != generation {
		n.mu.Unlock()
		return nil
	}
	if n.news == nil {
		n.news = make(chan struct{})
	}
	news := n.news
	n.mu.Unlock()
	select {
	case <-news:
		return nil
	case <-n.closed:
		return verbs.ErrClosed
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// wait returns when ready does, or its error.
func (n *Network) wait(ctx context.Context, ready func() (bool, error)) error {
	for {
		generation := n.generation.Load()
		if ok, err := ready(); ok || err != nil {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := n.idle(ctx, generation); err != nil {
			return err
		}
	}
}

// realTime runs events when they are due, until the network is closed.
func (n *Network) realTime() {
	defer close(n.stopped)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-n.closed:
			return
		case <-n.wake:
		case <-timer.C:
		}
		timer.Reset(n.runDue())
	}
}

// runDue runs what is due, and tells how long it is until the next event.
func (n *Network) runDue() time.Duration {
	n.enter()
	defer n.mu.Unlock()
	for ok := true; ok; {
		_, ok = n.step()
	}
	if len(n.events) == 0 {
		return time.Hour
	}
	return time.Duration(n.events[0].at - n.now)
}
