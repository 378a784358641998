package emu

import (
	"fmt"
	"time"

	"heddle/fabric"
	"heddle/mad"
)

// Trouble is what goes wrong on a link, for each packet that crosses it.
type Trouble struct {
	// Drop and Duplicate are probabilities, 0 to 1.
	Drop, Duplicate float64
	// Delay is added to Config.Hop; Jitter is the most that chance adds to it,
	// so that packets overtake each other.
	Delay, Jitter time.Duration
}

func (t Trouble) check() error {
	if t.Drop < 0 || t.Drop > 1 || t.Duplicate < 0 || t.Duplicate > 1 || t.Delay < 0 || t.Jitter < 0 {
		return fmt.Errorf("trouble %+v: want probabilities of 0 to 1, and no negative times", t)
	}
	return nil
}

// Trouble sets what goes wrong on all links that have no trouble of their own.
// The zero Trouble ends it.
func (s *Subnet) Trouble(t Trouble) error {
	if err := t.check(); err != nil {
		return err
	}
	s.trouble = troubleOrNil(t)
	return nil
}

// LinkTrouble sets what goes wrong on one link, in both directions.
func (s *Subnet) LinkTrouble(id fabric.LinkID, t Trouble) error {
	if err := t.check(); err != nil {
		return err
	}
	l := s.fabric.Link(id)
	s.portOf(l.A).trouble, s.portOf(l.B).trouble = troubleOrNil(t), troubleOrNil(t)
	return nil
}

func troubleOrNil(t Trouble) *Trouble {
	if t == (Trouble{}) {
		return nil
	}
	return &t
}

func (s *Subnet) chance(p float64) bool { return p > 0 && s.random.Float64() < p }

func (s *Subnet) delay(t *Trouble) time.Duration {
	d := t.Delay
	if t.Jitter > 0 {
		d += time.Duration(s.random.Int64N(int64(t.Jitter) + 1))
	}
	return d
}

// CutLink takes a cable out; RestoreLink plugs it in again.
func (s *Subnet) CutLink(id fabric.LinkID) {
	l := s.fabric.Link(id)
	if !s.plugged(s.portOf(l.A)) {
		return
	}
	s.bothFall(l.A, s.portOf(l.A).info.LinkDownDefaultState)
	s.portOf(l.A).peer, s.portOf(l.B).peer = fabric.End{}, fabric.End{}
}

// RestoreLink plugs in a cable that CutLink took out.
func (s *Subnet) RestoreLink(id fabric.LinkID) {
	if !s.plugged(s.portOf(s.fabric.Link(id).A)) {
		s.connect(id)
	}
}

// FlapLink cuts a link and restores it, again and again: so many times, down
// and up for the given times each.
func (s *Subnet) FlapLink(id fabric.LinkID, times int, down, up time.Duration) {
	if times <= 0 {
		return
	}
	s.CutLink(id)
	s.after(down, call(func(s *Subnet) {
		s.RestoreLink(id)
		s.after(up, call(func(s *Subnet) { s.FlapLink(id, times-1, down, up) }))
	}))
}

// KillNode lets a node lose its power: its links go down, and nothing answers
// there. What its tables held is forgotten.
func (s *Subnet) KillNode(id fabric.NodeID) {
	n := &s.nodes[id]
	if !n.up {
		return
	}
	n.up = false
	for p := 1; p < len(n.ports); p++ {
		s.bothFall(fabric.End{Node: id, Port: uint16(p)}, mad.PhysPolling)
	}
}

// ReviveNode powers a node up again.
func (s *Subnet) ReviveNode(id fabric.NodeID) {
	n := &s.nodes[id]
	if n.up {
		return
	}
	s.forget(id)
	n.up = true
	for p := 1; p < len(n.ports); p++ {
		s.trainBoth(fabric.End{Node: id, Port: uint16(p)})
	}
}

// forget puts a node back to what it was before anybody wrote to it; cables
// stay as they are.
func (s *Subnet) forget(id fabric.NodeID) {
	n := &s.nodes[id]
	if n.sw != nil {
		n.sw = s.newSwitch(s.fabric.Node(id))
	}
	for p := range n.ports {
		e := fabric.End{Node: id, Port: uint16(p)}
		x := &n.ports[p]
		peer, trouble := x.peer, x.trouble
		s.makePort(e)
		x.peer, x.trouble = peer, trouble
		s.setCapability(e, mad.CapIsSM, s.hasSM(e))
	}
}

// SlowAgent lets a node's agent take a time for each request, and drop those
// SMPs that find so many waiting; a limit of 0 is none.
func (s *Subnet) SlowAgent(id fabric.NodeID, service time.Duration, limit int) error {
	if service < 0 || limit < 0 {
		return fmt.Errorf("agent of %v and a queue of %d: want none negative", service, limit)
	}
	n := &s.nodes[id]
	switch {
	case n.agent != nil: // what waits there keeps its agent
		n.agent.service, n.agent.limit = service, limit
	case service > 0:
		n.agent = &agent{service: service, limit: limit}
	}
	return nil
}

// Babble lets a port tell of errors on its link, one of the traps 129 to 131
// in each interval; an interval of 0 ends it.
func (s *Subnet) Babble(e fabric.End, interval time.Duration) error {
	if !s.has(e) || e.Port == 0 {
		return fmt.Errorf("port %d of %s: %w", e.Port, s.fabric.Node(e.Node).Label(), ErrNoNode)
	}
	x := s.portOf(e)
	x.babble++
	if interval > 0 {
		s.babble(e, interval, x.babble)
	}
	return nil
}

// babble goes on until another call of Babble.
func (s *Subnet) babble(e fabric.End, interval time.Duration, run uint32) {
	x := s.portOf(e)
	if x.babble != run {
		return
	}
	if x.linkUp() {
		at, own := s.keyPort(e)
		numbers := [...]mad.TrapNumber{mad.TrapLinkIntegrity, mad.TrapBufferOverrun, mad.TrapFlowControl}
		x.counters.total.LocalLinkIntegrityErrors++
		s.trapOnce(at, mad.NewNotice(numbers[s.random.IntN(len(numbers))], 0,
			mad.PortErrorDetails{LID: own.info.LID, Port: uint8(e.Port)}))
	}
	s.after(interval, call(func(s *Subnet) { s.babble(e, interval, run) }))
}
