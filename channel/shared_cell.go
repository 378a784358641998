package channel

import "encoding/binary"

// Shared ring of cells: a FETCH_AND_ADD, and one WRITE, which needs no order of any
// kind, and a receiver that only reads and clears nothing (see cell.go and
// ring-cell, whose price it has too). Senders put the lap of a cell in it, which
// the cell's place tells; who writes does not matter.
//
// A record is whole cells: its facts in 8 bytes, and the message. As a cell that is
// not written would be there in the next lap, all cells of a place are written,
// also where the message is shorter, or there is none; and the receiver waits for
// all of them, as what comes later would fall on the next lap's.

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
		var none [8]byte // the draft may still be the caller's
		return s.record(none[:], factsOf(0, s.claim.cells, s.slot)|buriedFact)
	}
	return s, nil
}

func (s *sharedCellSender) attach(p *Peer, h *hello) error {
	if err := s.sharedRingSender.attach(p, h); err != nil {
		return err
	}
	s.draft = make([]byte, s.most()+8)
	return nil
}

func (s *sharedCellSender) most() int {
	if s.peer == nil {
		return 0
	}
	return s.longest(0)/cellSize*cellData - 8
}

func (s *sharedCellSender) reserve(n int) ([]byte, error) {
	cells := uint64(cellsOf(n))
	if err := s.obtain(cells); err != nil {
		return nil, err
	}
	// What was claimed may be more.
	if _, err := s.lend(cells, int(s.claim.cells*cellSize)); err != nil {
		return nil, err
	}
	return s.draft[8 : 8+n : 8+n], nil
}

func (s *sharedCellSender) commit(n int, _ *uint32) error {
	if _, err := s.take(0); err != nil {
		return err
	}
	return s.record(s.draft[:8+n], s.facts(n))
}

// record writes all cells of the claim: a draft, and zeroes.
func (s *sharedCellSender) record(draft []byte, f facts) error {
	cells := s.claim.cells
	b, err := s.stage.take(int(cells * cellSize))
	if err != nil {
		return err
	}
	binary.NativeEndian.PutUint64(draft, uint64(f))
	for i := range cells {
		var data [cellData]byte
		draft = draft[copy(data[:], draft):]
		cellAt(b, i*cellSize).put(&data, lapBits((s.claim.pos+i)/s.cells))
	}
	return s.used(s.put(int(cells * cellSize)))
}

type sharedCellReceiver struct {
	*sharedRing
	copies []byte // of the messages, at their places in the ring
	came   uint64 // cells of the record at pos that were copied
	f      facts  // of that, after its first cell
}

func newSharedCellReceiver(e *end) (_ receiving, err error) {
	r := &sharedCellReceiver{}
	r.sharedRing, err = newSharedRing(e, func() bool {
		at := r.pos + r.came
		return cellAt(r.ring.b, at%r.cells*cellSize).isThere(lapBits(at / r.cells))
	})
	if err != nil {
		return nil, err
	}
	r.copies = make([]byte, r.cells*cellSize*3/2)
	return r, nil
}

func (r *sharedCellReceiver) poll(d *delivery) error {
	for r.failed == nil {
		if !r.copyNext() {
			return r.nothing()
		}
		f := r.f
		switch {
		case !r.fits(f.cells()):
			return r.spoilt("a record longer than the room", f.slot())
		case r.came < f.cells():
			continue
		}
		r.came = 0
		if f.isBuried() {
			if err := r.skip(f.cells()); err != nil {
				return err
			}
			continue
		}
		if 8+f.length() > f.cells()*cellData || f.slot() >= len(r.end.peers) {
			return r.spoilt("a record without a message", f.slot())
		}
		r.end.copied += int(f.length())
		from := r.at() + 8
		*d = r.deliver(r.copies[from:from+f.length():from+f.length()], f.slot(), f.cells())
		return nil
	}
	return r.failed
}

// copyNext copies one cell of the record at pos, if it is there.
func (r *sharedCellReceiver) copyNext() bool {
	at := r.pos + r.came
	to := (*[cellData]byte)(r.copies[r.at()+r.came*cellData:])
	if !cellAt(r.ring.b, at%r.cells*cellSize).get(to, lapBits(at/r.cells)) {
		return false
	}
	if r.came == 0 {
		r.f = facts(binary.NativeEndian.Uint64(to[:]))
	}
	r.came++
	return true
}
