//go:build linux && arm64

package shm

import (
	"sync/atomic"
	"unsafe"
)

// The stores here come after all loads and stores before them: those of
// sync/atomic are such on this CPU.

// release stores a word of shared memory.
func release(at *uint64, v uint64) { atomic.StoreUint64(at, v) }

//go:noescape
func release8(at *byte, v uint8)

//go:noescape
func release16(at *byte, v uint16)

func release32(at *byte, v uint32) { atomic.StoreUint32((*uint32)(unsafe.Pointer(at)), v) }

// set stores a word of our own, which other goroutines load.
func set(at *atomic.Uint64, v uint64) { at.Store(v) }
