package channel

import (
	"encoding/binary"
	"sync/atomic"
	"unsafe"
)

// Cells are what makes a ring need no order of bytes, and no clearing. The ring is
// a grid of cells, each of which is written anew in each lap. The highest bit of
// each byte of a cell is that of the lap: 1 in the first, when the memory was
// zeroes, then 0, and so on. A byte whose bit is that of the lap before has not
// come; a cell is there when all of its bits are right, in whichever order its
// bytes came, and however torn its words were. That is certain, and needs no hash.
//
//	words 0 to 6  56 bytes of data, without their highest bits
//	word 7        these: in bit i of byte j is that of byte j of word i
const (
	cellSize = 64
	cellData = 56

	highBits = 0x8080808080808080
	lowBits  = 0x0101010101010101
)

// cell is memory of a ring.
type cell [cellSize / 8]uint64

// cellAt is the cell at an offset, which is a multiple of 64.
func cellAt(b []byte, offset uint64) *cell {
	return (*cell)(unsafe.Pointer(unsafe.SliceData(b[offset : offset+cellSize])))
}

// lapBits are those that all bytes have in a lap, counted from 0.
func lapBits(lap uint64) uint64 { return highBits * (^lap & 1) }

// put makes a cell of data, for a lap.
func (c *cell) put(data *[cellData]byte, bits uint64) {
	var high uint64
	for i := range cellData / 8 {
		w := binary.NativeEndian.Uint64(data[8*i:])
		high |= w >> 7 & lowBits << i
		c[i] = w&^highBits | bits
	}
	c[cellData/8] = high | bits
}

// get gives a cell's data, if it is that of the lap. Each word is loaded once, so
// that what is looked at is what is given.
func (c *cell) get(data *[cellData]byte, bits uint64) bool {
	var w cell
	var wrong uint64
	for i := range c {
		w[i] = atomic.LoadUint64(&c[i]) ^ bits
		wrong |= w[i]
	}
	if wrong&highBits != 0 {
		return false
	}
	high := w[cellData/8]
	for i := range cellData / 8 {
		binary.NativeEndian.PutUint64(data[8*i:], w[i]|high>>i&lowBits<<7)
	}
	return true
}

// isThere tells whether a cell is that of the lap.
func (c *cell) isThere(bits uint64) bool {
	var wrong uint64
	for i := range c {
		wrong |= atomic.LoadUint64(&c[i]) ^ bits
	}
	return wrong&highBits == 0
}
