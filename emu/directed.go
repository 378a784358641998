package emu

import (
	"heddle/fabric"
	"heddle/ib"
	"heddle/mad"
)

// step is what a node does with a packet.
type step uint8

const (
	drop    step = iota
	forward      // out of a port
	deliver      // to the node's own agent or client
)

// directed does a node's part of a directed route (IBTA 1, 14.2.2): it moves
// the hop pointer, notes the way back, and tells where the packet goes.
func (s *Subnet) directed(p *Packet) (out uint8, do step) {
	if p.MAD.HopCount() > mad.MaxHops {
		return 0, drop
	}
	if p.MAD.Returning() {
		return s.inbound(p)
	}
	return s.outbound(p)
}

func (s *Subnet) outbound(p *Packet) (out uint8, do step) {
	m := &p.MAD
	ptr, count := m.HopPointer(), m.HopCount()
	switch {
	case count == 0 && ptr == 0:
		return s.endOfRoute(p)
	case ptr == 0:
		return s.startRoute(p)
	case ptr < count && s.isSwitch(p.at.Node):
		m.ReturnPath()[ptr] = uint8(p.at.Port)
		m.SetHopPointer(ptr + 1)
		return m.InitialPath()[ptr+1], forward
	case ptr == count:
		m.ReturnPath()[ptr] = uint8(p.at.Port)
		return s.endOfRoute(p)
	case ptr == count+1: // a LID-routed last part ends here
		return 0, deliver
	default: // an adapter cannot pass it on
		return 0, drop
	}
}

// startRoute is the first hop: at the sender, or at the switch that the
// LID-routed first part of the route led to.
func (s *Subnet) startRoute(p *Packet) (out uint8, do step) {
	p.MAD.SetHopPointer(1)
	out = p.MAD.InitialPath()[1]
	p.DLID = ib.PermissiveLID
	if s.isSwitch(p.at.Node) {
		return out, forward
	}
	if !p.origin || uint16(out) != p.at.Port {
		return 0, drop
	}
	return out, forward
}

// endOfRoute is where the directed part ends: at the node that is meant, or at
// a switch from where a LID-routed part goes on.
func (s *Subnet) endOfRoute(p *Packet) (out uint8, do step) {
	p.MAD.SetHopPointer(p.MAD.HopCount() + 1)
	lid := p.MAD.DrDLID()
	if lid == ib.PermissiveLID {
		return 0, deliver
	}
	if !s.isSwitch(p.at.Node) {
		return 0, drop
	}
	// The answer comes back to this switch by LID, and goes on from here along
	// the return path.
	p.DLID, p.SLID = lid, s.portOf(fabric.End{Node: p.at.Node}).info.LID
	return s.byLID(p)
}

func (s *Subnet) inbound(p *Packet) (out uint8, do step) {
	m := &p.MAD
	ptr, count := m.HopPointer(), m.HopCount()
	switch {
	case ptr == 0:
		return 0, deliver
	case ptr == 1: // or the sender itself is who answers
		return s.endOfReturn(p)
	case ptr == count+1:
		p.DLID = ib.PermissiveLID
	case ptr > count || !s.isSwitch(p.at.Node):
		return 0, drop
	}
	m.SetHopPointer(ptr - 1)
	return m.ReturnPath()[ptr-1], forward
}

// endOfReturn is where the directed part of the way back ends.
func (s *Subnet) endOfReturn(p *Packet) (out uint8, do step) {
	p.MAD.SetHopPointer(0)
	lid := p.MAD.DrSLID()
	if lid == ib.PermissiveLID {
		return 0, deliver
	}
	if !s.isSwitch(p.at.Node) {
		return 0, drop
	}
	p.DLID = lid
	return s.byLID(p)
}
