package emu

import (
	"fmt"
	"time"

	"heddle/fabric"
	"heddle/mad"
)

// repeated are the faults that go on by themselves, at most one at each link
// and port.
type repeated struct {
	flaps    map[fabric.LinkID]*flap
	babblers map[fabric.End]*babbler
}

func (r *repeated) init() {
	r.flaps, r.babblers = map[fabric.LinkID]*flap{}, map[fabric.End]*babbler{}
}

// flap is a link that goes down and comes up.
type flap struct {
	link     fabric.LinkID
	left     int // goes down so many times more
	down, up time.Duration
	isDown   bool
}

// FlapLink cuts a link and restores it, again and again: so many times, down
// and up for the given times each. It ends what an earlier call began.
func (s *Subnet) FlapLink(id fabric.LinkID, times int, down, up time.Duration) {
	if times <= 0 {
		return
	}
	f := &flap{link: id, left: times, down: down, up: up}
	s.flaps[id] = f
	f.fire(s)
}

func (f *flap) fire(s *Subnet) {
	switch {
	case s.flaps[f.link] != f:
	case !f.isDown:
		s.cut(f.link)
		f.isDown = true
		f.left--
		s.after(f.down, f)
	default:
		s.restore(f.link)
		f.isDown = false
		if f.left > 0 {
			s.after(f.up, f)
		} else {
			delete(s.flaps, f.link)
		}
	}
}

// babbler is a port that tells of errors.
type babbler struct {
	at       fabric.End
	interval time.Duration
}

// Babble lets a port tell of errors on its link, one of the traps 129 to 131
// in each interval; an interval of 0 ends it.
func (s *Subnet) Babble(e fabric.End, interval time.Duration) error {
	if !s.has(e) || e.Port == 0 {
		return fmt.Errorf("port %d of %s: %w", e.Port, s.fabric.Node(e.Node).Label(), ErrNoNode)
	}
	if interval <= 0 {
		delete(s.babblers, e)
		return nil
	}
	b := &babbler{e, interval}
	s.babblers[e] = b
	b.fire(s)
	return nil
}

// fire goes on until another call of Babble.
func (b *babbler) fire(s *Subnet) {
	if s.babblers[b.at] != b {
		return
	}
	if x := s.portOf(b.at); x.linkUp() {
		at, own := s.keyPort(b.at)
		numbers := [...]mad.TrapNumber{mad.TrapLinkIntegrity, mad.TrapBufferOverrun, mad.TrapFlowControl}
		x.counters.total.LocalLinkIntegrityErrors++
		s.trapOnce(at, mad.NewNotice(numbers[s.random.IntN(len(numbers))], 0,
			mad.PortErrorDetails{LID: own.info.LID, Port: uint8(b.at.Port)}))
	}
	s.after(b.interval, b)
}
