package collective

import (
	"context"
	"time"

	"heddle/verbs"
)

// source is the root's side of its stream: a ring that others READ.
type source struct {
	g       *Group
	index   int
	ring    part
	have    part   // the mark of how many chunks there are
	next    uint64 // the number of the next chunk
	tail    uint64 // that all readers who count are past
	readers []reader
	posted  []uint64 // by slot: the datagram that it was last sent by, from 1
}

// reader is how far another rank is.
type reader struct {
	tail uint64
	gone bool // evicted, or dead
}

func newSource(g *Group, index int) *source {
	s := &source{
		g: g, index: index, ring: g.ringOf(index), have: g.haves.slice(index*markSize, markSize),
		readers: make([]reader, g.size), posted: make([]uint64, g.cfg.Slots),
	}
	s.readers[g.rank].gone = true
	setMark(s.have.bytes, 0)
	return s
}

func (s *source) slot(seq uint64) part {
	n := s.g.cfg.Chunk
	return s.ring.slice(int(seq%uint64(s.g.cfg.Slots))*n, n)
}

// room tells whether so many slots may be written anew: all readers are past them,
// and the device too.
func (s *source) room(n uint64) bool {
	slots := uint64(s.g.cfg.Slots)
	if s.next+n > s.tail+slots {
		s.look()
	}
	if s.next+n > s.tail+slots {
		return false
	}
	if d := s.g.ud; d != nil && n == 1 {
		if d.full() {
			return false
		}
		if by := s.posted[s.next%slots]; by > d.sent {
			d.reap()
			return by <= d.sent
		}
	}
	return true
}

// look finds how far the readers are. What one says that cannot be is not heeded.
func (s *source) look() {
	s.tail = s.next
	for r := range s.readers {
		if one := &s.readers[r]; !one.gone {
			v, ok := mark(s.g.tails.bytes[r*markSize:])
			if ok && v > one.tail && v <= s.next {
				one.tail = v
			}
			s.tail = min(s.tail, one.tail)
		}
	}
}

// evict has a reader count no more.
func (s *source) evict(r int) {
	if !s.readers[r].gone {
		s.readers[r].gone = true
		s.g.stats.evicted.Add(1)
	}
}

// looks is how often a root that waits looks after its readers.
const looks = 10 * time.Millisecond

// wait waits for a slot.
func (s *source) wait(ctx context.Context) error {
	began := time.Now()
	for tail := s.tail; !s.room(1); {
		if err := s.g.await(ctx, time.Now().Add(looks), func() bool { return s.room(1) }); err != nil {
			return err
		}
		if s.tail != tail {
			tail, began = s.tail, time.Now()
		}
		s.blame(s.g.cfg.Evict > 0 && time.Since(began) > s.g.cfg.Evict)
	}
	return nil
}

// blame gives up on the readers that are the last ones: those that are dead, or
// all of them.
func (s *source) blame(all bool) {
	if s.next < s.tail+uint64(s.g.cfg.Slots) {
		return // it is the device
	}
	for r := range s.readers {
		if one := &s.readers[r]; !one.gone && one.tail == s.tail {
			p := s.g.peers[r]
			if all || p.gone || s.g.ud == nil && broken(p.qp) {
				s.evict(r)
			}
		}
	}
}

// broken tells that a connection has ended, for good where it cannot be made anew.
func broken(qp verbs.QP) bool {
	state, err := qp.State()
	return err != nil || state == verbs.Err
}

// send sends a message.
func (s *source) send(ctx context.Context, message []byte) error {
	most := s.g.cfg.Chunk - headerSize
	h := header{group: s.g.number, root: uint16(s.g.rank), flags: firstFlag, total: uint64(len(message))}
	for {
		if err := s.wait(ctx); err != nil {
			return err
		}
		n := min(most, len(message))
		h.seq, h.n = s.next, uint32(n)
		s.put(&h, message[:n])
		message, h.flags = message[n:], 0
		if len(message) == 0 {
			return nil
		}
	}
}

// put writes a chunk to its slot, and sends it.
func (s *source) put(h *header, payload []byte) {
	slot := s.slot(s.next)
	copy(slot.bytes[headerSize:], payload)
	h.appendTo(slot.bytes[:0], slot.bytes[headerSize:headerSize+len(payload)])
	at := s.next % uint64(s.g.cfg.Slots)
	s.next++
	setMark(s.have.bytes, s.next)
	if d := s.g.ud; d != nil {
		d.send(slot.slice(0, headerSize+len(payload)))
		s.posted[at] = d.posted
	}
	s.g.progress()
}
