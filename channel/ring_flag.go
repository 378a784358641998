package channel

import (
	"errors"
	"fmt"

	"heddle/verbs"
)

// Ring with a bell of its own: a WRITE of the record, and a WRITE of how far the
// ring is used, the tail, to a word beside it. WRITEs have to be placed one after
// the other; within one there is no order, so that the tail is sealed.
//
//	lower addresses                      higher addresses
//	[length][message, padded]      <- after it in time: ...
//
// Several messages may be there when the tail is looked at: the lengths part them.

type ringFlagSender struct {
	*ringSender
	tail verbs.SendWR
}

func newRingFlagSender(e *end) (sending, error) {
	s := &ringFlagSender{ringSender: newRingSender(e)}
	s.tail = verbs.SendWR{Op: verbs.OpWrite, SGEs: make([]verbs.SGE, 1)}
	return s, nil
}

func (s *ringFlagSender) attach(p *Peer, h *hello) error {
	if len(h.regions) < 3 || !h.regions[2].holds(8) {
		return fmt.Errorf("peer's ring without a tail: %w", ErrInvalid)
	}
	s.tail.RemoteAddr, s.tail.RKey = h.regions[2].addr, h.regions[2].rkey
	return s.ringSender.attach(p, h)
}

func (s *ringFlagSender) most() int { return s.longest(16) }

func (s *ringFlagSender) reserve(n int) ([]byte, error) {
	size := padded(n) + 8
	b, err := s.lend(uint64(size), size+8, 2)
	if err != nil {
		return nil, err
	}
	return b[8 : 8+n : size], nil
}

func (s *ringFlagSender) commit(n int, _ *uint32) error {
	size := padded(n) + 8
	b, err := s.stage.take(size + 8)
	if err != nil {
		return err
	}
	if err := s.peer.ready(2); err != nil {
		return err
	}
	store(b, 0, uint64(n))
	store(b, size, seal(uint32((s.pos+uint64(size))/8), s.salt))
	if err := s.write(s.at, size); err != nil {
		return err
	}
	s.advance(uint64(size))
	return s.stage.send(&s.tail, 8)
}

type ringFlagReceiver struct {
	*ringReceiver
	flag *region
	tail uint64 // as far as it was looked at
}

func newRingFlagReceiver(e *end) (_ receiving, err error) {
	f := &ringFlagReceiver{}
	if f.ringReceiver, err = newRingReceiver(e, func(r *ringReceiver) bool { return f.told() > r.pos }); err != nil {
		return nil, err
	}
	if f.flag, err = e.newRegion(8, false, verbs.LocalWrite|verbs.RemoteWrite); err != nil {
		return nil, errors.Join(err, f.free())
	}
	return f, nil
}

func (r *ringFlagReceiver) offer(p *Peer, h *hello) {
	r.ringReceiver.offer(p, h)
	h.regions = append(h.regions, r.flag.remote())
}

func (r *ringFlagReceiver) free() error { return errors.Join(r.ringReceiver.free(), r.flag.free()) }

// told is the tail; one that is torn, or older, changes nothing.
func (r *ringFlagReceiver) told() uint64 {
	if low, ok := unseal(load(r.flag.b, 0), r.salt); ok {
		return 8 * ahead(r.tail/8, low)
	}
	return r.tail
}

func (r *ringFlagReceiver) poll(d *delivery) error {
	if r.pos == r.tail {
		if r.tail = r.told(); r.pos == r.tail {
			return r.nothing()
		}
		if r.tail-r.ledger.head > r.length {
			return r.spoilt("a tail beyond the room")
		}
	}
	at := r.at
	n := load(r.ring.b, int(at))
	size := 8 + (n+7)&^7
	if n > r.length || !r.fits(size) || r.pos+size > r.tail {
		return r.spoilt("a tail without a message")
	}
	r.deliver(d, r.ring.b[at+8:at+8+n:at+size], r.pos+size)
	return nil
}
