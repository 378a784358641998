package umad

import (
	"container/heap"
	"time"
)

// alarm is a time at which something is to be done for a transaction or a
// transfer.
type alarm struct {
	at    time.Time
	place int // in the heap, from 1; 0 where it is not set
	t     *transaction
	x     *transfer
}

// alarms is a heap, the earliest first.
type alarms []*alarm

func (a alarms) Len() int           { return len(a) }
func (a alarms) Less(i, j int) bool { return a[i].at.Before(a[j].at) }
func (a alarms) Swap(i, j int) {
	a[i], a[j] = a[j], a[i]
	a[i].place, a[j].place = i+1, j+1
}

// Push is for container/heap.
func (a *alarms) Push(x any) {
	one := x.(*alarm)
	*a = append(*a, one)
	one.place = len(*a)
}

// Pop is for container/heap.
func (a *alarms) Pop() any {
	last := len(*a) - 1
	one := (*a)[last]
	(*a)[last] = nil
	*a = (*a)[:last]
	one.place = 0
	return one
}

// set sets an alarm, or moves it.
func (a *alarms) set(one *alarm, at time.Time) {
	one.at = at
	if one.place == 0 {
		heap.Push(a, one)
	} else {
		heap.Fix(a, one.place-1)
	}
}

func (a *alarms) drop(one *alarm) {
	if one.place != 0 {
		heap.Remove(a, one.place-1)
	}
}

// clock waits for the earliest alarm, again and again.
func (p *Port) clock() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-p.wake:
		case <-p.stop:
			return
		}
		if next, ok := p.ring(time.Now()); ok {
			timer.Reset(time.Until(next))
		} else {
			timer.Stop()
		}
	}
}

// ring does what is due, and returns the time of the next alarm.
func (p *Port) ring(now time.Time) (next time.Time, ok bool) {
	for {
		p.mu.Lock()
		if len(p.alarms) == 0 {
			p.armed = time.Time{}
			p.mu.Unlock()
			return time.Time{}, false
		}
		first := p.alarms[0]
		if next := first.at; next.After(now) {
			p.armed = next
			p.mu.Unlock()
			return next, true
		}
		p.alarms.drop(first)
		if first.t != nil {
			p.lost(first.t, ErrTimeout)
		} else {
			p.step(first.x, nil)
		}
	}
}

// arm sets an alarm, and wakes the clock where it waits for a later one. The
// lock is held.
func (p *Port) arm(a *alarm, at time.Time) {
	p.alarms.set(a, at)
	if a.place == 1 && (p.armed.IsZero() || at.Before(p.armed)) {
		select {
		case p.wake <- struct{}{}:
		default:
		}
	}
}
