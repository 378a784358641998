package channel

import (
	"errors"
	"fmt"

	"heddle/verbs"
)

// Shared ring with bells of their own: a FETCH_AND_ADD, a WRITE of the record, and
// a WRITE of its bell, which has to be placed after it. Each cell of the ring has
// a word in an array of bells; that of a record's first cell tells how many cells
// the record has, sealed, as it may come in pieces. The receiver clears the words
// before it gives the cells back.
//
//	[facts][message, padded]
//
// A place without a message has a bell only.

type sharedFlagSender struct {
	*sharedRingSender
	bells remote
	bell  verbs.SendWR
}

func newSharedFlagSender(e *end) (sending, error) {
	base, err := e.newSharedRingSender(2)
	if err != nil {
		return nil, err
	}
	s := &sharedFlagSender{sharedRingSender: base}
	s.bell = verbs.SendWR{Op: verbs.OpWrite, SGEs: make([]verbs.SGE, 1)}
	s.bury = s.mark
	return s, nil
}

func (s *sharedFlagSender) attach(p *Peer, h *hello) error {
	if len(h.regions) < 4 || !h.regions[3].holds(h.ring/cellSize*8) {
		return fmt.Errorf("peer's ring without bells: %w", ErrInvalid)
	}
	s.bells = h.regions[3]
	s.bell.RKey = s.bells.rkey
	return s.sharedRingSender.attach(p, h)
}

func (s *sharedFlagSender) most() int { return s.longest(16) }

func (s *sharedFlagSender) reserve(n int) ([]byte, error) {
	size := padded(n) + 8
	b, err := s.lend(wholeCells(size), size+8)
	if err != nil {
		return nil, err
	}
	return b[8 : 8+n : size], nil
}

func (s *sharedFlagSender) commit(n int, _ *uint32) error {
	size := padded(n) + 8
	b, err := s.take(size + 8)
	if err != nil {
		return err
	}
	if err := s.peer.ready(2); err != nil {
		return err
	}
	store(b, 0, uint64(s.facts(n)))
	store(b, size, s.seal(uint32(s.claim.cells)))
	if err := s.put(size); err != nil {
		return err
	}
	return s.toll()
}

// toll sends the bell, which is next in the stage.
func (s *sharedFlagSender) toll() error {
	s.bell.RemoteAddr = s.bells.addr + s.claim.pos%s.cells*8
	return s.used(s.stage.send(&s.bell, 8))
}

// mark buries the claim.
func (s *sharedFlagSender) mark() error {
	b, err := s.stage.take(8)
	if err != nil {
		return err
	}
	store(b, 0, s.seal(buriedBit|uint32(s.claim.cells)))
	return s.toll()
}

type sharedFlagReceiver struct {
	*sharedRing
	bells *region
}

func newSharedFlagReceiver(e *end) (_ receiving, err error) {
	r := &sharedFlagReceiver{}
	r.sharedRing, err = newSharedRing(e, func() bool {
		_, ok := r.rung()
		return ok
	})
	if err != nil {
		return nil, err
	}
	if r.bells, err = e.newRegion(int(8*r.cells), false, verbs.LocalWrite|verbs.RemoteWrite); err != nil {
		return nil, errors.Join(err, r.sharedRing.free())
	}
	r.wipe = func(from, to uint64) {
		for ; from < to; from++ {
			store(r.bells.b, int(from%r.cells*8), 0)
		}
	}
	return r, nil
}

func (r *sharedFlagReceiver) offer(p *Peer, h *hello) {
	r.sharedRing.offer(p, h)
	h.regions = append(h.regions, r.bells.remote())
}

func (r *sharedFlagReceiver) free() error { return errors.Join(r.sharedRing.free(), r.bells.free()) }

// rung gives the bell of the record at pos. It is called without the lock too.
func (r *sharedFlagReceiver) rung() (v uint32, ok bool) {
	v, ok = r.unseal(load(r.bells.b, int(r.pos%r.cells*8)))
	return v, ok && v != 0
}

func (r *sharedFlagReceiver) poll(d *delivery) error {
	for r.failed == nil {
		v, ok := r.rung()
		if !ok {
			return r.nothing()
		}
		if v&buriedBit != 0 {
			if err := r.skip(uint64(v &^ buriedBit)); err != nil {
				return err
			}
			continue
		}
		f := facts(load(r.ring.b, int(r.at())))
		if f.cells() != uint64(v) || !r.holds(f, 8) {
			return r.spoilt("a bell without a message", f.slot())
		}
		*d = r.message(f, 8, f.slot())
		return nil
	}
	return r.failed
}
