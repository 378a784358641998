//go:build linux && (amd64 || arm64)

package shm

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// biased is a mutex with an owner, one goroutine at a time, which comes in and
// goes out by plain stores. Others pay for that: they bar the owner, and have all
// CPUs pass a barrier. What the owner does not touch is guarded by mu alone.
type biased struct {
	mu     sync.Mutex
	lax    bool          // there is such a barrier; else the owner needs its own
	kept   bool          // barred stays; guarded by mu
	inside atomic.Uint64 // 1 while the owner is
	barred atomic.Uint64 // 1 while it has to go by mu; changed with mu held
}

// enter lets the owner in; false where it has to lock mu instead. Inside it may
// not do so.
func (b *biased) enter() bool {
	if b.lax {
		set(&b.inside, 1)
	} else {
		b.inside.Store(1)
	}
	if b.barred.Load() == 0 {
		return true
	}
	b.leave()
	return false
}

func (b *biased) leave() { set(&b.inside, 0) }

// Lock keeps everybody out.
func (b *biased) Lock() {
	b.mu.Lock()
	b.bar()
}

// Unlock ends Lock, and whatever else locked mu.
func (b *biased) Unlock() {
	switch barred := b.barred.Load() != 0; {
	case b.kept && !barred: // by the owner, which is not inside
		b.barred.Store(1)
	case !b.kept && barred:
		b.barred.Store(0)
	}
	b.mu.Unlock()
}

// bar keeps the owner out until Unlock; mu is held.
func (b *biased) bar() {
	if b.barred.Load() != 0 {
		return
	}
	b.barred.Store(1)
	if b.lax {
		barrierHere()
	}
	for b.inside.Load() != 0 {
		runtime.Gosched()
	}
}
