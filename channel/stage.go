package channel

import "heddle/verbs"

// stage is registered memory that messages to one peer are made in, and that its
// device takes them from. It is used round and round, and no byte is used again
// before the request that it was in has completed: until then the device may send
// it once more.
type stage struct {
	peer   *Peer
	memory *region // mapped twice
	length uint64
	pos    uint64
	// used is the last request that a sector of the memory was in, entered the
	// sector that is used now, all of them counted on.
	used    [sectors]uint64
	entered uint64
	// signals has each request make a completion, for kinds that have no request
	// whose completion tells of those before it.
	signals bool
}

// sectors are the parts of a stage for which is known when they are free.
const sectors = 8

// newStage makes one that has room for two messages of a length.
func (e *end) newStage(p *Peer, size int) (*stage, error) {
	memory, err := e.newRegion(size, true, 0)
	if err != nil {
		return nil, err
	}
	return &stage{peer: p, memory: memory, length: uint64(memory.mem.Size())}, nil
}

// staged is how large a stage is for messages that go to slots.
func staged(slots, size int) int { return max(2*(padded(size)+overhead), min(slots*size, 1<<20)) }

func (s *stage) sector(pos uint64) uint64 { return pos / (s.length / sectors) }

// take gives n bytes, at most half of the stage, or ErrWouldBlock. They are the
// same again until they were sent.
func (s *stage) take(n int) ([]byte, error) {
	for i := s.entered + 1; i <= s.sector(s.pos+uint64(max(n, 1))-1); i++ {
		if s.peer.isDone(s.used[i%sectors]) {
			continue
		}
		if err := s.peer.end.reap(); err != nil {
			return nil, err
		}
		if s.peer.gone != nil {
			return nil, s.peer.gone
		}
		if !s.peer.isDone(s.used[i%sectors]) {
			return nil, ErrWouldBlock
		}
	}
	at := s.pos % s.length
	return s.memory.b[at : at+uint64(n) : at+uint64(n)], nil
}

// send posts a request with the n bytes that were taken, from the skip-th on. The
// request's other fields are the caller's.
func (s *stage) send(wr *verbs.SendWR, skip, n int) error {
	at := int(s.pos%s.length) + skip
	wr.Flags &^= verbs.Inline
	if n-skip <= s.peer.inline {
		wr.Flags |= verbs.Inline
		wr.SGEs, wr.InlineData = wr.SGEs[:0], s.memory.b[at:at+n-skip]
	} else {
		wr.SGEs, wr.InlineData = wr.SGEs[:1], nil
		wr.SGEs[0] = s.memory.mr.SGE(at, n-skip)
	}
	first, last := s.sector(s.pos), s.sector(s.pos+uint64(max(n, 1))-1)
	// One that enters a sector has a completion, which tells of all before it.
	if err := s.peer.post(wr, s.signals || last > s.entered); err != nil {
		return err
	}
	for i := first; i <= last; i++ {
		s.used[i%sectors] = s.peer.posted
	}
	s.entered = last
	s.pos += uint64(padded(n))
	return nil
}

func (s *stage) free() error {
	if s == nil {
		return nil
	}
	return s.memory.free()
}
