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
	pos    uint64 // counted on
	at     uint64 // pos in the memory
	opened uint64 // up to where there is nothing that the device may send again
	// used is the last request that a sector of the memory was in, entered the
	// sector that is used now, counted on, and bound its end.
	used    [sectors]uint64
	entered uint64
	bound   uint64
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
	length := uint64(memory.mem.Size())
	return &stage{peer: p, memory: memory, length: length, bound: length / sectors}, nil
}

// staged is how large a stage is for messages that go to slots.
func staged(slots, size int) int { return max(2*(padded(size)+overhead), min(slots*size, 1<<20)) }

func (s *stage) sector(pos uint64) uint64 { return pos / (s.length / sectors) }

// end is where n bytes from pos on end; none take one.
func (s *stage) end(n int) uint64 { return s.pos + uint64(max(n, 1)) }

// take gives n bytes, at most half of the stage, or ErrWouldBlock. They are the
// same again until they were sent.
func (s *stage) take(n int) ([]byte, error) {
	if end := s.end(n); end > s.opened {
		if err := s.open(end); err != nil {
			return nil, err
		}
	}
	return s.memory.b[s.at : s.at+uint64(n) : s.at+uint64(n)], nil
}

// open sees whether the sectors up to a position are free.
func (s *stage) open(end uint64) error {
	last := s.sector(end - 1)
	for i := s.entered + 1; i <= last; i++ {
		if s.peer.isDone(s.used[i%sectors]) {
			continue
		}
		if err := s.peer.end.reap(); err != nil {
			return err
		}
		if s.peer.gone != nil {
			return s.peer.gone
		}
		if !s.peer.isDone(s.used[i%sectors]) {
			return ErrWouldBlock
		}
	}
	s.opened = (last + 1) * (s.length / sectors)
	return nil
}

// give is send for the only request of a message. Where its bytes go inline the
// device has them when it returns, and they can be taken again at once.
func (s *stage) give(wr *verbs.SendWR, n int) error {
	if n > s.peer.inline {
		return s.send(wr, n)
	}
	wr.Flags |= verbs.Inline
	wr.SGEs, wr.InlineData = wr.SGEs[:0], s.memory.b[s.at:s.at+uint64(n)]
	return s.peer.post(wr, s.signals)
}

// send posts a request with the n bytes that were taken. The
// request's other fields are the caller's.
func (s *stage) send(wr *verbs.SendWR, n int) error {
	at := int(s.at)
	wr.Flags &^= verbs.Inline
	if n <= s.peer.inline {
		wr.Flags |= verbs.Inline
		wr.SGEs, wr.InlineData = wr.SGEs[:0], s.memory.b[at:at+n]
	} else {
		wr.SGEs, wr.InlineData = wr.SGEs[:1], nil
		wr.SGEs[0] = s.memory.mr.SGE(at, n)
	}
	end := s.end(n)
	// One that enters a sector has a completion, which tells of all before it.
	if err := s.peer.post(wr, s.signals || end > s.bound); err != nil {
		return err
	}
	s.used[s.entered%sectors] = s.peer.posted
	if end > s.bound {
		s.enter(end)
	}
	s.pos += uint64(padded(n))
	if s.at += uint64(padded(n)); s.at >= s.length {
		s.at -= s.length
	}
	return nil
}

// enter enters the sectors up to a position with the last request.
func (s *stage) enter(end uint64) {
	for s.entered < s.sector(end-1) {
		s.entered++
		s.used[s.entered%sectors] = s.peer.posted
	}
	s.bound = (s.entered + 1) * (s.length / sectors)
}

func (s *stage) free() error {
	if s == nil {
		return nil
	}
	return s.memory.free()
}
