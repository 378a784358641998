package perf

import (
	"encoding/binary"
	"fmt"
	"sync/atomic"
	"unsafe"

	"heddle/verbs"
)

// area is the memory of an end: slots to send from, slots to receive into, and a
// word that the peer counts in. It lies alike at both ends.
//
// A message ends where a word of 8 bytes ends, so that its last 1, 2, 4 or 8
// bytes, the bell, are one that is naturally aligned.
type area struct {
	mem    *verbs.Memory
	buf    []byte // of mem
	mr     verbs.MR
	size   int // of a message
	lead   int // from a slot's begin to its message
	stride int // from slot to slot
	slots  int // a power of two
	bell   int // bytes of it
}

const (
	line = 128 // bytes that CPUs fetch together at most: two lines of the cache
	lead = 48  // for a datagram's GRH
)

// shape is an area for a spec, without memory.
func shape(s *Spec) area {
	a := area{size: s.Size, slots: s.Depth, bell: bellSize(s.Size)}
	a.lead = (wordSize - s.Size%wordSize) % wordSize
	if s.Service == verbs.UD {
		a.lead += lead
	}
	near := line
	if s.Test == Stream {
		near = 16 // several small ones share a line
	}
	a.stride = max(roundUp(a.lead+s.Size, near), near)
	if s.Test != Stream && s.Size > 1<<20 {
		a.slots = min(a.slots, 2)
	}
	return a
}

func bellSize(size int) int {
	n := wordSize
	for n > max(size, 1) {
		n /= 2
	}
	return n
}

func (a *area) all() int { return 2*a.slots*a.stride + 2*line }

// out and in are where the message of a number goes out, and comes in.
func (a *area) out(i int) int { return i&(a.slots-1)*a.stride + a.lead }
func (a *area) in(i int) int  { return (a.slots+i&(a.slots-1))*a.stride + a.lead }

// counted is where the peer counts, counter where what is written there is.
func (a *area) counted() int { return 2 * a.slots * a.stride }
func (a *area) counter() int { return 2*a.slots*a.stride + line }

// message is the bytes of a message.
func (a *area) message(at int) []byte { return a.buf[at : at+a.size : at+a.size] }

// word is one of 8 bytes, which peers may change.
func (a *area) word(at int) *uint64 { return (*uint64)(unsafe.Pointer(&a.buf[at])) }

// ring puts a message's number in its last bytes, and the host's time before
// that where there is room.
func (a *area) ring(at int, number uint64) {
	m := a.message(at)
	switch tail := m[len(m)-a.bell:]; a.bell {
	case 8:
		binary.LittleEndian.PutUint64(tail, number)
	case 4:
		binary.LittleEndian.PutUint32(tail, uint32(number))
	case 2:
		binary.LittleEndian.PutUint16(tail, uint16(number))
	default:
		tail[0] = byte(number)
	}
}

// bellAt is the word that a message's bell is the upper part of, how many bits
// below it are not, and what is above them when the message of a number came.
// Words have their last byte on top: providers are of little-endian machines.
func (a *area) bellAt(at int, number uint64) (word *uint64, unused uint, want uint64) {
	unused = uint(wordSize-a.bell) * 8
	return a.word(at + a.size - wordSize), unused, number << unused >> unused
}

// rung tells whether the message of a number has come.
func (a *area) rung(at int, number uint64) bool {
	word, unused, want := a.bellAt(at, number)
	return atomic.LoadUint64(word)>>unused == want
}

// fill makes a message's bytes, but for its bell, by its number.
func (a *area) fill(at int, number uint64) {
	m := a.message(at)
	for i := range max(len(m)-a.bell, 0) {
		m[i] = pattern(number, i)
	}
	if len(m) >= a.bell {
		a.ring(at, number)
	}
}

// verify compares a message with its number.
func (a *area) verify(at int, number uint64) error {
	m := a.message(at)
	for i, got := range m {
		want := pattern(number, i)
		if bell := len(m) - a.bell; i >= bell {
			want = byte(number >> (8 * uint(i-bell)))
		}
		if got != want {
			return fmt.Errorf("message %d: byte %d of %d is %#02x, and not %#02x", number, i, len(m), got, want)
		}
	}
	return nil
}

// pattern is a byte of a message: another one in the next byte, in the next word
// and in the next message.
func pattern(number uint64, i int) byte {
	return byte((number*0x9e3779b97f4a7c15 + uint64(i/wordSize)*0xff51afd7ed558ccd) >> (8 * uint(i%wordSize)))
}
