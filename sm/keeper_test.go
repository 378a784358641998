package sm

import (
	"context"
	"errors"
	"testing"

	"heddle/sm/group"
	"heddle/sm/store"
)

// taking is a Memory that keeps at once.
type taking struct{ batches []*store.Batch }

func (m *taking) Lead(context.Context) (uint64, error) { return 1, nil }
func (m *taking) Follow()                              {}
func (m *taking) Deposed() <-chan error                { return nil }

func (m *taking) Commit(_ context.Context, b *store.Batch, done func(store.Result)) error {
	m.batches = append(m.batches, b)
	done(store.Result{})
	return nil
}

// TestChangesOfAnotherEra: what a worker changes in a state that is taken up
// anew meanwhile is not there any more. It is neither kept nor acknowledged,
// whenever the worker comes to that.
func TestChangesOfAnotherEra(t *testing.T) {
	memory := &taking{}
	k := &keeper{memory: memory, broken: make(chan struct{}, 1)}
	add := func(era int, seq uint64) {
		k.add(era, func(b *store.Batch) { b.Entries = append(b.Entries, group.Entry{Seq: seq}) })
	}
	kept := func(era int) (err error) {
		err = errors.New("not told")
		k.keep(t.Context(), era, func(told error) { err = told })
		return err
	}
	old := k.now()
	add(old, 1)
	if err := kept(old); err != nil || len(memory.batches) != 1 {
		t.Fatalf("%d batches, %v", len(memory.batches), err)
	}
	k.suspend()
	add(old, 2)
	add(k.now(), 10)
	if err := kept(k.now()); !errors.Is(err, errSuspended) {
		t.Errorf("while the state is taken up: %v", err)
	}
	k.resume()
	add(old, 3)
	if err := kept(old); !errors.Is(err, errSuspended) {
		t.Errorf("of the era before: %v", err)
	}
	if err := kept(k.now()); err != nil {
		t.Error(err)
	}
	if n := len(memory.batches); n != 2 || len(memory.batches[1].Entries) != 1 || memory.batches[1].Entries[0].Seq != 10 {
		t.Errorf("kept are %+v", memory.batches[1:])
	}
}
