package emu

import (
	"container/heap"
	"time"
)

// event is something that will happen. Events of one time happen in the order
// in which they were made.
type event interface{ fire(s *Subnet) }

type timed struct {
	at  time.Duration
	seq uint64
	event
}

type events []timed

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	return e[i].at < e[j].at || e[i].at == e[j].at && e[i].seq < e[j].seq
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(timed)) }

func (e *events) Pop() any {
	last := len(*e) - 1
	x := (*e)[last]
	(*e)[last] = timed{}
	*e = (*e)[:last]
	return x
}

// after lets an event happen a while from now.
func (s *Subnet) after(d time.Duration, e event) {
	s.seq++
	heap.Push(&s.events, timed{s.now + max(d, 0), s.seq, e})
}

// Next is the time of the next event; ok is false where there is none.
func (s *Subnet) Next() (at time.Duration, ok bool) {
	at, ok = s.data.agenda.next()
	if len(s.events) > 0 && (!ok || s.events[0].at < at) {
		return s.events[0].at, true
	}
	return at, ok
}

// Advance moves the time to now, and lets happen what is due by then. A time
// that is past already changes nothing.
func (s *Subnet) Advance(now time.Duration) {
	for {
		at, ok := s.Next()
		if !ok || at > now {
			break
		}
		if len(s.events) > 0 && s.events[0].at <= at {
			e := heap.Pop(&s.events).(timed)
			s.now = max(s.now, e.at)
			e.fire(s)
		} else {
			s.data.step()
		}
	}
	s.now = max(s.now, now)
}

// After calls a function a while from now. It runs within Advance, and may use
// the Subnet but for Advance.
func (s *Subnet) After(d time.Duration, f func()) { s.after(d, call(f)) }

type call func()

func (f call) fire(*Subnet) { f() }

// Now is the time of the subnet, from 0 at its making.
func (s *Subnet) Now() time.Duration { return s.now }
