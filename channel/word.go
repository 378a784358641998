package channel

import (
	"sync/atomic"
	"unsafe"
)

// A sealed word is a number of 32 bits that another side reads while it changes,
// over a network that may cut it in pieces and mix old ones with new ones: beside
// the number there is a hash of it, under a salt that the channel's payload does
// not know. Memory of zeroes holds no number.

// seal makes a word of a number.
func seal(v uint32, salt uint64) uint64 { return uint64(v) | uint64(hash(v, salt))<<32 }

// unseal gives the number of a word; false for one that is torn or was never
// written.
func unseal(w, salt uint64) (uint32, bool) {
	v := uint32(w)
	return v, uint32(w>>32) == hash(v, salt)
}

// hash mixes a number with a salt, as the last step of MurmurHash3 does.
func hash(v uint32, salt uint64) uint32 {
	x := (uint64(v)*0x9e3779b97f4a7c15 ^ salt) * 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	return uint32(x >> 32)
}

// word is an aligned word of memory that a device writes to or reads from.
func word(b []byte, offset int) *uint64 {
	return (*uint64)(unsafe.Pointer(&b[offset : offset+8 : offset+8][0]))
}

func load(b []byte, offset int) uint64     { return atomic.LoadUint64(word(b, offset)) }
func store(b []byte, offset int, v uint64) { atomic.StoreUint64(word(b, offset), v) }

// put is store for memory that nobody looks at before it is told to.
func put(b []byte, offset int, v uint64) { *word(b, offset) = v }

// swap stores a word, and gives what it was.
func swap(b []byte, offset int, v uint64) uint64 { return atomic.SwapUint64(word(b, offset), v) }

// padded is a length in whole words.
func padded(n int) int { return (n + 7) &^ 7 }

// ahead is a counter of which only the low 32 bits came, at or after the last
// one that is known; a peer that sends an older one changes nothing.
func ahead(last uint64, low uint32) uint64 {
	if d := int32(low - uint32(last)); d > 0 {
		return last + uint64(d)
	}
	return last
}
