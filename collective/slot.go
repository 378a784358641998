package collective

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"sync/atomic"
	"unsafe"

	"heddle/verbs"
)

// A slot is what a datagram carries, and a place of a ring: a header, and the
// payload of a chunk.
//
//	bytes  0-3   number of the group
//	       4-5   rank of the root
//	       6-7   flags
//	       8-15  number of the chunk in the root's stream, from 0
//	      16-23  length of the message that it belongs to, in bytes
//	      24-27  length of the payload
//	      28-31  CRC-32C of all that, and of the payload
//
// All numbers are little endian. The checksum is for READs: they may fetch a slot
// that is being written, and over networks that fetch in any order.
const headerSize = 32

const (
	firstFlag  = 1 << iota // of a message
	noticeFlag             // no chunk: the group is ready
	callFlag               // nor these: the words for a new connection, and the answer
	answerFlag
)

// header is that of a slot.
type header struct {
	group uint32
	root  uint16
	flags uint16
	seq   uint64
	total uint64
	n     uint32
}

var errSlot = errors.New("a slot that makes no sense")

// appendTo writes the header for a payload.
func (h *header) appendTo(b, payload []byte) []byte {
	from := len(b)
	b = binary.LittleEndian.AppendUint32(b, h.group)
	b = binary.LittleEndian.AppendUint16(b, h.root)
	b = binary.LittleEndian.AppendUint16(b, h.flags)
	b = binary.LittleEndian.AppendUint64(b, h.seq)
	b = binary.LittleEndian.AppendUint64(b, h.total)
	b = binary.LittleEndian.AppendUint32(b, h.n)
	return binary.LittleEndian.AppendUint32(b, checksum(b[from:], payload))
}

func checksum(head, payload []byte) uint32 {
	table := crc32.MakeTable(crc32.Castagnoli) // made once by the package
	return crc32.Update(crc32.Checksum(head[:headerSize-4], table), table, payload)
}

// parse takes a slot apart; the payload is within b.
func (h *header) parse(b []byte) (payload []byte, err error) {
	if len(b) < headerSize {
		return nil, fmt.Errorf("%d bytes, less than a header: %w", len(b), errSlot)
	}
	h.group, h.root, h.flags = binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint16(b[4:]), binary.LittleEndian.Uint16(b[6:])
	h.seq, h.total, h.n = binary.LittleEndian.Uint64(b[8:]), binary.LittleEndian.Uint64(b[16:]), binary.LittleEndian.Uint32(b[24:])
	if uint64(h.n) > uint64(len(b)-headerSize) {
		return nil, fmt.Errorf("a payload of %d bytes in %d: %w", h.n, len(b)-headerSize, errSlot)
	}
	return b[headerSize : headerSize+int(h.n)], nil
}

// whole tells whether the checksum of a slot fits.
func whole(b, payload []byte) bool {
	return binary.LittleEndian.Uint32(b[headerSize-4:]) == checksum(b, payload)
}

// markSize is the length of a mark: a number that peers WRITE or READ while it
// changes, as two words that have to fit together. Memory of zeroes holds none.
const markSize = 16

const markSalt = 0x9e3779b97f4a7c15

func setMark(b []byte, v uint64) {
	atomic.StoreUint64(word(b), v)
	atomic.StoreUint64(word(b[8:]), ^v*markSalt)
}

// mark gives the number; false for one that is torn or was never written.
func mark(b []byte) (uint64, bool) {
	v := atomic.LoadUint64(word(b))
	return v, atomic.LoadUint64(word(b[8:])) == ^v*markSalt
}

func word(b []byte) *uint64 { return (*uint64)(unsafe.Pointer(&b[:8][0])) }

// place is memory of a peer.
type place struct {
	Addr uint64
	RKey uint32
}

// part is a part of the group's own memory.
type part struct {
	mr     verbs.MR
	offset int
	bytes  []byte
}

func (p part) sge() verbs.SGE { return p.mr.SGE(p.offset, len(p.bytes)) }
func (p part) slice(from, n int) part {
	return part{p.mr, p.offset + from, p.bytes[from : from+n : from+n]}
}

func (p part) place() place                 { return place{p.mr.Addr() + uint64(p.offset), p.mr.RKey()} }
func (p place) at(offset int) (addr uint64) { return p.Addr + uint64(offset) }
