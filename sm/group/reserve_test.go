package group

import (
	"iter"
	"time"

	"heddle/ib"
)

// What a manager that saved no more than who had which MLID would do: the journal
// has the entries, and no manager of ours makes them.

// reservation keeps an MLID for an MGID.
type reservation struct {
	MGID ib.MGID
	MLID ib.MLID
}

// reserve keeps MLIDs for groups that are expected to come back, which is after
// a restart that saved no more than who had which. Others get them only where no
// MLID else is free. What is in use, or not valid, is left out.
func (t *Table) reserve(now time.Time, list []reservation) {
	t.see(now)
	for _, r := range list {
		t.commit(Entry{Kind: EntryReserved, MGID: r.MGID, MLID: r.MLID})
	}
}

// unreserve drops the reservations of groups that did not come back.
func (t *Table) unreserve(now time.Time) {
	t.see(now)
	t.commit(Entry{Kind: EntryUnreserved})
}

// reservations gives who has which MLID, or had it last where nobody has it.
func (t *Table) reservations() iter.Seq[reservation] {
	return func(yield func(reservation) bool) {
		for _, s := range t.slots {
			if len(s.groups) == 0 && s.last.IsValid() && !yield(reservation{s.last, s.mlid}) {
				return
			}
			for _, g := range s.groups {
				if !yield(reservation{g.mgid, s.mlid}) {
					return
				}
			}
		}
	}
}
