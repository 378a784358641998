package channel

import "encoding/binary"

// Ring of cells: one WRITE a message, a receiver that only reads and clears
// nothing, and no order of any kind (see cell.go). The price is a copy on either
// side, and 64 bytes on the way for 56.
//
// A record is whole cells: the length in 8 bytes, and the message. The receiver
// copies cell by cell, as they come, to memory as large as the ring.

type ringCellSender struct {
	*ringSender
	draft []byte // the record that is made, before it is cut
}

func newRingCellSender(e *end) (sending, error) {
	return &ringCellSender{ringSender: newRingSender(e)}, nil
}

func (s *ringCellSender) attach(p *Peer, h *hello) error {
	if err := s.ringSender.attach(p, h); err != nil {
		return err
	}
	s.draft = make([]byte, s.most()+8)
	return nil
}

// cellsOf is how many cells the record of a message has.
func cellsOf(n int) int { return (n + 8 + cellData - 1) / cellData }

func (s *ringCellSender) most() int {
	if s.peer == nil {
		return 0
	}
	return s.ringSender.most/cellSize*cellData - 8
}

func (s *ringCellSender) reserve(n int) ([]byte, error) {
	size := cellsOf(n) * cellSize
	if _, err := s.lend(uint64(size), size, 1); err != nil {
		return nil, err
	}
	return s.draft[8 : 8+n : 8+n], nil
}

func (s *ringCellSender) commit(n int, _ *uint32) error {
	cells := cellsOf(n)
	b, err := s.stage.take(cells * cellSize)
	if err != nil {
		return err
	}
	binary.NativeEndian.PutUint64(s.draft, uint64(n))
	for i := range cells {
		bits := lapBits(s.lap)
		if s.at+uint64(i*cellSize) >= s.length {
			bits = lapBits(s.lap + 1)
		}
		cellAt(b, uint64(i*cellSize)).put((*[cellData]byte)(s.draft[i*cellData:]), bits)
	}
	if err := s.give(s.at, cells*cellSize); err != nil {
		return err
	}
	s.advance(uint64(cells * cellSize))
	return nil
}

type ringCellReceiver struct {
	*ringReceiver
	copies []byte // of the messages, at their places in the ring
	n      uint64 // of the message that is coming
	cells  uint64 // of it that were copied
}

func newRingCellReceiver(e *end) (_ receiving, err error) {
	c := &ringCellReceiver{}
	c.ringReceiver, err = newRingReceiver(e, func(*ringReceiver) bool {
		cell, bits := c.coming()
		return cell.isThere(bits)
	})
	if err != nil {
		return nil, err
	}
	c.copies = make([]byte, c.length+c.length/2)
	return c, nil
}

// coming is the next cell, and how its bits are when it has come.
func (r *ringCellReceiver) coming() (c *cell, bits uint64) {
	at, lap := r.at+r.cells*cellSize, r.lap
	if at >= r.length {
		at, lap = at-r.length, lap+1
	}
	return cellAt(r.ring.b, at), lapBits(lap)
}

func (r *ringCellReceiver) poll(d *delivery) error {
	start := r.at
	for {
		c, bits := r.coming()
		to := (*[cellData]byte)(r.copies[start+r.cells*cellData:])
		if !c.get(to, bits) {
			return r.nothing()
		}
		if r.cells == 0 {
			r.n = binary.NativeEndian.Uint64(to[:])
			if r.n > r.length || !r.fits(uint64(cellsOf(int(r.n))*cellSize)) {
				return r.spoilt("a message longer than the room")
			}
		}
		r.cells++
		if r.cells == uint64(cellsOf(int(r.n))) {
			break
		}
	}
	r.end.copied += int(r.n)
	size := r.cells * cellSize
	r.cells = 0
	r.deliver(d, r.copies[start+8:start+8+r.n:start+8+r.n], r.pos+size)
	return nil
}
