package replica

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"heddle/sm/store"
)

// fullStore is a store whose disk can be full.
type fullStore struct {
	*store.Store
	full atomic.Bool
}

var errFull = errors.New("no space left on device")

func (s *fullStore) Commit(ctx context.Context, b *store.Batch, done func(store.Result)) error {
	if s.full.Load() {
		go done(store.Result{Err: errFull, At: b.At})
		return nil
	}
	return s.Store.Commit(ctx, b, done)
}

// TestStoreFailsAndIsBack: a leader whose store fails says so, acknowledges
// nothing, and leads again when the store is back, with what that has.
func TestStoreFailsAndIsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &fullStore{Store: store.InMemory(store.Options{})}
		n, err := New(s, Config{ID: 1, Secret: testSecret})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- n.Run(ctx, nil) }()
		commit := func() error {
			got := make(chan error, 1)
			if err := n.Commit(t.Context(), &store.Batch{}, func(r store.Result) { got <- r.Err }); err != nil {
				return err
			}
			return <-got
		}
		if _, err := n.Lead(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := commit(); err != nil {
			t.Error(err)
		}
		at := s.Position()
		s.full.Store(true)
		if err := commit(); !errors.Is(err, errFull) {
			t.Errorf("with a full disk: %v", err)
		}
		if err := <-n.Deposed(); !errors.Is(err, errFull) {
			t.Errorf("deposed for %v", err)
		}
		if err := commit(); !errors.Is(err, ErrNotLeader) {
			t.Errorf("after that: %v", err)
		}
		s.full.Store(false)
		if _, err := n.Lead(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := commit(); err != nil || s.Position().Index != at.Index+1 {
			t.Errorf("with room again: %v, at %v after %v", err, s.Position(), at)
		}
		cancel()
		if err := s.Close(); err != nil || !errors.Is(<-ended, context.Canceled) {
			t.Error(err)
		}
	})
}
