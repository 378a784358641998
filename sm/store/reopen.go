package store

import (
	"context"
	"fmt"
	"sync"
)

// door is a backend that can be opened anew.
type door struct {
	open func() (backend, error) // nil where there is nothing to open

	mu   sync.RWMutex
	back backend // guarded by mu
}

func (d *door) apply(ops []op) error {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.back.apply(ops)
}

func (d *door) view(read func(view) error) error {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.back.view(read)
}

func (d *door) close() error {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.back.close()
}

// reopen closes the backend and opens it. Where that fails, it stays closed.
func (d *door) reopen() error {
	if d.open == nil {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	_ = d.back.close() // it is broken
	back, err := d.open()
	if err != nil {
		return err
	}
	d.back = back
	return nil
}

// Reopen opens the file of a store again whose write failed, since the disk was
// full, or the like. It checks the file as Open does, and the store goes on with
// what is kept for good: batches that were accepted and not kept are gone, and
// their done was told so. It does nothing to a store that is sound. Where it
// fails, the store accepts nothing, as before.
func (s *Store) Reopen(ctx context.Context) error {
	s.mu.Lock()
	if s.closed || s.failed == nil {
		defer s.mu.Unlock()
		return s.err()
	}
	opened := make(chan error, 1)
	s.enqueue(request{reopen: true, done: func(r Result) { opened <- r.Err }})
	s.mu.Unlock()
	select {
	case err := <-opened:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// reopen does so, in the goroutine that writes; nothing is queued that was
// accepted before.
func (s *Store) reopen() error {
	if d, ok := s.back.(*door); ok {
		if err := d.reopen(); err != nil {
			return fmt.Errorf("store: reopen: %w", err)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	kept := s.durable
	s.journal = sizes{resets: s.journal.resets + 1, compacting: s.journal.compacting}
	if err := s.back.view(s.load); err != nil {
		return fmt.Errorf("store: reopen: %w", err)
	}
	if s.last.Index < kept.Index {
		return fmt.Errorf("store: reopen: the file is at %v, and was at %v: it is another one", s.last, kept)
	}
	s.durable, s.failed = s.last, nil
	return nil
}
