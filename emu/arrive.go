package emu

import (
	"time"

	"heddle/ib"
	"heddle/mad"
)

// arrive gives a packet to whoever it is for at p.at; true means that it is now
// an answer that has to be carried back.
func (s *Subnet) arrive(p *Packet) bool {
	switch class := p.MAD.Class(); {
	case p.MAD.Method() == mad.MethodTrapRepress && p.MAD.TID()>>48 == 0 && class == mad.ClassLID:
		s.repress(p)
		s.stats.Delivered++
		s.give(p)
		return false
	case p.MAD.IsResponse():
		s.claim(p)
		return false
	case class.IsSMP() && p.MAD.Attr() != mad.AttrSMInfo && isGetOrSet(p):
		return s.ask(p)
	case class == mad.ClassPerf && isGetOrSet(p) && s.claimant(p.at, p) == nil:
		return s.ask(p)
	default:
		return s.claim(p)
	}
}

func isGetOrSet(p *Packet) bool {
	return p.MAD.Method() == mad.MethodGet || p.MAD.Method() == mad.MethodSet
}

// claim gives a packet to the client that it is for. A request that nobody
// claims, and that an agent would refuse, turns into the refusal.
func (s *Subnet) claim(p *Packet) bool {
	if !s.admitsKey(p) {
		s.lose(p)
		return false
	}
	if c := s.claimant(p.at, p); c != nil {
		s.stats.Delivered++
		c.opts.Receive(p)
		s.give(p)
		return false
	}
	s.stats.Unclaimed++
	if p.MAD.Class().IsSMP() || !isGetOrSet(p) {
		s.lose(p)
		return false
	}
	p.MAD.SetStatus(mad.StatusBadVersion)
	p.turn(mad.MethodGetResp)
	return true
}

// agent is what answers at a node that takes its time.
type agent struct {
	service time.Duration // for one request
	limit   int           // of SMPs that wait, 0 for none
	waiting int
	free    time.Duration // when what it has taken on is done
}

// ask lets the node's agent answer; true means that the answer is there.
func (s *Subnet) ask(p *Packet) bool {
	a := s.nodes[p.at.Node].agent
	if a == nil {
		return s.answer(p)
	}
	if a.limit > 0 && a.waiting >= a.limit && p.MAD.Class().IsSMP() {
		s.portOf(p.at).counters.total.VL15Dropped++
		s.stats.QueueFull++
		s.lose(p)
		return false
	}
	a.waiting++
	a.free = max(a.free, s.now) + a.service
	s.after(a.free-s.now, &served{p, a})
	return false
}

// served is an agent's being done with a request.
type served struct {
	p *Packet
	a *agent
}

func (e *served) fire(s *Subnet) {
	e.a.waiting--
	if !s.nodes[e.p.at.Node].up {
		s.lose(e.p)
		return
	}
	if s.answer(e.p) {
		s.run(e.p)
	}
}

// answer makes the packet its own answer; false means that none is due.
func (s *Subnet) answer(p *Packet) bool {
	done := false
	if p.MAD.Class() == mad.ClassPerf {
		done = s.answerPerf(p)
	} else {
		done = s.answerSMP(p)
	}
	if !done {
		s.lose(p)
		return false
	}
	s.stats.Delivered++
	s.stats.Sent++
	if s.isSwitch(p.at.Node) {
		p.at.Port = 0
	}
	return true
}

// admitsKey checks the Q_Key and the P_Key of a packet for a client (IBTA 1,
// 10.2.4, 10.9.3). What fails is counted, and told to the subnet manager.
func (s *Subnet) admitsKey(p *Packet) bool {
	if p.MAD.Class().IsSMP() {
		return true
	}
	e, x := s.keyPort(p.at)
	if p.QKey != ib.GSIQKey {
		count16(&x.info.QKeyViolations)
		s.trapBadKey(e, mad.TrapBadQKey, uint32(p.QKey), p)
		return false
	}
	if !s.holds(e, p.PKey) {
		count16(&x.info.PKeyViolations)
		s.trapBadKey(e, mad.TrapBadPKey, uint32(p.PKey), p)
		return false
	}
	return true
}

func count16(n *uint16) {
	if *n < 0xFFFF {
		*n++
	}
}
