package emu

import (
	"heddle/fabric"
	"heddle/ib"
	"heddle/mad"
)

// canTrain tells whether the port's end of a link is ready.
func (s *Subnet) canTrain(e fabric.End) bool {
	x := s.portOf(e)
	return s.nodes[e.Node].up && x.link != fabric.NoLink && s.plugged(x) && x.info.PortPhysicalState != mad.PhysDisabled
}

// plugged tells whether the cable in a port is whole.
func (s *Subnet) plugged(x *port) bool { return x.peer != fabric.End{} }

// train brings a port's link up if both ends are ready for it; the other end
// does the same for itself.
func (s *Subnet) train(e fabric.End) {
	x := s.portOf(e)
	if x.linkUp() || !s.canTrain(e) || !s.canTrain(x.peer) {
		return
	}
	rate, ok := s.common(x, s.portOf(x.peer))
	if !ok {
		return
	}
	x.info.PortPhysicalState, x.info.PortState = mad.PhysLinkUp, mad.PortInit
	activate(&x.info, rate)
	s.data.linkUp(e)
	s.linkChanged(e)
}

// common is the fastest rate that both ends enable.
func (s *Subnet) common(x, y *port) (ib.LinkRate, bool) {
	a, b := &x.info, &y.info
	rate := ib.LinkRate{Width: (a.LinkWidthEnabled & b.LinkWidthEnabled).Widest()}
	switch {
	case a.LinkSpeedExtEnabled2&b.LinkSpeedExtEnabled2 != 0:
		rate.Speed = (a.LinkSpeedExtEnabled2 & b.LinkSpeedExtEnabled2).Fastest()
	case a.LinkSpeedExtEnabled&b.LinkSpeedExtEnabled != 0:
		rate.Speed = (a.LinkSpeedExtEnabled & b.LinkSpeedExtEnabled).Fastest()
	default:
		rate.Speed = (a.LinkSpeedEnabled & b.LinkSpeedEnabled).Fastest()
	}
	return rate, rate.IsValid()
}

// activate writes the rate that a link came up with.
func activate(info *mad.PortInfo, rate ib.LinkRate) {
	info.LinkWidthActive = mad.LinkWidthOf(rate.Width)
	info.LinkSpeedActive = mad.LinkSpeedOf(min(rate.Speed, ib.QDR)) // what those tell who know no later ones
	info.LinkSpeedExtActive, info.LinkSpeedExtActive2 = mad.LinkSpeedExtOf(rate.Speed), mad.LinkSpeedExt2Of(rate.Speed)
}

// fall takes a port's link down, to a physical state.
func (s *Subnet) fall(e fabric.End, to mad.PhysState) {
	x := s.portOf(e)
	was := x.linkUp()
	x.info.PortPhysicalState, x.info.PortState = to, mad.PortDown
	if was {
		x.counters.total.LinkDownedCounter++
		s.data.linkDown(e)
		s.linkChanged(e)
	}
}

// bothFall takes a link down from one end; the other goes back to polling.
func (s *Subnet) bothFall(e fabric.End, to mad.PhysState) {
	x := s.portOf(e)
	s.fall(e, to)
	if s.plugged(x) {
		if peer := s.portOf(x.peer); peer.linkUp() {
			s.fall(x.peer, mad.PhysPolling)
		}
	}
}

// disable is a port that its manager switched off.
func (s *Subnet) disable(e fabric.End) { s.bothFall(e, mad.PhysDisabled) }

// retrain is a link that goes down and comes up again, if it can.
func (s *Subnet) retrain(e fabric.End) {
	s.bothFall(e, mad.PhysPolling)
	s.trainBoth(e)
}

func (s *Subnet) trainBoth(e fabric.End) {
	s.train(e)
	if x := s.portOf(e); s.plugged(x) {
		s.train(x.peer)
	}
}

// setState is a change that the port's state machine or its manager makes to a
// link that is up.
func (s *Subnet) setState(e fabric.End, to mad.PortState) { s.portOf(e).info.PortState = to }

// linkChanged notes at a switch that a link went down or came up, and tells
// the subnet manager (IBTA 1, 14.2.5.4, 14.3.4).
func (s *Subnet) linkChanged(e fabric.End) {
	w := s.nodes[e.Node].sw
	if w == nil || !s.nodes[e.Node].up {
		return
	}
	w.info.PortStateChange = true
	s.trapLinkState(e.Node)
}
