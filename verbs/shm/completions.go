//go:build linux && (amd64 || arm64)

package shm

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"heddle/verbs"
	"heddle/verbs/internal/queue"
)

// completions is a verbs.CQ. Who polls it does the work of its QPs: takes what
// their peers sent, and completes what their peers have taken.
type completions struct {
	*queue.CQ
	host  *opened
	users atomic.Pointer[[]*pair] // QPs that have it for either queue
	polls uint32                  // guarded as Poll is
	once  sync.Once
	mu    sync.Mutex // for changes of users
}

func (c *completions) pairs() []*pair {
	if p := c.users.Load(); p != nil {
		return *p
	}
	return nil
}

func (c *completions) join(q *pair) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Use()
	if list := c.pairs(); !slices.Contains(list, q) {
		list = append(slices.Clone(list), q)
		c.users.Store(&list)
	}
}

func (c *completions) leave(q *pair) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Unuse()
	list := slices.DeleteFunc(slices.Clone(c.pairs()), func(x *pair) bool { return x == q })
	c.users.Store(&list)
}

// pollsAWork is after how many calls of Poll that find the CQ full of work the QPs
// are looked after nevertheless.
const pollsAWork = 16

// Poll implements verbs.CQ.
func (c *completions) Poll(into []verbs.WC) (n int, err error) {
	if c.polls++; c.Some() {
		if n, err = c.CQ.Poll(into); n == len(into) && c.polls%pollsAWork != 0 || err != nil {
			return n, err
		}
	}
	for _, q := range c.pairs() {
		if q.sendCQ == c {
			q.push(false)
		}
		if q.recvCQ == c {
			n += q.pull(into[n:])
		}
	}
	if n > 0 && !c.Some() {
		return n, nil
	}
	more, err := c.CQ.Poll(into[n:])
	return n + more, err
}

// work does what its QPs have to do; slow is for who calls it seldom, and may
// sleep next: it waits for who looks at a ring now, and may have looked before
// something came.
func (c *completions) work(slow bool) {
	for _, q := range c.pairs() {
		switch {
		case q.recvCQ == c && slow:
			q.look()
		case q.recvCQ == c:
			q.pull(nil)
		}
		if q.sendCQ == c {
			q.push(slow)
		}
	}
}

// Look is Wait that does not wait: it tells whether there was the event, after
// the work of the QPs was done. Who waits for several queues calls it in Await.
// It is for one goroutine at a time, as Wait is.
func (c *completions) Look() (bool, error) {
	if ok, err := c.Happened(); ok || err != nil {
		return ok, err
	}
	c.work(true)
	return c.Happened()
}

// Wait implements verbs.CQ.
func (c *completions) Wait(ctx context.Context) error {
	return c.host.await(ctx, func(sleepy bool) (bool, time.Duration, error) {
		if ok, err := c.Happened(); ok || err != nil {
			return ok, 0, err
		}
		c.work(sleepy)
		ok, err := c.Happened()
		return ok, c.longest(), err
	})
}

// longest is how long a wait may sleep.
func (c *completions) longest() time.Duration {
	for _, q := range c.pairs() {
		if q.sendCQ == c && q.unfinished() > 0 {
			return shortNap
		}
	}
	return c.host.nap
}

// overrun takes the QPs that use the CQ into error. They may hold their locks
// while it is called.
func (c *completions) overrun() {
	c.host.events.add(verbs.Event{Type: verbs.EventCQ, CQ: c})
	for _, q := range c.pairs() {
		c.host.tasks.Go(func() { q.abort(verbs.EventQPFatal) })
	}
}

func (c *completions) Close() error {
	if err := c.CQ.Close(); err != nil {
		return err
	}
	c.once.Do(func() {
		c.host.bell.ring()
		c.host.disown()
	})
	return nil
}
