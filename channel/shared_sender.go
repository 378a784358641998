package channel

import (
	"errors"
	"fmt"

	"heddle/verbs"
)

// sharedRingSender is what the senders of rings of many senders share.
type sharedRingSender struct {
	*ringSender
	cells    uint64 // of the ring
	slot     uint64 // which of the receiver's peers it is
	base     uint64 // salt of the channel; that of the epoch's ring is salt
	requests int    // of a message
	claim    claim
	last     uint64 // where the last claim in the epoch ended
	add      verbs.SendWR
	tail     *region // where what the tail was comes to
	closing  bool
	paying   bool
	// bury writes what has the receiver skip the claim, which there is room for.
	bury func() error

	directory remote
	epoch     uint16 // of the claim, or the last one
	reading   uint16 // whose entry is read, or was
	known     bool   // where the epoch's ring is
	closed    bool   // the head is the last one
	over      bool   // the epoch's ring is no more
	bells     remote // of the epoch's ring
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

func (s *sharedRingSender) attach(p *Peer, h *hello) (err error) {
	page := uint64(4096)
	switch {
	case s.peer != nil:
		return fmt.Errorf("a peer was there before: %w", ErrBusy)
	case len(h.regions) < 2 || h.ring < page || h.ring%page != 0 || !h.regions[0].holds(entries*entrySize):
		return fmt.Errorf("peer's ring of %d bytes: %w", h.ring, ErrInvalid)
	case !h.regions[1].holds(8) || h.regions[1].addr%8 != 0 || h.slot >= maxPeers:
		return fmt.Errorf("peer's ring without a tail, or place %d: %w", h.slot, ErrInvalid)
	}
	if err := s.end.affords(h.ring); err != nil {
		return err
	}
	s.length, s.base, s.cells, s.slot = h.ring, h.salt, h.ring/cellSize, uint64(h.slot)
	s.directory = h.regions[0]
	s.add.RemoteAddr, s.add.RKey = h.regions[1].addr, h.regions[1].rkey
	if s.stage, err = s.end.newStage(p, int(h.ring)); err != nil {
		return err
	}
	if s.head, err = s.end.newGauge(p, s.directory, 0); err != nil {
		return err
	}
	s.head.wr.SGEs[0] = s.head.at.mr.SGE(0, entrySize)
	s.head.take = s.learn
	s.peer = p
	s.most = min(int(s.length/2), maxRecord)
	if most := s.end.t.caps.MaxMessage; most > 0 {
		s.most = min(s.most, most)
	}
	return nil
}

func (s *sharedRingSender) free() error { return errors.Join(s.ringSender.free(), s.tail.free()) }

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
	// The FETCH_AND_ADD, a READ of an entry for it and one for Flush.
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
	if s.claim.cells == 0 {
		return nil
	}
	if err := s.mayWrite(); err != nil {
		return err
	}
	return s.bury()
}

// mayWrite tells whether the claim has a place, and all that was there is given
// back. A claim that turns out to be void is given up, and the error then is
// ErrWouldBlock.
func (s *sharedRingSender) mayWrite() error {
	if err := s.place(); err != nil {
		return err
	}
	if s.known && s.inRing() {
		return nil
	}
	if err := s.head.look(); err != nil {
		return err
	}
	switch {
	case s.known && s.head.value > s.claim.pos:
		s.peer.lose(fmt.Errorf("a head at cell %d, with cell %d not written: %w", s.head.value, s.claim.pos, ErrInvalid))
		return s.peer.gone
	case s.over:
		s.claim = claim{}
		return ErrWouldBlock
	case s.known && s.inRing():
		return nil
	case s.known && s.closed:
		return s.forgo()
	}
	if err := s.ask(); err != nil {
		return err
	}
	return ErrWouldBlock
}

// inRing tells whether the claim ends before the head's next lap.
func (s *sharedRingSender) inRing() bool {
	return s.claim.pos+s.claim.cells-s.head.value <= s.cells
}

// crowded tells whether the claim has its place and waits for the receiver; what
// the FETCH_AND_ADD gives comes soon.
func (s *sharedRingSender) crowded() bool {
	return s.claim.placed && s.known && !s.inRing()
}

// forgo gives up a claim in a ring that was closed. What of it lies where others
// could write is skipped.
func (s *sharedRingSender) forgo() error {
	c := &s.claim
	if limit := s.head.value + s.cells; c.pos < limit {
		c.cells = limit - c.pos
		if err := s.bury(); err != nil {
			return err
		}
	}
	s.claim = claim{}
	return ErrWouldBlock
}

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
	tail := load(s.tail.b, 0)
	c.pos, c.placed = placeOf(tail), true
	if s.over || !s.known || epochOf(tail) != s.epoch {
		s.enter(epochOf(tail))
	}
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

// enter begins with a ring that nothing is known of.
func (s *sharedRingSender) enter(epoch uint16) {
	s.epoch, s.salt = epoch, epochSalt(s.base, uint64(epoch))
	s.known, s.closed, s.over, s.last, s.head.value = false, false, false, 0, 0
}

// ask has the epoch's entry read, unless one is being read.
func (s *sharedRingSender) ask() error {
	if s.head.read != 0 {
		return nil
	}
	s.reading = s.epoch
	s.head.wr.RemoteAddr = s.directory.addr + entryOf(uint64(s.epoch))
	return s.head.ask()
}

// learn takes in an entry that was read. What is torn will be read again.
func (s *sharedRingSender) learn() {
	b := s.head.at.b
	number, ok := unseal(load(b, entryNumber), s.base)
	switch {
	case !ok || s.reading != s.epoch:
		return
	case number != uint32(s.epoch):
		s.over = true
		return
	case !s.known:
		c, ok := courseIn(b, s.salt)
		if !ok {
			return
		}
		s.ring, s.bells, s.known = c.ring, c.bells, true
		s.wr.RKey = s.ring.rkey
	}
	head := load(b, entryHead)
	low, ok := unseal(head, s.salt)
	if !ok {
		if low, ok = unseal(head, ^s.salt); ok {
			s.closed = true
		}
	}
	if ok {
		s.head.value = ahead(s.head.value, low)
	}
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
