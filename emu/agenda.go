package emu

import (
	"time"

	"heddle/fabric"
	"heddle/ib"
)

// dataEvent is something that happens to data packets. What its fields mean
// depends on its kind.
type dataEvent struct {
	kind  eventKind
	vl    ib.VL
	hops  uint8
	made  bool
	epoch uint32
	slot  int32
	n     int32
	at    fabric.End
	p     *parcel
	b     *branch
	tail  picos
	next  *dataEvent // in the list of free events
}

type eventKind uint8

const (
	eventLeave  eventKind = iota // a packet is about to leave by a port
	eventEnter                   // a packet comes in at a port
	eventArrive                  // a packet's head is through a switch's port, or its tail at an adapter
	eventBroken                  // a packet that the link damaged is there
	eventReady                   // a branch may be queued
	eventFree                    // a packet's tail has left a port
	eventCredit                  // the far end of a link has room again
	eventExpire                  // it is time to look at the head of a queue
	eventTaken                   // a host has taken a packet
)

// agenda is a queue of events by time, and by their making where that is
// equal: a heap of four branches.
type agenda struct {
	heap []entry
	seq  uint64
	free *dataEvent
}

type entry struct {
	at  picos
	seq uint64
	e   *dataEvent
}

func (a entry) before(b entry) bool { return a.at < b.at || a.at == b.at && a.seq < b.seq }

func (q *agenda) push(at picos, e dataEvent) {
	r := q.free
	if r == nil {
		r = new(dataEvent)
	} else {
		q.free = r.next
	}
	*r = e
	q.seq++
	x := entry{at, q.seq, r}
	q.heap = append(q.heap, x)
	i := len(q.heap) - 1
	for i > 0 {
		up := (i - 1) / 4
		if !x.before(q.heap[up]) {
			break
		}
		q.heap[i] = q.heap[up]
		i = up
	}
	q.heap[i] = x
}

// pop takes the first event of an agenda that is not empty.
func (q *agenda) pop() (picos, dataEvent) {
	top := q.heap[0]
	last := len(q.heap) - 1
	x := q.heap[last]
	q.heap[last] = entry{}
	q.heap = q.heap[:last]
	if last > 0 {
		q.sink(x)
	}
	e := *top.e
	*top.e = dataEvent{next: q.free}
	q.free = top.e
	return top.at, e
}

// sink puts an entry where the top is missing.
func (q *agenda) sink(x entry) {
	h, i := q.heap, 0
	for {
		first := 4*i + 1
		if first >= len(h) {
			break
		}
		least := first
		for k := first + 1; k < min(first+4, len(h)); k++ {
			if h[k].before(h[least]) {
				least = k
			}
		}
		if !h[least].before(x) {
			break
		}
		h[i] = h[least]
		i = least
	}
	h[i] = x
}

// next is the time of the first event, rounded up to what the subnet counts in.
func (q *agenda) next() (time.Duration, bool) {
	if len(q.heap) == 0 {
		return 0, false
	}
	return time.Duration((q.heap[0].at + 999) / 1000), true
}

// later lets an event happen a while from now.
func (d *plane) later(after picos, e dataEvent) { d.agenda.push(d.now+after, e) }

// step lets the first event happen.
func (d *plane) step() {
	at, e := d.agenda.pop()
	d.now = at
	d.s.now = max(d.s.now, time.Duration(at/1000))
	switch e.kind {
	case eventLeave, eventEnter:
		d.run(e.p, e.kind, turn{e.at, e.hops, e.made})
		e.p.drop()
	default:
		d.wires.happen(&e)
	}
}
