package emu

import (
	"math/bits"

	"heddle/fabric"
	"heddle/ib"
)

// send puts a host's packet into the queue of its port. The parcel is the
// wires' from here on.
func (w *wires) send(from fabric.End, p *parcel) {
	c := w.newCargo()
	*c = cargo{p: p, slot: -1, tail: w.now}
	if from.Port == 0 {
		w.route(c, from)
		return
	}
	x := w.s.portOf(from)
	why := w.s.leaves(from, x, &p.head)
	var vl ib.VL
	if why == noLoss {
		vl, why = w.s.lane(0, from, x, p.head.sl)
	}
	if why != noLoss {
		w.s.lost(x, why, true)
		w.end(c)
		return
	}
	c.left = 1
	w.queueUp(w.newBranch(c, w.slot(from), vl))
}

// queueUp lets a branch wait for its turn.
func (w *wires) queueUp(b *branch) {
	a := &w.sides[b.slot]
	q := &a.lanes[b.vl]
	if q.first == nil {
		q.first, q.since = b, w.now
		a.waiting |= 1 << b.vl
	} else {
		q.last.next = b
	}
	q.last = b
	w.kick(b.slot)
}

// unqueue takes the first branch of a queue that has one.
func (w *wires) unqueue(a *side, vl ib.VL) *branch {
	q := &a.lanes[vl]
	b := q.first
	q.first, b.next, q.since = b.next, nil, w.now
	if q.first == nil {
		q.last = nil
		a.waiting &^= 1 << vl
	}
	return b
}

// kick lets a port send what it can.
func (w *wires) kick(slot int32) {
	a := &w.sides[slot]
	if a.waiting == 0 {
		return
	}
	if !a.sending {
		if !w.s.portOf(a.end).open() {
			w.purge(slot)
			return
		}
		if vl, ok := w.choose(a); ok {
			w.awake(a)
			w.transmit(slot, vl)
		} else if a.starved < 0 {
			a.starved = w.now
		}
	}
	w.watch(slot)
}

// choose picks the lane to send from: one whose first packet the far end has
// room for.
func (w *wires) choose(a *side) (ib.VL, bool) {
	var ready uint16
	for m := a.waiting; m != 0; m &= m - 1 {
		q := &a.lanes[bits.TrailingZeros16(m)]
		if q.credits >= blocks(&q.first.c.p.head) {
			ready |= m & -m
		}
	}
	if ready == 0 {
		return 0, false
	}
	return a.arbiter.choose(w.s, w.s.portOf(a.end), ready)
}

// awake counts how long a port had to wait, in the time that 4 bytes take.
func (w *wires) awake(a *side) {
	if a.starved < 0 {
		return
	}
	word := max(w.duration(a, 4), 1)
	w.s.portOf(a.end).counters.total.PortXmitWait += uint64((w.now - a.starved) / word)
	a.starved = -1
}

// transmit sends the first packet of a lane.
func (w *wires) transmit(slot int32, vl ib.VL) {
	a := &w.sides[slot]
	x := w.s.portOf(a.end)
	b := w.unqueue(a, vl)
	p := b.c.p
	n, takes := blocks(&p.head), w.duration(a, p.head.wire())
	a.arbiter.charge(n)
	a.sending = true
	w.later(takes, dataEvent{kind: eventFree, slot: slot, b: b})
	x.counters.sentData(&p.head)
	a.lanes[vl].credits -= n
	peer := w.slot(x.peer)
	w.sides[peer].lanes[vl].room -= n
	w.depart(x, p, dataEvent{slot: peer, vl: vl, p: p, n: n, epoch: w.sides[peer].epoch}, takes)
}

// depart has a packet come to the far end of the link that it is sent on.
func (w *wires) depart(x *port, p *parcel, e dataEvent, takes picos) {
	p.refs++
	head := w.cable
	trouble := w.s.troubleOf(x)
	if trouble != nil {
		head += toPicos(trouble.Delay)
	}
	e.tail = w.now + head + takes
	switch {
	case trouble != nil && w.s.chance(trouble.Drop):
		e.kind = eventBroken
		w.later(head+takes, e)
	case w.s.isSwitch(x.peer.Node):
		e.kind = eventArrive
		e.tail += w.relayTime
		w.later(head+w.relayTime, e)
	default:
		e.kind = eventArrive
		w.later(head+takes, e)
	}
}

// purge loses all that waits to leave by a port.
func (w *wires) purge(slot int32) {
	a := &w.sides[slot]
	a.starved = -1
	for a.waiting != 0 {
		w.discard(a, ib.VL(bits.TrailingZeros16(a.waiting)), LossDown)
	}
}

// discard loses the first packet of a lane.
func (w *wires) discard(a *side, vl ib.VL, why Loss) {
	b := w.unqueue(a, vl)
	w.s.lost(w.s.portOf(a.end), why, true)
	w.done(b)
}

// watch sets a timer for each lane in which something waits.
func (w *wires) watch(slot int32) {
	a := &w.sides[slot]
	life, ok := w.age(a)
	if !ok {
		return
	}
	for m := a.waiting; m != 0; m &= m - 1 {
		vl := ib.VL(bits.TrailingZeros16(m))
		if q := &a.lanes[vl]; !q.timed {
			q.timed = true
			w.later(q.since+life-w.now, dataEvent{kind: eventExpire, slot: slot, vl: vl})
		}
	}
}

// expire loses the first packet of a lane if it is too old.
func (w *wires) expire(slot int32, vl ib.VL) {
	a := &w.sides[slot]
	q := &a.lanes[vl]
	q.timed = false
	life, ok := w.age(a)
	if ok && q.first != nil && q.since+life <= w.now {
		w.discard(a, vl, LossOld)
		if a.waiting == 0 {
			a.starved = -1
		}
	}
	w.kick(slot)
}
