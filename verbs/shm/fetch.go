//go:build linux && (amd64 || arm64)

package shm

import (
	"encoding/binary"
	"sync/atomic"
	"unsafe"

	"heddle/verbs"
)

func (q *pair) read(l *link, wr *verbs.SendWR, n int) (outcome, verbs.Status) {
	if status := q.local(wr, verbs.LocalWrite); status != verbs.StatusOK {
		return done, status
	}
	b, how, status := q.reach(l, wr, n, verbs.RemoteRead)
	if b == nil {
		return how, status
	}
	for _, part := range q.parts {
		fetch(part, b[:len(part)])
		b = b[len(part):]
	}
	// Whoever closes a region has the memory for itself: what was fetched while it
	// was closed, by a process that was stopped meanwhile, does not count.
	if n > 0 && l.find(wr.RKey) == nil {
		return done, q.accuse(l, verbs.StatusRemoteAccess)
	}
	return done, verbs.StatusOK
}

// atomic does FETCH_AND_ADD and COMPARE_AND_SWAP; the old value goes to the SGE.
func (q *pair) atomic(l *link, wr *verbs.SendWR, n int) (outcome, verbs.Status) {
	if n != 8 {
		return done, verbs.StatusLocalLength
	}
	if status := q.local(wr, verbs.LocalWrite); status != verbs.StatusOK {
		return done, status
	}
	if wr.RemoteAddr%8 != 0 {
		return done, q.accuse(l, verbs.StatusRemoteInvalidRequest)
	}
	b, how, status := q.reach(l, wr, n, verbs.RemoteAtomic)
	if b == nil {
		return how, status
	}
	old := change((*uint64)(unsafe.Pointer(&b[0])), wr)
	l.bell.ring()
	var result [8]byte
	binary.NativeEndian.PutUint64(result[:], old)
	rest := result[:]
	for _, part := range q.parts {
		rest = rest[copy(part, rest):]
	}
	return done, verbs.StatusOK
}

// change gives the word as it was.
func change(word *uint64, wr *verbs.SendWR) uint64 {
	if wr.Op == verbs.OpFetchAdd {
		return atomic.AddUint64(word, wr.Swap) - wr.Swap
	}
	for {
		old := atomic.LoadUint64(word)
		if old != wr.Compare || atomic.CompareAndSwapUint64(word, old, wr.Swap) {
			return old
		}
	}
}
