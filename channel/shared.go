package channel

import (
	"encoding/binary"
	"fmt"
)

// Rings of many senders. The receiver has one ring for all, mapped twice, and a
// word, the tail, to which each sender adds what it needs by a FETCH_AND_ADD, so
// that no two get the same. Places count cells of 64 bytes, of all laps. A sender
// whose place lies beyond the head, which tells how far all was given back, and one
// ring READs the head until it does not any more, and only then writes.
//
// What was added cannot be taken back. A reservation that ends without a message
// therefore has its place marked as one that the receiver skips; one whose context
// is done is marked in the background, as soon as there is room, and one that got
// ErrWouldBlock of TryReserve and is not tried again, by Flush or Close.
//
// # Epochs
//
// A sender that dies, is stopped, or keeps a lease, between its FETCH_AND_ADD and
// its last WRITE leaves a hole, and nobody knows where its place ends and that of
// another one begins who is about to write. The receiver waits for Config.Stall, and
// then goes on in another ring. Such a change goes by itself and loses nothing:
//
//   - Each ring is of an epoch. The tail has the epoch (16 bits) above the place (48
//     bits), so that who adds to it learns in which ring its place is, by the request
//     that it makes anyway.
//   - The receiver has a directory, with an entry for each epoch: where its ring is,
//     its keys, and its head. Senders READ an entry when an epoch is new to them, and
//     afterwards for the head. The entry of the new epoch is there before the tail
//     has its number.
//   - The receiver exchanges the tail for the new epoch's first place, and learns
//     thereby where the places in the old ring end. Then it closes the old entry: the
//     head that is there is the last one.
//   - A place that ends at most one ring behind the last head is good: its sender
//     may have written there, or is about to, and need not know of the change. The
//     receiver looks for records in all that is not accounted for, wherever that is,
//     and delivers each as soon as it is complete.
//   - All others are void: nothing can have been written there. A sender that waits
//     for such a one sees the closed entry, marks it as one to be skipped where it
//     begins before that end, and adds to the tail again.
//
// So a message is written at one place only, by a sender that is certain that the
// receiver looks there, and is delivered once. Nothing has to be sent again, and
// nobody keeps what a device has done with.
//
// Messages of a sender come in order: it has one place at a time, and its next
// FETCH_AND_ADD completes after its WRITE before, so that one of its messages is in
// memory before the next one is written. The receiver takes a message that is not
// at the head only when it has looked, after it saw that one, for one before it.
//
// The old ring is kept for who is late, and its memory is used for nothing else
// any more. It is freed when all of it is accounted for, or when all peers that are
// left have sent in a later epoch. At most maxClosed rings are kept: then the
// oldest goes for the next one, if it was closed leastClosed ago and the caller holds
// no message of it; else the hole is waited for. Who writes to a ring that was freed
// loses its connection, as its key is no more, and learns it by that.
//
// docs/shared-rings.md has this as tables.
//
// # Trust
//
// All senders write to one memory. The source of a message, and its bytes, are as
// trustworthy as the least of them (shared-imm knows the source from the device).
// What is no record that a sender makes ends the channel for all; the error tells
// which peer the record says that it is of.

// Bounds of what a tail can be: places have 48 bits, of which that many are
// believed, and of the head come the low 32 bits.
const (
	epochShift = 48
	mostCells  = 1 << 46
	mostBehind = 1 << 30
)

func epochOf(tail uint64) uint16 { return uint16(tail >> epochShift) }
func placeOf(tail uint64) uint64 { return tail & (1<<epochShift - 1) }

// tailOf is the tail at a place in an epoch.
func tailOf(number, pos uint64) uint64 { return number<<epochShift | pos }

// The directory has an entry for each epoch that a ring is kept of, and more. In
// an entry, by words:
//
//	0  the head, sealed with the ring's salt, or with its complement when it is closed
//	1  the number of the epoch, sealed with the channel's salt; another one when the
//	   ring is no more
//	2  address of the ring
//	3  address of the bells
//	4  keys of both
//	5  a hash of words 2 to 4
const (
	entrySize   = 64
	entries     = 16
	entryHead   = 0
	entryNumber = 8
	entryRing   = 16
	entryBells  = 24
	entryKeys   = 32
	entryHash   = 40

	noMore = 1 << 16 // beside the number of an epoch whose ring is no more
)

func entryOf(number uint64) uint64 { return number % entries * entrySize }

// course is where the ring of an epoch is.
type course struct{ ring, bells remote }

// put writes it into an entry.
func (c course) put(b []byte, salt uint64) {
	store(b, entryRing, c.ring.addr)
	store(b, entryBells, c.bells.addr)
	store(b, entryKeys, uint64(c.ring.rkey)|uint64(c.bells.rkey)<<32)
	store(b, entryHash, entryHashOf(b, salt))
}

// courseIn reads it; false where it is torn.
func courseIn(b []byte, salt uint64) (c course, ok bool) {
	keys := load(b, entryKeys)
	c.ring = remote{addr: load(b, entryRing), rkey: uint32(keys)}
	c.bells = remote{addr: load(b, entryBells), rkey: uint32(keys >> 32)}
	return c, load(b, entryHash) == entryHashOf(b, salt)
}

func entryHashOf(b []byte, salt uint64) uint64 {
	for at := entryRing; at <= entryKeys; at += 8 {
		w := load(b, at)
		salt = seal(uint32(w), salt) ^ seal(uint32(w>>32), ^salt)<<1
	}
	return salt
}

// epochSalt is the salt of an epoch's ring.
func epochSalt(salt, number uint64) uint64 {
	return seal(uint32(uint16(number)), salt) * 0x9e3779b97f4a7c15
}

// placeSalt is the salt of words at a place.
func placeSalt(salt, pos uint64) uint64 { return salt ^ pos*0xd6e8feb86659fd93 }

// wholeCells is how many cells so many bytes take.
func wholeCells(n int) uint64 { return uint64(n+cellSize-1) / cellSize }

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

// buried are the facts of a place without a message, whoever's it is.
func buried(cells uint32) facts { return factsOf(0, uint64(cells&(1<<21-1)), 0) | buriedFact }

// record is what lies at a place.
type record struct {
	facts
	data   []byte // of the message
	source int
	wrong  string // what no sender writes; empty where all is right
}

func factsIn(b []byte) facts { return facts(binary.NativeEndian.Uint64(b)) }

// spoiltBy is the error of a ring in which is what no sender writes; source is whose it
// says it is, -1 if it does not.
func spoiltBy(what string, source int, pos uint64) error {
	who := "some peer"
	if source >= 0 {
		who = fmt.Sprintf("peer %d", source)
	}
	return fmt.Errorf("%w: %s wrote %s at cell %d of the ring that all share: %w", ErrPeerGone, who, what, pos, ErrInvalid)
}
