package group

import (
	"fmt"
	"time"
)

// Epoch and Seq are those of the latest entry.
func (t *Table) Epoch() uint64 { return t.epoch }

// Seq is the number of the latest entry, 0 before the first.
func (t *Table) Seq() uint64 { return t.seq }

// Resume is called when a manager begins to use a table that it restored or
// that was replicated to it. epoch must be higher than that of the table, or
// the error wraps ErrStale. Nothing is known then of what the switches hold, nor
// of what clients sent meanwhile: every MLID is handed out again, to be routed
// or removed; batches of before are forgotten; time limits begin anew; and what
// the last manager did half is done.
func (t *Table) Resume(now time.Time, epoch uint64) error {
	if epoch <= t.epoch {
		return fmt.Errorf("resume with epoch %d after epoch %d: %w", epoch, t.epoch, ErrStale)
	}
	t.see(now)
	t.commit(Entry{Kind: EntryResumed, Epoch: epoch})
	for _, s := range t.slots {
		t.revisit(s)
	}
	for i := len(t.list) - 1; i >= 0; i-- { // those that are destroyed make room for later ones
		g := t.list[i]
		if g.state.waits() {
			t.move(g, g.state)
		}
		t.settle(g)
	}
	return nil
}

// revisit lets a slot be handed out again.
func (t *Table) revisit(s *slot) {
	switch {
	case s.retiring:
		t.want(s, Vanishings)
	case s.serves():
		s.handed = true
		t.want(s, Changes)
	}
	for _, g := range s.groups {
		g.batch = 0
		if g.state == ComputingRoutes {
			t.want(s, Completions)
		}
	}
}
