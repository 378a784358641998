package engine

import (
	"encoding/binary"
	"sync/atomic"
	"unsafe"
)

// place copies a message's part to memory that others look at meanwhile: in any
// order, and then the longest aligned word that ends where dst does, in one piece.
func place(dst, src []byte) {
	word := tail(dst)
	body := len(dst) - word
	copy(dst[:body], src)
	switch rest := src[body:]; word {
	case 8:
		atomic.StoreUint64((*uint64)(unsafe.Pointer(&dst[body])), binary.NativeEndian.Uint64(rest))
	case 4:
		atomic.StoreUint32((*uint32)(unsafe.Pointer(&dst[body])), binary.NativeEndian.Uint32(rest))
	case 2, 1:
		storePart(dst[body:], rest)
	}
}

// tail is how long the longest aligned word is that ends where b does.
func tail(b []byte) int {
	end := uintptr(unsafe.Pointer(unsafe.SliceData(b))) + uintptr(len(b))
	for word := 8; word > 1; word /= 2 {
		if word <= len(b) && end%uintptr(word) == 0 {
			return word
		}
	}
	return min(len(b), 1)
}

// storePart stores a part of an aligned word of 4 bytes, which is of one page.
func storePart(dst, src []byte) {
	at := uintptr(unsafe.Pointer(unsafe.SliceData(dst)))
	skip := at % 4
	word := (*uint32)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(dst)), -int(skip)))
	for {
		var b [4]byte
		old := atomic.LoadUint32(word)
		binary.NativeEndian.PutUint32(b[:], old)
		copy(b[skip:], src)
		if atomic.CompareAndSwapUint32(word, old, binary.NativeEndian.Uint32(b[:])) {
			return
		}
	}
}

// fetch appends src by loads of aligned words, in ascending order: a bell at the
// begin is loaded before what it tells of. The words at the ends may be loaded in
// part outside of src; they are of the same pages.
func fetch(to, src []byte) []byte {
	if len(src) == 0 {
		return to
	}
	at := unsafe.Pointer(unsafe.SliceData(src))
	n := len(src)
	if skip := int(uintptr(at) % 8); skip != 0 {
		var b [8]byte
		binary.NativeEndian.PutUint64(b[:], atomic.LoadUint64((*uint64)(unsafe.Add(at, -skip))))
		part := b[skip:min(8, skip+n)]
		to = append(to, part...)
		at, n = unsafe.Add(at, len(part)), n-len(part)
	}
	for ; n >= 8; n -= 8 {
		to = binary.NativeEndian.AppendUint64(to, atomic.LoadUint64((*uint64)(at)))
		at = unsafe.Add(at, 8)
	}
	if n > 0 {
		var b [8]byte
		binary.NativeEndian.PutUint64(b[:], atomic.LoadUint64((*uint64)(at)))
		to = append(to, b[:n]...)
	}
	return to
}

// change does an atomic on a word, and gives it as it was.
func change(word *uint64, add bool, compare, swap uint64) uint64 {
	if add {
		return atomic.AddUint64(word, swap) - swap
	}
	for {
		old := atomic.LoadUint64(word)
		if old != compare || atomic.CompareAndSwapUint64(word, old, swap) {
			return old
		}
	}
}
