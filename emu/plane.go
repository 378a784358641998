package emu

import (
	"math"
	"time"

	"heddle/fabric"
)

// plane is the part of a Subnet that carries data packets. Without Config.Wire
// a packet is where it is sent before Send returns, unless a link delays it.
type plane struct {
	s      *Subnet
	stats  Data
	agenda agenda
	now    picos

	parcels *parcel // free ones
	quick   parcel  // for one that is carried at once
	busy    bool    // a packet is being carried
	turns   []turn  // of that packet, that are left

	wires *wires // nil without Config.Wire
}

// picos is a time in picoseconds: a byte at 400 Gb/s takes 20.
type picos int64

func toPicos(d time.Duration) picos {
	if d > math.MaxInt64/1000 {
		return math.MaxInt64 / 2
	}
	return picos(d) * 1000
}

// parcel is a data packet under way, which its copies share.
type parcel struct {
	b     []byte // empty where somebody lent it
	lent  []byte
	head  header
	refs  int32
	left  int32 // crossings, after which the tables must lead in a circle
	next  *parcel
	plane *plane
}

func (p *parcel) bytes() []byte {
	if p.lent != nil {
		return p.lent
	}
	return p.b
}

// crossings is how often a packet may cross a link: a multicast packet that
// the tables lead rightly crosses each at most once, in one direction.
func (d *plane) crossings() int32 { return int32(d.s.fabric.NumLinks()) + 1 }

func (d *plane) pack(b []byte, h header) *parcel {
	p := d.parcels
	if p == nil {
		p = &parcel{plane: d}
	} else {
		d.parcels = p.next
	}
	p.b, p.head, p.refs, p.left, p.next = append(p.b[:0], b...), h, 1, d.crossings(), nil
	return p
}

// drop gives back a share of a parcel.
func (p *parcel) drop() {
	if p.refs--; p.refs == 0 {
		p.next = p.plane.parcels
		p.plane.parcels = p
	}
}

// turn is a packet's being about to leave by a port.
type turn struct {
	from fabric.End
	hops uint8
	made bool // a copy that a link made, which links copy no more
}

// send takes a host's packet.
func (d *plane) send(from fabric.End, b []byte, h header) {
	d.now = max(d.now, toPicos(d.s.now))
	kind := eventLeave
	if from.Port == 0 {
		kind = eventEnter // a switch's own port is behind its relay
	}
	switch {
	case d.wires != nil:
		d.wires.send(from, d.pack(b, h))
	case d.busy:
		d.later(0, dataEvent{kind: kind, p: d.pack(b, h), at: from})
	default:
		d.quick = parcel{lent: b, head: h, left: d.crossings()}
		d.run(&d.quick, kind, turn{from: from})
		d.quick.lent = nil
	}
}

// run takes a packet out of a port or in at one, and on until nothing is left
// of it here.
func (d *plane) run(p *parcel, kind eventKind, t turn) {
	d.busy = true
	d.turns = d.turns[:0]
	if kind == eventEnter {
		d.enter(p, t)
	} else {
		d.leave(p, t)
	}
	for n := len(d.turns); n > 0; n = len(d.turns) {
		t := d.turns[n-1]
		d.turns = d.turns[:n-1]
		d.leave(p, t)
	}
	d.busy = false
}

// leave takes a packet out of a port and over the link.
func (d *plane) leave(p *parcel, t turn) {
	s := d.s
	x := s.portOf(t.from)
	if why := s.leaves(t.from, x, &p.head); why != noLoss {
		s.lost(x, why, true)
		return
	}
	if t.hops >= maxLIDHops || p.left == 0 {
		s.lost(x, LossHops, true)
		return
	}
	p.left--
	x.counters.sentData(&p.head)
	trouble, delay := s.troubleOf(x), s.cfg.Hop
	if trouble != nil {
		if s.chance(trouble.Drop) {
			s.lost(s.portOf(x.peer), LossLink, false)
			return
		}
		if !t.made && s.chance(trouble.Duplicate) {
			d.stats.Copied++
			d.post(p, delay+s.delay(trouble), dataEvent{kind: eventEnter, at: x.peer, hops: t.hops + 1, made: true})
		}
		delay += s.delay(trouble)
	}
	if delay > 0 {
		d.post(p, delay, dataEvent{kind: eventEnter, at: x.peer, hops: t.hops + 1, made: t.made})
		return
	}
	d.enter(p, turn{x.peer, t.hops + 1, t.made})
}

// post lets something happen to a packet later. One that was lent is copied.
func (d *plane) post(p *parcel, delay time.Duration, e dataEvent) {
	if p.lent != nil {
		left := p.left
		e.p = d.pack(p.lent, p.head)
		e.p.left = left
	} else {
		p.refs++
		e.p = p
	}
	d.later(toPicos(delay), e)
}

// enter is a packet's coming in at a port.
func (d *plane) enter(p *parcel, t turn) {
	s := d.s
	x := s.portOf(t.from)
	if t.from.Port > 0 {
		if why := s.comes(t.from, x, &p.head); why != noLoss {
			s.lost(x, why, false)
			return
		}
		x.counters.receivedData(&p.head)
	}
	if !s.isSwitch(t.from.Node) {
		s.deliver(x, p.bytes())
		return
	}
	d.relay(p, t, x)
}

// relay is a packet's way through a switch.
func (d *plane) relay(p *parcel, t turn, x *port) {
	s := d.s
	out, why := s.nodes[t.from.Node].sw.relay(t.from.Port, p.head.dlid)
	if why != noLoss {
		s.lost(x, why, false)
		return
	}
	first := true
	for !out.empty() {
		to := fabric.End{Node: t.from.Node, Port: out.next()}
		if !first {
			d.stats.Copied++
		}
		first = false
		d.fork(p, t, x, to)
	}
}

// fork is one copy's way to a port of the switch that it is in.
func (d *plane) fork(p *parcel, t turn, x *port, to fabric.End) {
	s := d.s
	if to.Port == 0 {
		s.deliver(s.portOf(to), p.bytes())
		return
	}
	if !s.has(to) {
		s.lost(x, LossRoute, false)
		return
	}
	if _, why := s.lane(t.from.Port, to, s.portOf(to), p.head.sl); why != noLoss {
		s.lost(x, why, false)
		return
	}
	d.turns = append(d.turns, turn{to, t.hops, t.made})
}

// troubleOf is what is wrong with the link at a port, nil for nothing.
func (s *Subnet) troubleOf(x *port) *Trouble {
	if x.trouble != nil {
		return x.trouble
	}
	return s.trouble
}
