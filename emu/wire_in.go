package emu

import (
	"heddle/fabric"
	"heddle/ib"
)

// arrive is a packet's coming in at the far end of a link: its head at a
// switch, all of it at an adapter.
func (w *wires) arrive(e *dataEvent, why Loss) {
	a := &w.sides[e.slot]
	x := w.s.portOf(a.end)
	if a.epoch != e.epoch { // the room that it took is free again since then
		w.s.lost(x, LossLink, false)
		e.p.drop()
		return
	}
	if why == noLoss {
		why = w.s.comes(a.end, x, &e.p.head)
	}
	if why != noLoss {
		w.s.lost(x, why, false)
		w.release(e)
		e.p.drop()
		return
	}
	x.counters.receivedData(&e.p.head)
	if !w.s.isSwitch(a.end.Node) {
		w.take(a, x, e)
		return
	}
	c := w.newCargo()
	*c = cargo{p: e.p, slot: e.slot, vl: e.vl, tail: e.tail}
	q := &a.lanes[e.vl]
	if q.in != nil {
		q.inLast.next = c
		q.inLast = c
		return
	}
	q.in, q.inLast = c, c
	w.proceed(e.slot, e.vl)
}

// take gives a packet to the host of an adapter when the host has time for it.
func (w *wires) take(a *side, x *port, e *dataEvent) {
	e.kind = eventTaken
	if x.host == nil || x.host.opts.Gbps <= 0 {
		w.happen(e)
		return
	}
	takes := picos(float64(e.p.head.wire()*8*1000) / x.host.opts.Gbps)
	a.drained = max(a.drained, w.now) + takes
	w.later(a.drained-w.now, *e)
}

// release tells the far end of a link that a packet's room is free.
func (w *wires) release(e *dataEvent) {
	a := &w.sides[e.slot]
	if a.epoch != e.epoch {
		return
	}
	a.lanes[e.vl].room += e.n
	if slot, ok := w.far(a); ok {
		back := w.cable
		if trouble := w.s.troubleOf(w.s.portOf(a.end)); trouble != nil {
			back += toPicos(trouble.Delay)
		}
		w.later(back, dataEvent{kind: eventCredit, slot: slot, vl: e.vl, n: e.n, epoch: w.sides[slot].epoch})
	}
}

// proceed routes the first packet that came in by a lane; what leads nowhere
// is lost, and the next one's turn.
func (w *wires) proceed(slot int32, vl ib.VL) {
	a := &w.sides[slot]
	q := &a.lanes[vl]
	for c := q.in; c != nil && c.left == 0; c = q.in {
		if w.route(c, a.end) {
			return
		}
	}
}

// done is the end of one branch.
func (w *wires) done(b *branch) {
	c := b.c
	*b = branch{next: w.branches}
	w.branches = b
	if c.left--; c.left > 0 {
		return
	}
	slot, vl := c.slot, c.vl
	w.end(c)
	if slot >= 0 {
		w.proceed(slot, vl)
	}
}

// end takes a cargo of which nothing is left out of its buffer, where it is
// the first.
func (w *wires) end(c *cargo) {
	if c.slot >= 0 {
		a := &w.sides[c.slot]
		q := &a.lanes[c.vl]
		q.in = c.next
		w.release(&dataEvent{slot: c.slot, vl: c.vl, n: blocks(&c.p.head), epoch: a.epoch})
	}
	c.p.drop()
	*c = cargo{next: w.cargos}
	w.cargos = c
}

// route makes the branches of a cargo at a port of a switch. false means that
// there are none, and that it is lost or delivered.
func (w *wires) route(c *cargo, at fabric.End) bool {
	s, x := w.s, w.s.portOf(at)
	var out portSet
	why := LossDown
	if s.nodes[at.Node].up {
		out, why = s.nodes[at.Node].sw.relay(at.Port, c.p.head.dlid)
	}
	if why != noLoss {
		s.lost(x, why, false)
		w.end(c)
		return false
	}
	c.left = 1 // so that it lasts
	for first := true; !out.empty(); first = false {
		if !first {
			w.stats.Copied++
		}
		w.fork(c, x, at, fabric.End{Node: at.Node, Port: out.next()})
	}
	if c.left--; c.left > 0 {
		return true
	}
	w.end(c)
	return false
}

// fork makes a cargo's branch to a port.
func (w *wires) fork(c *cargo, x *port, at, to fabric.End) {
	s := w.s
	if !s.has(to) {
		s.lost(x, LossRoute, false)
		return
	}
	y := s.portOf(to)
	if to.Port == 0 {
		s.deliver(y, c.p.bytes())
		return
	}
	if why := s.leaves(to, y, &c.p.head); why != noLoss {
		s.lost(y, why, true)
		return
	}
	vl, why := s.lane(at.Port, to, y, c.p.head.sl)
	if why != noLoss {
		s.lost(x, why, false)
		return
	}
	if c.p.left == 0 {
		s.lost(y, LossHops, true)
		return
	}
	c.p.left--
	c.left++
	b := w.newBranch(c, w.slot(to), vl)
	// A faster port must not run out of a packet that is still coming.
	if wait := c.tail - w.duration(&w.sides[b.slot], c.p.head.wire()) - w.now; wait > 0 {
		w.later(wait, dataEvent{kind: eventReady, b: b})
		return
	}
	w.queueUp(b)
}

func (w *wires) newCargo() *cargo {
	c := w.cargos
	if c == nil {
		return new(cargo)
	}
	w.cargos = c.next
	return c
}

func (w *wires) newBranch(c *cargo, slot int32, vl ib.VL) *branch {
	b := w.branches
	if b == nil {
		b = new(branch)
	} else {
		w.branches = b.next
	}
	*b = branch{c: c, slot: slot, vl: vl}
	return b
}
