//go:build linux && (amd64 || arm64)

package ibv

import (
	"sync"
	"sync/atomic"

	"heddle/verbs"
)

// life keeps an object of the C library from being destroyed while it is in use
// or others that were made of it are open.
type life struct {
	mu       sync.RWMutex
	closed   bool // guarded by mu
	children atomic.Int32
}

// use calls f unless the object was closed. Close waits for it.
func (l *life) use(f func() error) error {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if l.closed {
		return verbs.ErrClosed
	}
	return f()
}

// adopt is use for what makes a child, which counts if f succeeds.
func (l *life) adopt(f func() error) error {
	return l.use(func() error {
		err := f()
		if err == nil {
			l.children.Add(1)
		}
		return err
	})
}

// resume takes an end back.
func (l *life) resume() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = false
}

// release is called when a child is gone.
func (l *life) release() { l.children.Add(-1) }

// end says that nobody may use the object any more. It is not done where the
// object was closed before, or has children.
func (l *life) end() (done bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.closed:
		return false, nil
	case l.children.Load() > 0:
		return false, verbs.ErrBusy
	}
	l.closed = true
	return true, nil
}
