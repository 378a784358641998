package emu

import (
	"cmp"
	"fmt"
	"strings"
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

// String gives what is not zero, in the form that the console reads, or none.
func (t Trouble) String() string {
	var b strings.Builder
	for _, part := range []struct {
		name  string
		value any
		none  bool
	}{
		{"drop", t.Drop, t.Drop == 0},
		{"dup", t.Duplicate, t.Duplicate == 0},
		{"delay", t.Delay, t.Delay == 0},
		{"jitter", t.Jitter, t.Jitter == 0},
	} {
		if !part.none {
			fmt.Fprintf(&b, " %s=%v", part.name, part.value)
		}
	}
	return strings.TrimPrefix(cmp.Or(b.String(), "none"), " ")
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

// CutLink takes a cable out; RestoreLink plugs it in again. Both end what
// FlapLink began.
func (s *Subnet) CutLink(id fabric.LinkID) {
	delete(s.flaps, id)
	s.cut(id)
}

// RestoreLink plugs in a cable that CutLink took out.
func (s *Subnet) RestoreLink(id fabric.LinkID) {
	delete(s.flaps, id)
	s.restore(id)
}

func (s *Subnet) cut(id fabric.LinkID) {
	l := s.fabric.Link(id)
	if !s.plugged(s.portOf(l.A)) {
		return
	}
	s.bothFall(l.A, s.portOf(l.A).info.LinkDownDefaultState)
	s.portOf(l.A).peer, s.portOf(l.B).peer = fabric.End{}, fabric.End{}
}

func (s *Subnet) restore(id fabric.LinkID) {
	if !s.plugged(s.portOf(s.fabric.Link(id).A)) {
		s.connect(id)
	}
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
		peer, trouble, host := x.peer, x.trouble, x.host
		s.makePort(e)
		x.peer, x.trouble, x.host = peer, trouble, host
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
