//go:build linux && amd64

package shm

import (
	"sync/atomic"
	"unsafe"
)

// The stores here come after all loads and stores before them, and are nothing
// more: no barrier, as sync/atomic's are. The CPU keeps stores in order, and the
// compiler does not change it.

// release stores a word of shared memory.
func release(at *uint64, v uint64) { *at = v }

func release8(at *byte, v uint8) { *at = v }

func release16(at *byte, v uint16) { *(*uint16)(unsafe.Pointer(at)) = v }

func release32(at *byte, v uint32) { *(*uint32)(unsafe.Pointer(at)) = v }

// set stores a word of our own, which other goroutines load.
func set(at *atomic.Uint64, v uint64) {
	if raceEnabled {
		at.Store(v)
		return
	}
	*(*uint64)(unsafe.Pointer(at)) = v
}
