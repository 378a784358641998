package replica

import (
	"fmt"
	"slices"
	"time"

	"heddle/sm/store"
)

// feedState is how far a session is with what its peer, a follower, is sent.
type feedState struct {
	on      bool
	copying bool           // the state is asked for
	sent    store.Position // the last that was begun
	part    []byte         // of it, what is still to be sent
	first   store.Position // where the follower began, or got the state
	acked   store.Position
	states  int // that were sent
}

// epochBits is how many bits of an epoch are the ID of the node that leads
// in it, so that no two nodes have the same.
const epochBits = 16

// nextEpoch is one of a node that is higher than what was seen. It counts
// seconds at least, so that a node which lost its state does not use one again.
func nextEpoch(seen uint64, now time.Time, id uint16) uint64 {
	counter := max(seen>>epochBits, uint64(max(0, now.Unix())))
	if epoch := counter<<epochBits | uint64(id); epoch > seen {
		return epoch
	}
	return (counter+1)<<epochBits | uint64(id)
}

// lead makes the node the leader in an epoch that the store has promised to;
// false where a higher one was seen.
func (c *core) lead(epoch uint64) bool {
	if epoch < c.epoch || c.role == Leader {
		return false
	}
	c.role, c.epoch, c.degraded = Leader, epoch, false
	for _, s := range c.sessions {
		s.follow, s.feed = followState{}, feedState{}
	}
	c.announce()
	return true
}

// committed takes note that the store has accepted a batch. With done, it is a
// leader's.
func (c *core) committed(now time.Time, b *store.Batch, done func(store.Result)) {
	c.last = b.At
	if b.Reset {
		c.log.reset(b.At)
	} else {
		c.log.add(logged{b.At, b.AppendTo(nil), now})
	}
	if done == nil {
		return
	}
	a := answer{done, store.Result{At: b.At}}
	if c.role != Leader {
		a.result.Err = ErrNotLeader
		c.answers = append(c.answers, a)
		return
	}
	c.waiting = append(c.waiting, waiter{a, now.Add(c.config.WaitLimit)})
	for _, s := range c.sessions {
		if s.feed.on {
			c.wake(s)
		}
	}
	c.settle(now)
}

// feedFrom begins to send what comes after a position.
func (c *core) feedFrom(s *session, at store.Position) error {
	if s.dialled {
		return fmt.Errorf("%w: it would follow where it was dialled", errPeer)
	}
	if c.role != Leader {
		s.status = true
		c.wake(s)
		return nil
	}
	s.feed = feedState{on: true, states: s.feed.states}
	if c.log.has(at) {
		s.feed.sent, s.feed.first, s.feed.acked = at, at, at
		c.wake(s)
		return nil
	}
	c.askState(s)
	return nil
}

func (c *core) askState(s *session) {
	s.feed.copying = true
	c.effects = append(c.effects, effect{session: s, copy: true})
}

// copied takes the whole state, encoded, to be sent.
func (c *core) copied(s *session, at store.Position, encoded []byte) {
	if !s.feed.copying || s.dropped {
		return
	}
	s.feed.copying = false
	s.feed.sent, s.feed.first, s.feed.part = at, at, encoded
	s.feed.states++
	c.counts.States++
	c.wake(s)
}

// nextPart gives the next part of a batch that a follower is to be sent.
func (c *core) nextPart(s *session) (message, bool) {
	f := &s.feed
	if !f.on || f.copying {
		return message{}, false
	}
	if len(f.part) == 0 && !c.nextBatch(s) {
		return message{}, false
	}
	n := min(len(f.part), partLen)
	m := message{kind: kindPart, at: f.sent, part: f.part[:n], last: n == len(f.part)}
	f.part = f.part[n:]
	return m, true
}

// nextBatch goes on to the next batch of the log, or where that has forgotten
// it to the state.
func (c *core) nextBatch(s *session) bool {
	f := &s.feed
	if f.sent == c.last {
		return false
	}
	if !c.log.has(f.sent) {
		c.askState(s)
		return false
	}
	b := c.log.after(f.sent)
	f.sent, f.part = b.at, b.encoded
	return true
}

// acked takes note of what a follower keeps.
func (c *core) acked(now time.Time, s *session, at store.Position) error {
	f := &s.feed
	switch {
	case !f.on || f.copying:
		return nil // of before
	case at.Index > f.sent.Index || at.Index == f.sent.Index && at != f.sent:
		return fmt.Errorf("%w: it has %v, and was sent %v", errPeer, at, f.sent)
	case at.Index < f.first.Index:
		return nil // it has not got the state yet
	}
	f.acked = at
	c.settle(now)
	return nil
}

// keepers counts the followers that keep a batch.
func (c *core) keepers(at store.Position) (n int) {
	for _, s := range c.sessions {
		if s.feed.on && !s.dropped && s.feed.acked.Index >= at.Index {
			n++
		}
	}
	return n
}

// settle acknowledges what is kept by enough, or has waited enough, in the order
// of the batches.
func (c *core) settle(now time.Time) {
	if c.role != Leader {
		return
	}
	if c.degraded && c.keepers(c.durable) >= c.config.Wait {
		c.degraded = false
	}
	n := 0
	for n < len(c.waiting) && c.settled(now, &c.waiting[n]) {
		c.answers = append(c.answers, c.waiting[n].answer)
		n++
	}
	c.waiting = slices.Delete(c.waiting, 0, n)
}

// settled tells whether a batch can be acknowledged, and with what.
func (c *core) settled(now time.Time, w *waiter) bool {
	if c.durable.Index < w.result.At.Index {
		return false
	}
	w.result.Followers = c.keepers(w.result.At)
	switch {
	case w.result.Followers >= c.config.Wait || c.degraded:
		return true
	case now.Before(w.deadline):
		return false
	case c.config.Strict:
		w.result.Err = fmt.Errorf("%w: %d of %d after %v", ErrNotReplicated, w.result.Followers, c.config.Wait, c.config.WaitLimit)
	default:
		c.degraded = true
	}
	c.counts.Late++
	return true
}
