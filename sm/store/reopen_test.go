package store

import (
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
)

// flaky is a backend that fails while it is told to.
type flaky struct {
	backend
	fails *atomic.Bool
}

var errFull = errors.New("no space left on device")

func (f flaky) apply(ops []op) error {
	if f.fails.Load() {
		return errFull
	}
	return f.backend.apply(ops)
}

// flakyStore is a store on a file, whose writes can be made to fail.
func flakyStore(t *testing.T) (s *Store, path string, fails *atomic.Bool) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "state.db")
	s, fails = mustOpen(t, path, Options{}), &atomic.Bool{}
	d := s.back.(*door)
	open := d.open
	d.open = func() (backend, error) {
		b, err := open()
		return flaky{b, fails}, err
	}
	d.back = flaky{d.back, fails}
	return s, path, fails
}

func record(value string) *Batch {
	b := &Batch{}
	b.Put(Record{"r", []byte("k"), 1, []byte(value)})
	return b
}

// failed commits a batch that is not kept.
func failed(t *testing.T, s *Store, value string) {
	t.Helper()
	kept := make(chan Result, 1)
	if err := s.Commit(t.Context(), record(value), func(r Result) { kept <- r }); err != nil {
		t.Fatal(err)
	}
	if r := <-kept; !errors.Is(r.Err, errFull) {
		t.Errorf("result %v, want %v", r.Err, errFull)
	}
}

// TestReopen: what was kept before the disk was full is there, and the rest is
// not; the store goes on from there.
func TestReopen(t *testing.T) {
	s, path, fails := flakyStore(t)
	commit(t, s, record("one"))
	at := s.Position()
	fails.Store(true)
	failed(t, s, "two")
	if err := s.Reopen(t.Context()); err != nil { // the file can be read
		t.Fatal(err)
	}
	failed(t, s, "three")
	fails.Store(false)
	if err := s.Commit(t.Context(), record("four"), nil); !errors.Is(err, errFull) {
		t.Errorf("before it is opened again: %v, want %v", err, errFull)
	}
	if err := s.Reopen(t.Context()); err != nil || s.Position() != at || s.Last() != at || s.Err() != nil {
		t.Errorf("%v, at %v and %v, want %v, %v", err, s.Position(), s.Last(), at, s.Err())
	}
	if list, err := s.Records("r"); err != nil || len(list) != 1 || string(list[0].Value) != "one" {
		t.Errorf("records %q, %v", list, err)
	}
	commit(t, s, record("five"))
	if err := s.Reopen(t.Context()); err != nil {
		t.Errorf("of a sound store: %v", err)
	}
	mustClose(t, s)
	s = mustOpen(t, path, Options{})
	if list, err := s.Records("r"); err != nil || len(list) != 1 || string(list[0].Value) != "five" {
		t.Errorf("records %q, %v", list, err)
	}
	mustClose(t, s)
	if err := s.Reopen(t.Context()); !errors.Is(err, ErrClosed) {
		t.Errorf("of a closed one: %v, want %v", err, ErrClosed)
	}
}

// TestReopenAnotherFile: a file that is gone is no reason to begin with nothing.
func TestReopenAnotherFile(t *testing.T) {
	s, path, fails := flakyStore(t)
	commit(t, s, record("one"))
	fails.Store(true)
	failed(t, s, "two")
	fails.Store(false)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := s.Reopen(t.Context()); err == nil {
		t.Error("reopened")
	}
	if err := s.Commit(t.Context(), record("three"), nil); err == nil {
		t.Error("accepted")
	}
	mustClose(t, s)
}
