//go:build linux && (amd64 || arm64)

package shm

import (
	"cmp"
	"math/bits"
	"sync/atomic"
	"time"

	"heddle/verbs"
)

// flight is a request that is done or in the ring, and has not completed.
type flight struct {
	id       uint64
	op       verbs.Op
	signaled bool
	status   verbs.Status
	n        uint32
	end      uint64 // of its records in the ring, 0 for one that is done
}

// flights are such requests, in order: who posts adds them, and who completes
// takes them, perhaps at the same time.
type flights struct {
	ring        []flight // a power of two
	first, next atomic.Uint64
}

func (f *flights) make(n int) { f.ring = make([]flight, 1<<bits.Len(uint(n-1))) }

func (f *flights) at(i uint64) *flight { return &f.ring[i&uint64(len(f.ring)-1)] }
func (f *flights) len() int            { return int(f.next.Load() - f.first.Load()) }
func (f *flights) front() *flight      { return f.at(f.first.Load()) }
func (f *flights) pop()                { set(&f.first, f.first.Load()+1) }
func (f *flights) clear()              { set(&f.first, f.next.Load()) }

// add makes room for one; sent is when it is filled in.
func (f *flights) add() *flight { return f.at(f.next.Load()) }
func (f *flights) sent()        { set(&f.next, f.next.Load()+1) }

// stall is how long the peer of a QP has let it wait.
type stall struct {
	polls      uint32
	every      uint32    // so many polls after the last look at the clock is the next one
	looked     time.Time // when that was
	ticks      uint64
	asked      bool      // the peer was kicked, and has not said that it lives
	since      time.Time // when that was, zero for it has nothing to answer
	kicked     time.Time
	pause      time.Duration // until the next kick
	refused    time.Time     // when the peer had no buffer, first; zero for it has
	refusedFor uint64
}

const (
	firstKick = 50 * time.Microsecond
	lastKick  = 50 * time.Millisecond
	// rareLook is how often the QP is polled in vain between two looks at the clock
	// at most.
	rareLook = 32
	// longBetween is what is too long between two looks, of a program that sleeps
	// between two polls.
	longBetween = 20 * time.Microsecond
)

// due tells whether it is time to look at the clock again.
func (s *stall) due() bool {
	s.polls++
	return s.polls >= cmp.Or(s.every, rareLook)
}

// look notes a look at the clock, and sets when the next one is.
func (s *stall) look(now time.Time) {
	switch {
	case s.looked.IsZero():
		s.every = cmp.Or(s.every, rareLook)
	case now.Sub(s.looked) > longBetween:
		s.every = max(s.every/4, 1)
	default:
		s.every = min(2*s.every, rareLook)
	}
	s.polls, s.looked = 0, now
}

// unfinished is how many requests have not completed.
func (q *pair) unfinished() int { return q.flying.len() + int(q.waiting.Load()) }

// push does what is to be done for the requests of the QP, unless another
// goroutine does so. Slow is for who calls it seldom.
func (q *pair) push(slow bool) {
	if q.unfinished() == 0 {
		return
	}
	if q.sending.mu.TryLock() {
		q.advance(slow)
		q.doneSending()
		q.settle()
	}
}

// advance completes what the peer took, and does what was kept for later: as
// long as there is such, who posts comes by sending.mu, which is held.
func (q *pair) advance(slow bool) {
	l := q.link.Load()
	if l == nil && q.attr.Type != verbs.UD {
		if q.now() == verbs.RTS {
			q.failFirst(verbs.StatusRetryExceeded) // the peer left in order
		}
		return
	}
	before, left, acked := q.flying.first.Load(), q.posted.First(), uint64(0)
	if l != nil {
		acked = l.out.acked
	}
	q.retire(l)
	for q.posted.Len() > 0 && q.now() == verbs.RTS {
		wr := q.posted.At(q.posted.First())
		sent := q.sent
		how, status := q.execute(wr)
		if how == blocked {
			if q.sent != sent {
				before--
			}
			break
		}
		q.posted.Pop() // wr stays as it is until the next Push
		q.finish(wr, how, status)
	}
	q.count()
	switch {
	case before != q.flying.first.Load() || left != q.posted.First() || l != nil && acked != l.out.acked:
		q.stall = stall{ticks: q.stall.ticks, asked: q.stall.asked, every: q.stall.every}
	case q.unfinished() > 0:
		if q.stall.due() || slow {
			now := time.Now()
			q.stall.look(now)
			q.stalled(l, now, slow)
		}
	}
}

// retire completes requests in order, as far as the peer took them; sending.mu
// is held, and others may be posted meanwhile.
func (q *pair) retire(l *link) {
	first, next := q.flying.first.Load(), q.flying.next.Load()
	if first == next {
		return
	}
	fail, acked := uint32(0), uint64(0)
	if l != nil {
		fail = l.out.fail.Load()
		if l.out.refresh(&l.out.acked) != nil {
			q.failFirst(verbs.StatusBadResponse)
			return
		}
		acked = l.out.acked
	}
	for ; first != next; first++ {
		f := q.flying.at(first)
		if f.status != verbs.StatusOK || f.end > acked {
			break
		}
		q.complete(f.id, f.op, f.signaled, verbs.StatusOK, int(f.n))
	}
	q.sends.flush() // before who posts sees that it may complete by itself
	set(&q.flying.first, first)
	switch {
	case first == next:
		q.drained()
	case q.flying.at(first).status != verbs.StatusOK:
		q.failFirst(q.flying.at(first).status)
	case fail != 0:
		q.failFirst(refusal(fail))
	}
}

// failFirst ends the oldest request, and with it the queue; sending.mu is held.
func (q *pair) failFirst(status verbs.Status) {
	q.sending.bar()
	if q.flying.len()+q.posted.Len() == 0 {
		return
	}
	if q.attr.Type == verbs.RC {
		q.enterErr()
	} else {
		q.state.CompareAndSwap(int32(verbs.RTS), int32(verbs.SQE))
	}
	q.giveBack(status)
	q.flushSends()
}

// giveBack completes the oldest request as failed; false where there is none.
func (q *pair) giveBack(status verbs.Status) bool {
	if l := q.link.Load(); l != nil {
		l.out.void()
	}
	switch {
	case q.flying.len() > 0:
		f := q.flying.front()
		q.complete(f.id, f.op, true, status, 0)
		q.flying.pop()
	case q.posted.Len() > 0:
		wr := q.posted.At(q.posted.First())
		q.complete(wr.ID, wr.Op, true, status, 0)
		q.posted.Pop()
	default:
		return false
	}
	return true
}

// flushSends gives all requests back; sending is held.
func (q *pair) flushSends() {
	for q.giveBack(verbs.StatusFlushed) {
	}
	q.sent = 0
	q.count()
}

// settle ends what is left of a QP in error. No lock is held.
func (q *pair) settle() {
	if q.now() != verbs.Err || q.closed.Load() {
		return
	}
	if q.unfinished() > 0 {
		q.sending.Lock()
		q.flushSends()
		q.doneSending()
	}
	q.flushBuffers()
}

// stalled is called when nothing went on for a while, slow by who may sleep
// next; sending.mu is held. What counts as the peer's silence is the time from a
// kick to its answer: this side may have looked at nothing for long, too.
func (q *pair) stalled(l *link, now time.Time, slow bool) {
	s := &q.stall
	if ticks := l.out.ticks.Load(); ticks != s.ticks {
		s.ticks, s.since, s.asked = ticks, time.Time{}, false
	}
	if q.flying.len() > 0 && l.out.refuses() {
		q.notReady(l, now)
		return
	}
	s.refused = time.Time{}
	switch {
	// IBTA 9.7.6.1.3 allows a timeout to take four times what it is set to.
	case q.attr.Type == verbs.RC && !s.since.IsZero() && now.Sub(s.since) > 4*q.attr.Timeout*time.Duration(q.attr.Retries.Count()+1):
		q.failFirst(verbs.StatusRetryExceeded)
	case s.pause == 0 && !slow:
		s.pause, s.kicked = firstKick, now
	case now.Sub(s.kicked) > s.pause:
		s.kicked, s.pause = now, min(max(2*s.pause, firstKick), lastKick)
		q.kick(l, now)
	}
}

// kick has the peer look at the ring. One that has not answered yet is enough:
// who is stopped finds no heap of them in its socket.
func (q *pair) kick(l *link, now time.Time) {
	s := &q.stall
	if s.since.IsZero() {
		s.since = now
	}
	if !s.asked {
		s.asked = send(l.conn, &frame{Kind: kickFrame, From: q.self}) == nil // the socket's end is found by serve
	}
}

// notReady waits for a buffer of the peer, as long as it may.
func (q *pair) notReady(l *link, now time.Time) {
	s, at := &q.stall, l.out.rnr.Load()
	if s.refused.IsZero() || s.refusedFor != at {
		s.refused, s.refusedFor = now, at
	}
	retries := q.attr.RNRRetries.Count()
	if retries < 7 && now.Sub(s.refused) >= time.Duration(retries)*l.rnr {
		q.failFirst(verbs.StatusRNRRetryExceeded)
	}
}

// pump goes on with requests of QPs that nobody polls, as long as there are any.
type pump struct {
	wanted chan struct{} // holds one
	stop   chan struct{}
}

func (p *pump) start() {
	select {
	case p.wanted <- struct{}{}:
	default:
	}
}

// run is the pump's goroutine.
func (o *opened) run() {
	tick := time.NewTimer(time.Hour)
	defer tick.Stop()
	for {
		select {
		case <-o.pump.wanted:
		case <-o.pump.stop:
			return
		}
		for o.pumpOnce() {
			tick.Reset(shortNap)
			select {
			case <-tick.C:
			case <-o.pump.stop:
				return
			}
		}
	}
}

// pumpOnce goes on with all QPs that keep requests for later; false where there
// are none.
func (o *opened) pumpOnce() (more bool) {
	o.mu.Lock()
	pairs := make([]*pair, 0, 8)
	for _, q := range o.pairs {
		if q.unfinished() > 0 {
			pairs = append(pairs, q)
		}
	}
	o.mu.Unlock()
	for _, q := range pairs {
		q.sending.mu.Lock()
		keeps := q.posted.Len() > 0 && q.now() == verbs.RTS
		if keeps {
			q.advance(true)
		}
		q.doneSending()
		q.settle()
		more = more || keeps
	}
	return more
}
