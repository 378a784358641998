package emu

import (
	"fmt"
	"time"

	"heddle/fabric"
	"heddle/ib"
	"heddle/mad"
)

// Wire is how the links and switches are that data packets take their time in.
// A link sends as fast as its PortInfo says. A switch buffers what comes in, in
// a queue for each port and VL, and has credits for the room (IBTA 1, 7.9): only
// the first packet of a queue can leave. It cuts through: a packet's head
// leaves as soon as the way is free, and the copies of a multicast packet each
// at their own time; its room is free when the last of them has left.
type Wire struct {
	// Cable is the time that a bit takes along a link, to which Trouble.Delay is
	// added; Jitter and Duplicate do not happen here.
	Cable time.Duration
	// Switch is the time from a packet's head at a port of a switch until it can
	// leave by another.
	Switch time.Duration
	// Buffer is the room for each VL of a port, in bytes; zero means 16 KiB. It
	// must hold a packet of the largest MTU.
	Buffer int
}

const (
	block     = 64 // bytes, which credits count in
	leastRoom = 4096 + mostHeaders + block
	usualRoom = 16 << 10
	mostRoom  = 1 << 30
	unlimited = 20 // PortInfo:HOQLife from which on packets do not get too old
)

func (w Wire) check() error {
	if w.Cable < 0 || w.Switch < 0 {
		return fmt.Errorf("negative time: cable %v, switch %v", w.Cable, w.Switch)
	}
	if w.Buffer != 0 && (w.Buffer < leastRoom || w.Buffer > mostRoom) {
		return fmt.Errorf("buffers of %d bytes, want %d to %d", w.Buffer, leastRoom, mostRoom)
	}
	return nil
}

func blocks(h *header) int32 { return int32((h.wire() + block - 1) / block) }

// wires is the state of all links and buffers.
type wires struct {
	*plane
	cable, relayTime picos
	room             int32 // blocks
	first            []int32
	sides            []side

	cargos   *cargo
	branches *branch
}

// side is one port: what waits to leave by it, and what came in by it.
type side struct {
	end     fabric.End
	lanes   []queue
	waiting uint16 // a bit for each lane that has something to send
	sending bool
	epoch   uint32 // counts the times that the link went down
	pace    picos  // for 1024 bytes, 0 while not known
	starved picos  // since when nothing of what waits can be sent, -1 while not
	drained picos  // when the host has taken all that came
	arbiter arbiter
}

// queue is a VL of a side.
type queue struct {
	first, last *branch // that wait to leave
	since       picos   // when the first of them came to be first
	timed       bool    // an eventExpire is under way
	credits     int32   // blocks that the far end has room for
	room        int32   // blocks that are free here
	in, inLast  *cargo  // that came
}

// cargo is a packet in the buffer of a switch, or in the memory of its sender.
type cargo struct {
	p    *parcel
	slot int32 // the side that it came in by, -1 for that of a host here
	vl   ib.VL
	left int32 // branches
	tail picos // when all of it is there
	next *cargo
}

// branch is one copy of a cargo, which leaves by one port.
type branch struct {
	c    *cargo
	slot int32
	vl   ib.VL
	next *branch
}

func newWires(d *plane, w Wire) *wires {
	x := &wires{
		plane: d, cable: toPicos(w.Cable), relayTime: toPicos(w.Switch),
		room: int32(fill(w.Buffer, usualRoom) / block),
	}
	s := d.s
	n := 0
	for id := range s.nodes {
		x.first = append(x.first, int32(n))
		n += len(s.nodes[id].ports)
	}
	x.sides = make([]side, n)
	flat := make([]queue, n*s.cfg.VLs)
	for i := range flat {
		flat[i].credits, flat[i].room = x.room, x.room
	}
	for id := range s.nodes {
		for p := range s.nodes[id].ports {
			i := int(x.first[id]) + p
			x.sides[i] = side{
				end: fabric.End{Node: fabric.NodeID(id), Port: uint16(p)}, starved: -1,
				lanes: flat[i*s.cfg.VLs : (i+1)*s.cfg.VLs],
			}
		}
	}
	return x
}

func (w *wires) slot(e fabric.End) int32 { return w.first[e.Node] + int32(e.Port) }

// far is the side at the other end of a side's link; ok is false without one.
func (w *wires) far(a *side) (slot int32, ok bool) {
	x := w.s.portOf(a.end)
	if !w.s.plugged(x) || !x.linkUp() {
		return 0, false
	}
	return w.slot(x.peer), true
}

// pace is what 1024 bytes take at a rate.
func pace(r ib.LinkRate) picos {
	const bits = 1024 * 8 * 1000 // so that dividing by Gb/s gives picoseconds
	return picos(bits / dataGbps(r))
}

// dataGbps is a link's rate without the coding, in which 8 bits of SDR to QDR
// are 10 on the wire, and 64 of FDR 66.
func dataGbps(r ib.LinkRate) float64 {
	if !r.IsValid() {
		return 2
	}
	switch r.Speed {
	case ib.SDR, ib.DDR, ib.QDR:
		return r.Gbps() * 8 / 10
	case ib.FDR:
		return r.Gbps() * 14.0625 / 14 * 64 / 66
	case ib.FDR10, ib.EDR, ib.HDR, ib.NDR, ib.XDR:
	}
	return r.Gbps()
}

// duration is how long a side sends so many bytes.
func (w *wires) duration(a *side, bytes int) picos {
	if a.pace == 0 {
		a.pace = pace(w.s.portOf(a.end).info.LinkRate())
	}
	return picos(bytes) * a.pace / 1024
}

// happen lets an event happen.
func (w *wires) happen(e *dataEvent) {
	switch e.kind {
	case eventArrive:
		w.arrive(e, noLoss)
	case eventBroken:
		w.arrive(e, LossLink)
	case eventReady:
		w.queueUp(e.b)
	case eventFree:
		a := &w.sides[e.slot]
		a.sending = false
		w.done(e.b)
		w.kick(e.slot)
	case eventCredit:
		a := &w.sides[e.slot]
		if a.epoch == e.epoch {
			a.lanes[e.vl].credits += e.n
			w.kick(e.slot)
		}
	case eventExpire:
		w.expire(e.slot, e.vl)
	case eventTaken:
		w.s.deliver(w.s.portOf(w.sides[e.slot].end), e.p.bytes())
		w.release(e)
		e.p.drop()
	case eventLeave, eventEnter: // are of packets that are carried at once
	}
}

// linkDown ends what was on its way on a port's link and what waited for it.
func (d *plane) linkDown(e fabric.End) {
	w := d.wires
	if w == nil {
		return
	}
	d.now = max(d.now, toPicos(d.s.now))
	slot := w.slot(e)
	a := &w.sides[slot]
	a.epoch++
	a.pace = 0
	for vl := range a.lanes {
		q := &a.lanes[vl]
		q.room = w.room
		for c := q.in; c != nil; c = c.next {
			q.room -= blocks(&c.p.head)
		}
	}
	w.purge(slot)
}

// linkUp gives a port the credits for what room the far end has.
func (d *plane) linkUp(e fabric.End) {
	w := d.wires
	if w == nil {
		return
	}
	a, b := &w.sides[w.slot(e)], &w.sides[w.slot(d.s.portOf(e).peer)]
	for vl := range a.lanes {
		a.lanes[vl].credits = b.lanes[vl].room
	}
}

// age is how long a packet may be the first of a queue at a switch's port; ok
// is false for ever (IBTA 1, 18.2.5.4).
func (w *wires) age(a *side) (life picos, ok bool) {
	info := &w.s.portOf(a.end).info
	if !w.s.isSwitch(a.end.Node) || info.HOQLife >= unlimited {
		return 0, false
	}
	return toPicos(mad.TimeValue(info.HOQLife).Duration()), true
}
