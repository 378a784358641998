package group

import (
	"fmt"
	"iter"
	"time"

	"heddle/ib"
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

// Reservation keeps an MLID for an MGID.
type Reservation struct {
	MGID ib.MGID
	MLID ib.MLID
}

// Reserve keeps MLIDs for groups that are expected to come back, which is after
// a restart that saved no more than who had which. Others get them only where no
// MLID else is free. What is in use, or not valid, is left out.
func (t *Table) Reserve(now time.Time, list []Reservation) {
	t.see(now)
	for _, r := range list {
		t.commit(Entry{Kind: EntryReserved, MGID: r.MGID, MLID: r.MLID})
	}
}

// Unreserve drops the reservations of groups that did not come back.
func (t *Table) Unreserve(now time.Time) {
	t.see(now)
	t.commit(Entry{Kind: EntryUnreserved})
}

// Reservations gives who has which MLID, or had it last where nobody has it.
func (t *Table) Reservations() iter.Seq[Reservation] {
	return func(yield func(Reservation) bool) {
		for _, s := range t.slots {
			if len(s.groups) == 0 && s.last.IsValid() && !yield(Reservation{s.last, s.mlid}) {
				return
			}
			for _, g := range s.groups {
				if !yield(Reservation{g.mgid, s.mlid}) {
					return
				}
			}
		}
	}
}
