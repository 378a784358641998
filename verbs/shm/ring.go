//go:build linux && (amd64 || arm64)

package shm

import (
	"errors"
	"sync/atomic"
	"unsafe"

	"heddle/verbs"
)

// A ring is one direction of a QP. What it holds, one process writes and the
// other one reads; only the header goes the other way. Records follow each
// other, each from a multiple of 8 bytes on:
//
//	word  8 bytes   length 24 bits | flags 8 | kind 8, not 0
//	more  8 bytes   of kinds and flags that need it
//	data  of that length
//
// The word after a record is cleared before the record's own word is stored, as
// a release: a reader that sees a word other than 0 sees all of the record. The
// pages are mapped twice, so that no record is cut in two.

// header is what the reader of a ring tells its writer.
type header struct {
	head atomic.Uint64 // bytes that are read
	_    [56]byte
	// What seldom changes has a line of its own, which is looked at before each
	// request. Rnr is head+1 of a message for which there is no buffer, ticks grows
	// when the reader was kicked, and lives.
	rnr   atomic.Uint64
	ticks atomic.Uint64
	// accused is the Status that a request of the reader came to by what it asked
	// of the writer's memory, fail the one that requests of the writer come to; 0
	// for none.
	accused atomic.Uint32
	fail    atomic.Uint32
	_       [40]byte
	// voided is changed by both, as lend.go has it: 1 where what the writer's records
	// name in its memory is not to be read any more.
	voided atomic.Uint32
	_      [60]byte
}

type kind uint8

const (
	sendKind     kind = iota + 1 // SEND, a piece of it
	writeImmKind                 // more is the immediate and the WRITE's length
	datagramKind                 // more is two words: Q_Key and sender, immediate
	lentKind                     // a piece of a SEND that the reader copies; more says where it is
)

const (
	firstFlag = 1 << iota
	lastFlag
	immFlag // more is the immediate
	solicitedFlag
	flagsEnd
)

const (
	recordAlign = 8
	lineSize    = 64 // of the CPU's cache
	wordSize    = 8
	// maxPiece is how many bytes of a message go into a record at most, so that
	// reading and writing of long ones overlap.
	maxPiece = 8 << 10
	// ringSize is the bytes of a QP's ring, datagramRing of one to a UD QP.
	ringSize     = 256 << 10
	datagramRing = 64 << 10
	headerRoom   = 4096
)

// record is one of a ring.
type record struct {
	kind  kind
	flags uint8
	n     int    // bytes of data
	more  []byte // 0, 8, 16 or 24 bytes
	data  []byte
	size  uint64 // of all in the ring
}

func moreSize(k kind, flags uint8) int {
	switch {
	case k == datagramKind:
		return 16
	case k == lentKind:
		return lentMore
	case k == writeImmKind, flags&immFlag != 0:
		return 8
	default:
		return 0
	}
}

func recordSize(n int) uint64 { return uint64(n+recordAlign-1) &^ (recordAlign - 1) }

// writer is the end of a ring that is written to: by one goroutine at a time,
// while another one may look how far it is.
type writer struct {
	*header
	data  []byte // all bytes twice
	mask  uint64
	pos   atomic.Uint64 // bytes written
	seen  uint64        // bytes read, as far as who writes knows
	acked uint64        // and as who completes requests does
}

func newWriter(h *header, data []byte) *writer {
	return &writer{header: h, data: data, mask: uint64(len(data)/2) - 1}
}

// errRing is a ring that its other end has spoiled.
var errRing = errors.New("the peer spoiled a ring")

// refresh looks how much is read. A peer that says what cannot be is refused.
func (w *writer) refresh(known *uint64) error {
	head := w.head.Load()
	if head-*known > w.pos.Load()-*known {
		return errRing
	}
	*known = head
	return nil
}

// refuses tells whether the peer has no buffer for the oldest message.
func (w *writer) refuses() bool {
	rnr := w.rnr.Load()
	return rnr != 0 && rnr == w.head.Load()+1
}

// room gives space for a record; nil where there is none now.
func (w *writer) room(more, n int) ([]byte, error) {
	size, pos := recordSize(wordSize+more+n), w.pos.Load()
	// The word after the record is cleared as well.
	if pos+size+recordAlign-w.seen > w.mask+1 {
		if err := w.refresh(&w.seen); err != nil {
			return nil, err
		}
		if pos+size+recordAlign-w.seen > w.mask+1 {
			return nil, nil
		}
	}
	at := pos & w.mask
	return w.data[at : at+size], nil
}

// clearNext makes the word after a record tell that nothing is there yet.
func (w *writer) clearNext(room []byte) { *w.word(w.pos.Load() + uint64(len(room))) = 0 }

// publish shows the reader a record that room gave, after clearNext; n is its
// data.
func (w *writer) publish(room []byte, k kind, flags uint8, n int) {
	pos := w.pos.Load()
	release(w.word(pos), uint64(n)|uint64(flags)<<24|uint64(k)<<32)
	set(&w.pos, pos+uint64(len(room)))
}

func (w *writer) word(pos uint64) *uint64 {
	return (*uint64)(unsafe.Pointer(&w.data[pos&w.mask]))
}

// reader is the other end. It is for one goroutine at a time, and trusts nothing
// that is in the ring.
type reader struct {
	*header
	data  []byte
	mask  uint64
	pos   uint64 // bytes read
	shown uint64 // as the writer knows
}

func newReader(h *header, data []byte) reader {
	return reader{header: h, data: data, mask: uint64(len(data)/2) - 1}
}

// peek is the oldest record; ok is false where there is none. It is checked, but
// for what is in more and data, which may change while it is read.
func (r *reader) peek(rec *record) (ok bool, err error) {
	at := r.pos & r.mask
	word := atomic.LoadUint64((*uint64)(unsafe.Pointer(&r.data[at])))
	if word == 0 {
		return false, nil
	}
	rec.n, rec.flags, rec.kind = int(word&0xffffff), uint8(word>>24), kind(word>>32)
	if word>>40 != 0 || rec.kind < sendKind || rec.kind > lentKind || rec.flags >= flagsEnd || rec.n > maxPiece {
		return false, errRing
	}
	more := moreSize(rec.kind, rec.flags)
	rec.size = recordSize(wordSize + more + rec.n)
	rec.more = r.data[at+wordSize : at+wordSize+uint64(more)]
	rec.data = r.data[at+wordSize+uint64(more):][:rec.n]
	return true, nil
}

// pop forgets a record.
func (r *reader) pop(rec *record) { r.pos += rec.size }

// show tells the writer what was read; it is false where that is nothing new.
func (r *reader) show() bool {
	if r.pos == r.shown {
		return false
	}
	r.shown = r.pos
	set(&r.head, r.pos)
	return true
}

// notReady tells the writer that there is no buffer for the oldest record.
func (r *reader) notReady() bool {
	if r.rnr.Load() == r.pos+1 {
		return false
	}
	r.rnr.Store(r.pos + 1)
	return true
}

// refuse tells the writer what becomes of its requests.
func (h *header) refuse(s verbs.Status) { h.fail.CompareAndSwap(0, uint32(s)) }
