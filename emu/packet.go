package emu

import (
	"heddle/fabric"
	"heddle/ib"
	"heddle/mad"
	"heddle/umad"
)

// Packet is a management datagram with the headers that carry it.
type Packet struct {
	MAD mad.Datagram
	// SLID and DLID are ib.PermissiveLID on the directed part of a route.
	SLID, DLID ib.LID
	SQP, DQP   ib.QPN
	QKey       ib.QKey
	PKey       ib.PKey
	SL         ib.SL
	// GRH is nil where the packet has none; its GID is the destination's.
	GRH *umad.GRH

	// at is the port on which it came into a node; for a packet that its node
	// made, origin is set and at is the port that it goes out of, port 0 in a
	// switch.
	at     fabric.End
	origin bool
	copied bool // by a link: links copy it no more
	hops   uint16
	next   *Packet // in the list of free packets
}

// maxLIDHops ends a packet that runs in a loop of the forwarding tables. Real
// ones die of old age.
const maxLIDHops = 128

// take gives a packet that nobody uses; give takes it back.
func (s *Subnet) take() *Packet {
	p := s.free
	if p == nil {
		return &Packet{}
	}
	s.free = p.next
	p.next = nil
	return p
}

func (s *Subnet) give(p *Packet) {
	p.GRH = nil
	p.next = s.free
	s.free = p
}

// turn makes the packet an answer that goes back where it came from.
func (p *Packet) turn(m mad.Method) {
	p.MAD.SetMethod(m)
	p.SLID, p.DLID = p.DLID, p.SLID
	if p.MAD.Class() == mad.ClassDirected {
		p.MAD.SetReturning(true)
		if p.MAD.DrDLID() == ib.PermissiveLID {
			p.SLID, p.DLID = ib.PermissiveLID, ib.PermissiveLID
		}
	}
	p.SQP, p.DQP = p.DQP, p.SQP
	p.origin, p.hops, p.copied = true, 0, false
}
