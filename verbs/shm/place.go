//go:build linux && (amd64 || arm64)

package shm

import (
	"encoding/binary"
	"sync/atomic"
	"unsafe"
)

// place copies the parts, which fill dst, there: in any order, and then the
// longest aligned word that ends where dst does, in one piece.
func place(dst []byte, parts [][]byte) {
	if len(parts) == 1 && len(parts[0]) == len(dst) {
		placeOne(dst, parts[0])
		return
	}
	var tail [8]byte
	word := tailOf(dst)
	body, at := len(dst)-word, 0
	for _, part := range parts {
		n := 0
		if at < body {
			n = copy(dst[at:body], part)
		}
		if at += len(part); at > body {
			copy(tail[at-len(part)+n-body:], part[n:])
		}
	}
	storeTail(dst[body:], tail[:word])
}

func placeOne(dst, src []byte) {
	if n := len(dst) - 8; n >= 0 && uintptr(unsafe.Pointer(&dst[n]))%8 == 0 {
		placeWords(dst, src, n)
		return
	}
	word := tailOf(dst)
	body := len(dst) - word
	if body > 0 {
		copy(dst[:body], src)
	}
	storeTail(dst[body:], src[body:])
}

// placeWords is placeOne where the word behind n bytes comes last. A few words are
// stored here, as a call for them takes longer.
func placeWords(dst, src []byte, n int) {
	src = src[:n+8]
	if n <= fewBytes && n%8 == 0 {
		for at := 0; at < n; at += 8 {
			*(*uint64)(unsafe.Pointer(&dst[at])) = binary.NativeEndian.Uint64(src[at:])
		}
	} else {
		copy(dst[:n], src)
	}
	release((*uint64)(unsafe.Pointer(&dst[n])), binary.NativeEndian.Uint64(src[n:]))
}

const fewBytes = 32

// tailOf is how long the longest aligned word is that ends where b does.
func tailOf(b []byte) int {
	end := uintptr(unsafe.Pointer(unsafe.SliceData(b))) + uintptr(len(b))
	for word := 8; word > 1; word /= 2 {
		if word <= len(b) && end%uintptr(word) == 0 {
			return word
		}
	}
	return min(len(b), 1)
}

// storeTail stores a word, whose place is aligned, after all that was stored
// before.
func storeTail(dst, src []byte) {
	switch len(dst) {
	case 8:
		release((*uint64)(unsafe.Pointer(&dst[0])), binary.NativeEndian.Uint64(src))
	case 4:
		release32(&dst[0], binary.NativeEndian.Uint32(src))
	case 2:
		release16(&dst[0], binary.NativeEndian.Uint16(src))
	case 1:
		release8(&dst[0], src[0])
	}
}

// fetch copies src to dst by loads of aligned words, in ascending order: a bell
// at the begin is loaded before what it tells of. The words at the ends may be
// loaded in part outside of src; they are of the same pages.
func fetch(dst, src []byte) {
	if len(src) == 0 {
		return
	}
	at := unsafe.Pointer(unsafe.SliceData(src))
	if skip := uintptr(at) % 8; skip != 0 {
		n := edge(dst, unsafe.Add(at, -int(skip)), int(skip))
		dst, at = dst[n:], unsafe.Add(at, n)
	}
	for len(dst) >= 32 {
		binary.NativeEndian.PutUint64(dst, atomic.LoadUint64((*uint64)(at)))
		binary.NativeEndian.PutUint64(dst[8:], atomic.LoadUint64((*uint64)(unsafe.Add(at, 8))))
		binary.NativeEndian.PutUint64(dst[16:], atomic.LoadUint64((*uint64)(unsafe.Add(at, 16))))
		binary.NativeEndian.PutUint64(dst[24:], atomic.LoadUint64((*uint64)(unsafe.Add(at, 24))))
		dst, at = dst[32:], unsafe.Add(at, 32)
	}
	for len(dst) >= 8 {
		binary.NativeEndian.PutUint64(dst, atomic.LoadUint64((*uint64)(at)))
		dst, at = dst[8:], unsafe.Add(at, 8)
	}
	if len(dst) > 0 {
		edge(dst, at, 0)
	}
}

// edge copies what is in a word from a byte on, as far as dst goes.
func edge(dst []byte, word unsafe.Pointer, from int) int {
	var b [8]byte
	binary.NativeEndian.PutUint64(b[:], atomic.LoadUint64((*uint64)(word)))
	return copy(dst, b[from:])
}
