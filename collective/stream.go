package collective

import (
	"context"
	"fmt"
	"time"

	"heddle/verbs"
)

// stream is the reader's side of a root's stream. Its ring is the root's once more,
// for this rank and for the neighbour who misses something.
type stream struct {
	g     *Group
	root  int
	index int
	ring  part
	mark  part    // of how many chunks are here without a gap
	have  uint64  // that number
	taken uint64  // how many of them the caller had
	known uint64  // how many there are at the root at least
	set   slotSet // those from have on that are here, by slot

	lagged bool
	err    error
	repair
	tails

	woken func() bool // made once: a wait allocates no more than it must
}

// tails is what the root is told.
type tails struct {
	said    uint64 // what it was told last
	telling bool
	tail    part
	wr      verbs.SendWR
}

func newStream(g *Group, root, index int) *stream {
	s := &stream{
		g: g, root: root, index: index, ring: g.ringOf(index), mark: g.haves.slice(index*markSize, markSize),
		set: newSlotSet(g.cfg.Slots),
	}
	s.tail = g.marks.slice(2*index*markSize, markSize)
	s.tails.wr = verbs.SendWR{Op: verbs.OpWrite, Flags: verbs.Signaled, SGEs: []verbs.SGE{s.tail.sge()}}
	s.woken = func() bool { return s.here() || s.due }
	s.repair.init(s)
	setMark(s.mark.bytes, 0)
	return s
}

func (s *stream) at(seq uint64) uint64 { return seq % uint64(s.g.cfg.Slots) }

func (s *stream) slot(seq uint64) part {
	n := s.g.cfg.Chunk
	return s.ring.slice(int(s.at(seq))*n, n)
}

// within tells whether a chunk has its place in the ring now; one that is too far
// ahead was sent without waiting for this reader.
func (s *stream) within(seq uint64) bool {
	if seq >= s.taken+uint64(s.g.cfg.Slots) {
		s.lagged = true
	}
	return !s.lagged && seq >= s.have && !s.set.has(s.at(seq))
}

// arrived takes a chunk that came by a datagram.
func (s *stream) arrived(h *header, slot []byte) {
	if !s.valid(h) {
		return
	}
	if !s.within(h.seq) || s.reading.has(s.at(h.seq)) {
		s.g.stats.duplicates.Add(1)
		return
	}
	copy(s.slot(h.seq).bytes, slot)
	s.g.stats.received.Add(1)
	s.add(h.seq)
}

// valid tells whether a header can be one of the root's.
func (s *stream) valid(h *header) bool {
	return h.group == s.g.number && int(h.root) == s.root && int(h.n) <= s.g.cfg.Chunk-headerSize && uint64(h.n) <= h.total
}

// add has a chunk be here.
func (s *stream) add(seq uint64) {
	s.set.set(s.at(seq))
	s.learned(seq + 1)
	for s.have < s.known && s.set.has(s.at(s.have)) {
		s.set.clear(s.at(s.have))
		s.have++
		s.late = time.Time{}
	}
	setMark(s.mark.bytes, s.have)
}

// learned is told how many chunks there are.
func (s *stream) learned(known uint64) {
	if known > s.known {
		s.known = min(known, s.taken+uint64(s.g.cfg.Slots))
		s.hear()
	}
}

// here tells whether the next chunk is, or never will be.
func (s *stream) here() bool { return s.have > s.taken || s.lagged || s.err != nil }

// next waits for the next chunk.
func (s *stream) next(ctx context.Context) ([]byte, header, error) {
	for !s.here() {
		if err := s.g.await(ctx, s.act(time.Now()), s.woken); err != nil {
			return nil, header{}, err
		}
		s.due = false
	}
	if s.have <= s.taken {
		return nil, header{}, s.trouble()
	}
	var h header
	payload, err := h.parse(s.slot(s.taken).bytes)
	return payload, h, err
}

func (s *stream) trouble() error {
	if s.lagged {
		return ErrLagged
	}
	return s.err
}

// receive takes a message, which has to be as long as into.
func (s *stream) receive(ctx context.Context, into []byte) error {
	var total, off uint64
	for first := true; first || off < total; first = false {
		payload, h, err := s.next(ctx)
		if err != nil {
			return err
		}
		if first {
			total = h.total
		}
		if first != (h.flags&firstFlag != 0) || h.total != total || uint64(len(payload)) != min(uint64(s.g.cfg.Chunk-headerSize), total-off) {
			s.err = fmt.Errorf("chunk %d does not follow the one before: %w", h.seq, ErrInvalid)
			return s.err
		}
		if total == uint64(len(into)) {
			copy(into[off:], payload)
		}
		off += uint64(len(payload))
		s.taken++
		s.tell(false)
	}
	if total != uint64(len(into)) {
		return fmt.Errorf("a message of %d bytes, where %d are expected: %w", total, len(into), ErrMismatch)
	}
	return nil
}

// tell WRITEs to the root how far this reader is: now and then, and once more at the
// end. It reports whether the root has been told all, or cannot be.
func (s *stream) tell(all bool) bool {
	p := s.g.peers[s.root]
	if s.said == s.taken || p.gone {
		return true
	}
	if s.telling || !all && s.taken-s.said < max(1, uint64(s.g.cfg.Slots)/8) {
		return false
	}
	if p.down {
		return false
	}
	setMark(s.tail.bytes, s.taken)
	wr := &s.tails.wr
	wr.ID, wr.RemoteAddr, wr.RKey = number(tailWrite, s.root, 0, s.root), p.tails.at(s.g.rank*markSize), p.tails.RKey
	if !s.g.post(p, wr) {
		return p.gone
	}
	s.said, s.telling = s.taken, true
	s.g.stats.tails.Add(1)
	return true
}

// told is the completion of that.
func (s *stream) told(err error) {
	s.telling = false
	if err != nil {
		s.said = 0 // it has to be told again
		s.g.broke(s.g.peers[s.root])
		return
	}
	s.tell(false)
}
