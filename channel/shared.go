package channel

import (
	"errors"
	"fmt"

	"heddle/verbs"
)

// Rings of many senders. The receiver has one ring for all, mapped twice, and two
// words: the tail, to which each sender adds what it needs by a FETCH_AND_ADD, so
// that no two get the same, and the head, which tells how far all was given back.
// Both count cells of 64 bytes, of all laps. A sender whose place lies beyond the
// head and one ring READs the head until it does not any more, and only then
// writes. The receiver's CPU touches the tail never, as the device's atomics may
// not be atomic with it.
//
// What was added cannot be taken back. A reservation that ends without a message
// therefore has its place marked as one that the receiver skips; one whose context
// is done is marked in the background, as soon as there is room, and one that got
// ErrWouldBlock of TryReserve and is not tried again, by Flush or Close. Until
// then the others' messages behind it wait. A lease that is not committed holds
// them up as well.
//
// A sender that dies, or closes without having come to it, between its
// FETCH_AND_ADD and its WRITE leaves a hole, and all who share the ring wait there
// for ever: the receiver cannot know where the dead one's place ends and that of a
// living one begins that is about to write. Then the channel has to be closed, and
// made anew.
//
// All senders write to one memory. The source of a message, and its bytes, are as
// trustworthy as the least of them (shared-imm knows the source from the device).
// What is no record that a sender makes ends the channel for all; the error tells
// which peer the record says that it is of.

// sharedRingSender is what the senders of such rings share.
type sharedRingSender struct {
	*ringSender
	cells    uint64 // of the ring
	slot     uint64 // which of the receiver's peers it is
	requests int    // of a message
	claim    claim
	last     uint64 // where the last claim ended
	add      verbs.SendWR
	tail     *region // where what the tail was comes to
	closing  bool
	paying   bool
	// bury writes what has the receiver skip the claim, which there is room for.
	bury func() error
}

// claim is a place in the ring, or is to be.
type claim struct {
	cells    uint64 // 0 if there is none
	asked    uint64 // the FETCH_AND_ADD
	pos      uint64 // in cells
	placed   bool   // pos is known
	lent     bool   // it is a lease's
	forsaken bool   // it is to be buried
}

func (e *end) newSharedRingSender(requests int) (*sharedRingSender, error) {
	s := &sharedRingSender{ringSender: newRingSender(e), requests: requests}
	var err error
	if s.tail, err = e.newRegion(8, false, verbs.LocalWrite); err != nil {
		return nil, err
	}
	s.add = verbs.SendWR{Op: verbs.OpFetchAdd, SGEs: []verbs.SGE{s.tail.mr.SGE(0, 8)}}
	return s, nil
}

func (s *sharedRingSender) attach(p *Peer, h *hello) error {
	if len(h.regions) < 3 || !h.regions[2].holds(8) || h.regions[2].addr%8 != 0 || h.slot >= maxPeers {
		return fmt.Errorf("peer's ring without a tail, or place %d: %w", h.slot, ErrInvalid)
	}
	s.cells, s.slot = h.ring/cellSize, uint64(h.slot)
	s.add.RemoteAddr, s.add.RKey = h.regions[2].addr, h.regions[2].rkey
	return s.ringSender.attach(p, h)
}

func (s *sharedRingSender) free() error { return errors.Join(s.ringSender.free(), s.tail.free()) }

// wholeCells is how many cells so many bytes take.
func wholeCells(n int) uint64 { return uint64(n+cellSize-1) / cellSize }

// lend claims cells for a message, and gives n bytes of the stage.
func (s *sharedRingSender) lend(cells uint64, n int) ([]byte, error) {
	if err := s.obtain(cells); err != nil {
		return nil, err
	}
	b, err := s.stage.take(n)
	if err == nil {
		s.claim.lent = true
	}
	return b, err
}

// obtain gets a place of at least so many cells, which there is room for: the one
// that is claimed, if it is large enough.
func (s *sharedRingSender) obtain(cells uint64) error {
	switch {
	case s.peer == nil:
		return ErrWouldBlock
	case s.closing:
		return ErrClosed
	}
	// The FETCH_AND_ADD, a READ of the head for it and one for Flush.
	if err := s.peer.ready(s.requests + 3); err != nil {
		return err
	}
	s.claim.forsaken = false
	if s.claim.cells > 0 && s.claim.cells < cells {
		if err := s.repay(); err != nil {
			return err
		}
	}
	if s.claim.cells == 0 {
		s.add.Swap = cells
		if err := s.peer.post(&s.add, true); err != nil {
			return err
		}
		s.claim = claim{cells: cells, asked: s.peer.posted}
	}
	return s.mayWrite()
}

// repay buries the claim.
func (s *sharedRingSender) repay() error {
	if err := s.mayWrite(); err != nil {
		return err
	}
	return s.bury()
}

// mayWrite tells whether the claim has a place, and all that was there is given
// back.
func (s *sharedRingSender) mayWrite() error {
	if err := s.place(); err != nil {
		return err
	}
	if s.inRing() {
		return nil
	}
	if err := s.head.look(); err != nil {
		return err
	}
	switch {
	case s.head.value > s.claim.pos:
		s.peer.lose(fmt.Errorf("a head at cell %d, with cell %d not written: %w", s.head.value, s.claim.pos, ErrInvalid))
		return s.peer.gone
	case s.inRing():
		return nil
	}
	if err := s.head.ask(); err != nil {
		return err
	}
	return ErrWouldBlock
}

func (s *sharedRingSender) inRing() bool {
	return s.claim.pos+s.claim.cells-s.head.value <= s.cells
}

// Bounds of what is believed: how far behind the tail the head is, which only
// tells its low 32 bits, and where the tail ends.
const (
	mostBehind = 1 << 30
	mostCells  = 1 << 58
)

// place learns where the claim is, when the FETCH_AND_ADD has completed.
func (s *sharedRingSender) place() error {
	c := &s.claim
	if c.placed {
		return s.peer.gone
	}
	if err := s.end.reap(); err != nil {
		return err
	}
	switch {
	case s.peer.gone != nil:
		return s.peer.gone
	case !s.peer.isDone(c.asked):
		return ErrWouldBlock
	}
	c.pos, c.placed = load(s.tail.b, 0), true
	if c.pos < s.last || c.pos > mostCells {
		s.peer.lose(fmt.Errorf("a tail at cell %d, after one at %d: %w", c.pos, s.last, ErrInvalid))
		return s.peer.gone
	}
	s.last = c.pos + c.cells
	if c.pos > mostBehind {
		s.head.value = max(s.head.value, c.pos-mostBehind)
	}
	return nil
}

// take gives n bytes of the stage for the message that is committed.
func (s *sharedRingSender) take(n int) ([]byte, error) {
	if s.closing || !s.claim.lent {
		return nil, ErrClosed
	}
	return s.stage.take(n)
}

// put writes n bytes of the stage to the claim's place.
func (s *sharedRingSender) put(n int) error {
	return s.write(s.claim.pos%s.cells*cellSize, n)
}

// used ends a claim.
func (s *sharedRingSender) used(err error) error {
	if err == nil {
		s.claim = claim{}
	}
	return err
}

// seal makes a word that is one at the claim's place only.
func (s *sharedRingSender) seal(v uint32) uint64 { return seal(v, placeSalt(s.salt, s.claim.pos)) }

func (s *sharedRingSender) facts(n int) facts { return factsOf(n, s.claim.cells, s.slot) }

func (s *sharedRingSender) abort() {
	if s.claim.cells == 0 { // Close came before
		return
	}
	s.claim.lent = false
	_ = s.bury() // Reserve saw to room for it. A peer that is gone needs none.
}

// forsake tells whether a claim is to be buried that nobody will use.
func (s *sharedRingSender) forsake() bool {
	if s.claim.cells == 0 || s.claim.lent {
		return false
	}
	s.claim.forsaken = true
	before := s.paying
	s.paying = true
	return !before
}

// pay tells whether nothing is left to be buried.
func (s *sharedRingSender) pay() bool {
	if s.claim.forsaken && errors.Is(s.repay(), ErrWouldBlock) {
		return false
	}
	s.paying = false
	return true
}

func (s *sharedRingSender) stop() { s.closing = true }

func (s *sharedRingSender) settled() (bool, error) {
	if s.claim.cells > 0 && (!s.claim.lent || s.closing) {
		if err := s.repay(); err != nil {
			return false, err
		}
	}
	return s.ringSender.settled()
}

// placeSalt is the salt of words at a place.
func placeSalt(salt, pos uint64) uint64 { return salt ^ pos*0xd6e8feb86659fd93 }

// facts are what a record says of itself, in a word: its message's length in bits
// 0 to 26, its cells in bits 27 to 47, whose it is in bits 48 to 61.
type facts uint64

const (
	buriedFact = 1 << 62 // there is no message
	buriedBit  = 1 << 31 // the same in a sealed word, beside the number of cells
)

func factsOf(n int, cells, slot uint64) facts { return facts(uint64(n) | cells<<27 | slot<<48) }

func (f facts) length() uint64 { return uint64(f & (1<<27 - 1)) }
func (f facts) cells() uint64  { return uint64(f >> 27 & (1<<21 - 1)) }
func (f facts) slot() int      { return int(f >> 48 & (maxPeers - 1)) }
func (f facts) isBuried() bool { return f&buriedFact != 0 }
