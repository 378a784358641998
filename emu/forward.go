package emu

import (
	"time"

	"heddle/fabric"
	"heddle/ib"
	"heddle/mad"
)

// run carries a packet until it is delivered, lost, or waits for its time. The
// packet is the subnet's from here on.
func (s *Subnet) run(p *Packet) {
	for {
		if !s.nodes[p.at.Node].up {
			s.lose(p)
			return
		}
		out, do := s.route(p)
		switch do {
		case forward:
			if !s.cross(p, out) {
				return
			}
		case deliver:
			if !s.arrive(p) {
				return
			}
		case drop:
			s.lose(p)
			return
		}
	}
}

// lose is the end of a packet that goes nowhere.
func (s *Subnet) lose(p *Packet) {
	s.stats.Lost++
	s.give(p)
}

// route tells what the node at which the packet is does with it.
func (s *Subnet) route(p *Packet) (out uint8, do step) {
	if p.MAD.Class() != mad.ClassDirected {
		return s.byLID(p)
	}
	if p.DLID == ib.PermissiveLID || s.owns(p.at, p.DLID) {
		return s.directed(p)
	}
	return s.byLID(p)
}

// byLID looks the destination up.
func (s *Subnet) byLID(p *Packet) (out uint8, do step) {
	switch {
	case p.DLID == ib.PermissiveLID || s.owns(p.at, p.DLID):
		return 0, deliver
	case s.isSwitch(p.at.Node):
		out = s.nodes[p.at.Node].sw.lookup(p.DLID)
		if out == 0 || out == noRoute {
			return 0, drop
		}
		return out, forward
	case p.origin:
		return uint8(p.at.Port), forward
	default:
		return 0, drop
	}
}

// owns tells whether a LID is one of the port's, or of a switch's own.
func (s *Subnet) owns(at fabric.End, lid ib.LID) bool {
	if s.isSwitch(at.Node) {
		at.Port = 0
	}
	info := &s.portOf(at).info
	return info.LID != 0 && lid>>info.LMC == info.LID>>info.LMC
}

// cross takes a packet out of a port and over the link; false means that the
// packet is not the caller's any more.
func (s *Subnet) cross(p *Packet, out uint8) bool {
	from := fabric.End{Node: p.at.Node, Port: uint16(out)}
	if out == 0 || from.Port > s.nodes[from.Node].numPorts {
		s.lose(p)
		return false
	}
	x := s.portOf(from)
	if !x.linkUp() || p.hops >= maxLIDHops || !s.mayLeave(x, p) || !s.partitionAllows(from, x, p, false) {
		x.counters.total.PortXmitDiscards++
		s.lose(p)
		return false
	}
	x.counters.sent()
	p.at, p.origin = x.peer, false
	p.hops++
	return s.pass(p, x)
}

// mayLeave tells whether a port's state lets a packet out (IBTA 1, 7.2.7):
// before a port is active, only subnet management passes.
func (s *Subnet) mayLeave(x *port, p *Packet) bool {
	return p.MAD.Class().IsSMP() || x.info.PortState == mad.PortActive
}

// enter is a packet's arrival at the port p.at, over the link.
func (s *Subnet) enter(p *Packet) bool {
	x := s.portOf(p.at)
	if !x.linkUp() || !s.nodes[p.at.Node].up {
		s.lose(p)
		return false
	}
	if !p.MAD.Class().IsSMP() {
		if x.info.PortState == mad.PortArmed {
			s.setState(p.at, mad.PortActive) // what the first data packet does
		}
		if x.info.PortState != mad.PortActive || !s.partitionAllows(p.at, x, p, true) {
			x.counters.total.PortRcvErrors++
			s.lose(p)
			return false
		}
	}
	x.counters.received()
	return true
}

// pass lets the packet take its time on the link that it has left through x,
// and suffer what is wrong with the link.
func (s *Subnet) pass(p *Packet, x *port) bool {
	trouble, delay := s.troubleOf(x), s.cfg.Hop
	if trouble != nil {
		if s.chance(trouble.Drop) {
			s.lose(p)
			return false
		}
		if !p.copied && s.chance(trouble.Duplicate) {
			s.later(s.copyOf(p), delay+s.delay(trouble))
		}
		delay += s.delay(trouble)
	}
	if delay > 0 {
		s.later(p, delay)
		return false
	}
	return s.enter(p)
}

// later lets a packet enter p.at a while from now.
func (s *Subnet) later(p *Packet, d time.Duration) { s.after(d, p) }

func (p *Packet) fire(s *Subnet) {
	if s.enter(p) {
		s.run(p)
	}
}

func (s *Subnet) copyOf(p *Packet) *Packet {
	q := s.take()
	*q = *p
	q.copied, q.next = true, nil
	return q
}
