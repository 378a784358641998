package store

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestManyShareAWrite(t *testing.T) {
	s := InMemory(Options{})
	defer s.Close()
	counted := &counting{backend: s.back}
	s.back = counted
	var order []uint64
	for range 100 {
		if err := s.Commit(t.Context(), &Batch{}, func(r Result) { order = append(order, r.At.Index) }); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(order) != 100 || !slices.IsSorted(order) {
		t.Errorf("order %v", order)
	}
	if counted.writes > 50 {
		t.Errorf("%d writes", counted.writes)
	}
}

// counting counts the writes of a backend, each of which waits for its turn,
// and fails from one of them on.
type counting struct {
	backend
	writes int
	hold   chan struct{}
	fail   error
}

func (c *counting) apply(ops []op) error {
	c.writes++
	if c.hold != nil {
		<-c.hold
	}
	if c.fail != nil {
		return c.fail
	}
	return c.backend.apply(ops)
}

func TestCommitWaitsForRoom(t *testing.T) {
	s := InMemory(Options{Pending: 100})
	hold := make(chan struct{})
	s.back = &counting{backend: s.back, hold: hold}
	big := &Batch{}
	big.Put(Record{"r", []byte("k"), 1, make([]byte, 200)})
	if err := s.Commit(t.Context(), big, nil); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Commit(ctx, &Batch{}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
	close(hold)
	if err := s.Commit(t.Context(), &Batch{}, nil); err != nil {
		t.Errorf("with room: %v", err)
	}
	mustClose(t, s)
}

func TestFailedWriteEndsTheStore(t *testing.T) {
	s := InMemory(Options{})
	full := errors.New("disk is full")
	s.back = &counting{backend: s.back, fail: full}
	kept := make(chan Result, 1)
	if err := s.Commit(t.Context(), &Batch{}, func(r Result) { kept <- r }); err != nil {
		t.Fatal(err)
	}
	if r := <-kept; !errors.Is(r.Err, full) {
		t.Errorf("result %v, want %v", r.Err, full)
	}
	if err := s.Commit(t.Context(), &Batch{}, nil); !errors.Is(err, full) {
		t.Errorf("commit: %v, want %v", err, full)
	}
	if p := s.Position(); p != (Position{}) {
		t.Errorf("position %v", p)
	}
	mustClose(t, s)
	if err := s.Commit(t.Context(), &Batch{}, nil); !errors.Is(err, ErrClosed) {
		t.Errorf("after Close: %v, want %v", err, ErrClosed)
	}
}

func TestSecondOpenIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	s := mustOpen(t, path, Options{})
	if _, err := Open(path, Options{}); !errors.Is(err, ErrLocked) {
		t.Errorf("error %v, want %v", err, ErrLocked)
	}
	mustClose(t, s)
	mustClose(t, mustOpen(t, path, Options{}))
	names, err := os.ReadDir(filepath.Dir(path))
	if len(names) != 1 || err != nil {
		t.Errorf("files beside the state: %v, %v", names, err)
	}
}

func TestAnotherVersionStays(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	s := mustOpen(t, path, Options{})
	if err := s.back.apply([]op{putMeta(keyVersion, 9)}); err != nil {
		t.Fatal(err)
	}
	mustClose(t, s)
	_, err := Open(path, Options{})
	if d := (*DamagedError)(nil); err == nil || errors.As(err, &d) || !strings.Contains(err.Error(), "version 9") {
		t.Errorf("error %v", err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
}
