package channel

import "encoding/binary"

// Shared ring of cells: a FETCH_AND_ADD, and one WRITE, which needs no order of any
// kind, and a receiver that only reads and clears nothing (see cell.go and
// ring-cell, whose price it has too). Senders put the lap of a cell in it, which
// the cell's place tells; who writes does not matter.
//
// A record is whole cells: its facts in 8 bytes, a word that is sealed for its place,
// by which a record's first cell is known in a ring that was closed, and the
// message. As a cell that is not written would be there in the next lap, all cells of
// a place are written, also where the message is shorter, or there is none; and the
// receiver waits for all of them, as what comes later would fall on the next lap's.

// cellHeader is what a record has before the message.
const cellHeader = 16

// sharedCellsOf is how many cells the record of a message has.
func sharedCellsOf(n int) uint64 { return uint64(n+cellHeader+cellData-1) / cellData }

type sharedCellSender struct {
	*sharedRingSender
	draft []byte // the record that is made, before it is cut
}

func newSharedCellSender(e *end) (sending, error) {
	base, err := e.newSharedRingSender(1)
	if err != nil {
		return nil, err
	}
	s := &sharedCellSender{sharedRingSender: base}
	s.bury = func() error {
		var none [cellHeader]byte // the draft may still be the caller's
		return s.record(none[:], factsOf(0, s.claim.cells, s.slot)|buriedFact)
	}
	return s, nil
}

func (s *sharedCellSender) attach(p *Peer, h *hello) error {
	if err := s.sharedRingSender.attach(p, h); err != nil {
		return err
	}
	s.draft = make([]byte, s.most()+cellHeader)
	return nil
}

func (s *sharedCellSender) most() int {
	if s.peer == nil {
		return 0
	}
	return s.longest(0)/cellSize*cellData - cellHeader
}

func (s *sharedCellSender) reserve(n int) ([]byte, error) {
	cells := sharedCellsOf(n)
	if err := s.obtain(cells); err != nil {
		return nil, err
	}
	// What was claimed may be more.
	if _, err := s.lend(cells, int(s.claim.cells*cellSize)); err != nil {
		return nil, err
	}
	return s.draft[cellHeader : cellHeader+n : cellHeader+n], nil
}

func (s *sharedCellSender) commit(n int, _ *uint32) error {
	if _, err := s.take(0); err != nil {
		return err
	}
	return s.record(s.draft[:cellHeader+n], s.facts(n))
}

// record writes all cells of the claim: a draft, and zeroes.
func (s *sharedCellSender) record(draft []byte, f facts) error {
	cells := s.claim.cells
	b, err := s.stage.take(int(cells * cellSize))
	if err != nil {
		return err
	}
	binary.NativeEndian.PutUint64(draft, uint64(f))
	binary.NativeEndian.PutUint64(draft[8:], s.seal(uint32(cells)))
	for i := range cells {
		var data [cellData]byte
		draft = draft[copy(data[:], draft):]
		cellAt(b, i*cellSize).put(&data, lapBits((s.claim.pos+i)/s.cells))
	}
	return s.used(s.put(int(cells * cellSize)))
}

type sharedCellReceiver struct{ *sharedRing }

func newSharedCellReceiver(e *end) (receiving, error) {
	r := &sharedCellReceiver{&sharedRing{}}
	r.furnish = func(c *ringEpoch) error {
		c.copies = make([]byte, c.cells*cellSize*3/2)
		return nil
	}
	r.rung, r.read = r.isThere, r.record
	return r, r.setUp(e)
}

// cellAt is the cell of a place, and how its bits are when it has come.
func (c *ringEpoch) cellAt(pos uint64) (*cell, uint64) {
	return cellAt(c.ring.b, c.at(pos)), lapBits(pos / c.cells)
}

// isThere tells whether the next cell of the record at the head is there, or all
// of a record in a closed ring.
func (r *sharedCellReceiver) isThere(c *ringEpoch, pos uint64) bool {
	if !c.closed {
		cell, bits := c.cellAt(pos + c.copied)
		return cell.isThere(bits)
	}
	var first [cellData]byte
	f, ok := c.first(pos, &first)
	return ok && c.hasAll(f, pos)
}

// first gets the first cell of a record.
func (c *ringEpoch) first(pos uint64, to *[cellData]byte) (f facts, ok bool) {
	cell, bits := c.cellAt(pos)
	if !cell.get(to, bits) {
		return 0, false
	}
	f = factsIn(to[:])
	v, ok := c.unseal(binary.NativeEndian.Uint64(to[8:]), pos)
	return f, ok && uint64(v) == f.cells()
}

// hasAll tells whether all cells of a record are there, if it can be one.
func (c *ringEpoch) hasAll(f facts, pos uint64) bool {
	if !c.fits(pos, f.cells()) {
		return true // it is seen to be wrong
	}
	for i := range f.cells() {
		if cell, bits := c.cellAt(pos + i); !cell.isThere(bits) {
			return false
		}
	}
	return true
}

// record copies cells of the record, if they are there, and gives it when that were
// all.
func (r *sharedCellReceiver) record(c *ringEpoch, pos uint64) (rec record, ok bool) {
	copied := &c.copied
	if c.closed {
		copied = new(uint64)
	}
	begin := c.at(pos)
	for {
		to := (*[cellData]byte)(c.copies[begin+*copied*cellData:])
		cell, bits := c.cellAt(pos + *copied)
		if !cell.get(to, bits) {
			return rec, false
		}
		*copied++
		f := factsIn(c.copies[begin:])
		if *copied == 1 {
			if v, ok := c.unseal(binary.NativeEndian.Uint64(to[8:]), pos); !ok || uint64(v) != f.cells() || !c.fits(pos, f.cells()) {
				return record{facts: f, source: f.slot(), wrong: "a cell that begins no record"}, true
			}
		}
		if *copied == f.cells() {
			*copied = 0
			return r.whole(c, f, begin+cellHeader), true
		}
	}
}

// whole is a record whose message was copied to an offset.
func (r *sharedCellReceiver) whole(c *ringEpoch, f facts, from uint64) record {
	rec := record{facts: f, source: f.slot()}
	n := f.length()
	switch {
	case f.isBuried():
	case cellHeader+n > f.cells()*cellData:
		rec.wrong = "a message longer than its record"
	default:
		rec.data = c.copies[from : from+n : from+n]
		r.end.copied += int(n)
	}
	return rec
}
