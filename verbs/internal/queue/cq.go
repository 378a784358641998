package queue

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"heddle/verbs"
)

// CQ is a completion queue in the memory of one process.
type CQ struct {
	waiting atomic.Int32 // completions; read without mu to tell that there is nothing
	over    atomic.Bool  // nothing comes any more: it is closed, or has overrun

	mu      sync.Mutex
	ring    []verbs.WC // guarded by mu, as all below
	first   int
	armed   atomic.Uint32 // arming; read without mu to tell that nobody wants an event
	overrun bool
	users   int
	failed  func() // called once at an overrun, without mu

	event  chan struct{} // holds one
	closed chan struct{}
}

// arming is what an event is wanted for.
type arming = uint32

const (
	idle arming = iota
	solicited
	anything
)

// NewCQ makes a CQ; failed is called at an overrun, after which the QPs that use
// the CQ are to go into error.
func NewCQ(a verbs.CQAttr, most int, failed func()) (*CQ, error) {
	if a.Depth < 1 || a.Depth > most {
		return nil, &verbs.OpError{Verb: "create CQ: depth", Got: a.Depth, Limit: most, Err: verbs.ErrInvalid}
	}
	return &CQ{
		ring: make([]verbs.WC, a.Depth), failed: failed, event: make(chan struct{}, 1), closed: make(chan struct{}),
	}, nil
}

// Push adds a completion, by any goroutine. Wanted says that it is solicited.
func (c *CQ) Push(wc verbs.WC, wanted bool) {
	c.mu.Lock()
	overran := !c.add(&wc, wanted)
	c.mu.Unlock()
	if overran && c.failed != nil {
		c.failed()
	}
}

// PushAll adds several, in order.
func (c *CQ) PushAll(wcs []verbs.WC, wanted bool) {
	overran := false
	c.mu.Lock()
	for i := range wcs {
		overran = !c.add(&wcs[i], wanted) || overran
	}
	c.mu.Unlock()
	if overran && c.failed != nil {
		c.failed()
	}
}

// add is false for the one that overruns the CQ; mu is held.
func (c *CQ) add(wc *verbs.WC, wanted bool) bool {
	n := int(c.waiting.Load())
	if c.overrun || n == len(c.ring) {
		first := !c.overrun
		c.overrun = true
		c.over.Store(true)
		c.signal(true)
		return !first
	}
	at := c.first + n
	if at >= len(c.ring) {
		at -= len(c.ring)
	}
	c.ring[at] = *wc
	c.waiting.Store(int32(n + 1))
	c.signal(wanted || wc.Status != verbs.StatusOK)
	return true
}

// signal makes the event that is wanted; mu is held.
func (c *CQ) signal(wanted bool) {
	if armed := c.armed.Load(); armed == anything || armed == solicited && wanted {
		c.armed.Store(idle)
		select {
		case c.event <- struct{}{}:
		default:
		}
	}
}

// Poll implements verbs.CQ.
func (c *CQ) Poll(into []verbs.WC) (n int, err error) {
	if c.waiting.Load() == 0 && !c.over.Load() {
		return 0, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	waiting := int(c.waiting.Load())
	for n < len(into) && n < waiting {
		into[n] = c.ring[c.first]
		c.first = (c.first + 1) % len(c.ring)
		n++
	}
	c.waiting.Store(int32(waiting - n))
	if n > 0 || len(into) == 0 {
		return n, nil
	}
	return 0, c.end()
}

// end is why nothing comes any more; mu is held.
func (c *CQ) end() error {
	select {
	case <-c.closed:
		return verbs.ErrClosed
	default:
	}
	if c.overrun {
		return fmt.Errorf("CQ of %d: %w", len(c.ring), verbs.ErrCQOverrun)
	}
	return nil
}

// Arm implements verbs.CQ.
func (c *CQ) Arm(solicitedOnly bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-c.closed:
		return verbs.ErrClosed
	default:
	}
	want := anything
	if solicitedOnly {
		want = solicited
	}
	c.armed.Store(max(c.armed.Load(), want))
	if c.overrun {
		c.signal(true)
	}
	return nil
}

// Wait implements verbs.CQ.
func (c *CQ) Wait(ctx context.Context) error {
	select {
	case <-c.event:
		return nil
	default:
	}
	select {
	case <-c.event:
		return nil
	case <-c.closed:
		return verbs.ErrClosed
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Happened is Wait that does not wait: it takes the event if there is one. The
// error is that of a closed CQ.
func (c *CQ) Happened() (bool, error) {
	select {
	case <-c.event:
		return true, nil
	default:
	}
	select {
	case <-c.closed:
		return false, verbs.ErrClosed
	default:
		return false, nil
	}
}

// Some tells whether there is something to poll.
func (c *CQ) Some() bool { return c.waiting.Load() != 0 }

// Quiet tells that there is nothing in the CQ, and that nobody wants to be told
// of what comes: it may be given to the one who polls past the queue.
func (c *CQ) Quiet() bool {
	return c.waiting.Load() == 0 && c.armed.Load() == idle && !c.over.Load()
}

// Given makes the event that somebody wants for what was given past the queue.
func (c *CQ) Given() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.signal(true)
}

// Over tells whether nothing comes any more: it has overrun, or is closed.
func (c *CQ) Over() bool { return c.over.Load() }

// Depth implements verbs.CQ.
func (c *CQ) Depth() int { return len(c.ring) }

// Use counts a QP that uses the CQ, Unuse one that does so no more.
func (c *CQ) Use() { c.count(1) }

// Unuse takes back a Use.
func (c *CQ) Unuse() { c.count(-1) }

func (c *CQ) count(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.users += n
}

// Close implements verbs.CQ.
func (c *CQ) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.users > 0 {
		return fmt.Errorf("close CQ: %d queues use it: %w", c.users, verbs.ErrBusy)
	}
	select {
	case <-c.closed:
	default:
		c.over.Store(true)
		close(c.closed)
	}
	return nil
}

// Forget takes out the completions of a QP that is gone or is reset.
func (c *CQ) Forget(of func(*verbs.WC) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	kept, n := 0, int(c.waiting.Load())
	for i := range n {
		wc := c.ring[(c.first+i)%len(c.ring)]
		if !of(&wc) {
			c.ring[(c.first+kept)%len(c.ring)] = wc
			kept++
		}
	}
	c.waiting.Store(int32(kept))
}

var _ verbs.CQ = (*CQ)(nil)
