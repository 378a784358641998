package group

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/ib"
)

func TestApplyRefuses(t *testing.T) {
	journal := sampleJournal(t)
	follow := func(n int) *Table {
		table := newTable(t, Config{})
		for _, e := range journal[:n] {
			if err := table.Apply(e); err != nil {
				t.Fatal(err)
			}
		}
		return table
	}
	last := journal[len(journal)-1]
	edit := func(change func(*Entry)) Entry {
		e := Entry{Kind: EntryUnreserved, Seq: last.Seq + 1, Epoch: last.Epoch, At: last.At}
		change(&e)
		return e
	}
	whole := follow(len(journal))
	if whole.Seq() != last.Seq || whole.Epoch() != 1 {
		t.Errorf("seq %d, epoch %d after %+v", whole.Seq(), whole.Epoch(), last)
	}
	for name, c := range map[string]struct {
		entry Entry
		want  error
	}{
		"again":           {edit(func(e *Entry) { e.Seq-- }), ErrGap},
		"one is missing":  {edit(func(e *Entry) { e.Seq++ }), ErrGap},
		"an old master":   {edit(func(e *Entry) { e.Epoch-- }), ErrStale},
		"a future epoch":  {edit(func(e *Entry) { e.Epoch++ }), ErrEntry},
		"the same epoch":  {edit(func(e *Entry) { e.Kind = EntryResumed }), ErrEntry},
		"of a snapshot":   {edit(func(e *Entry) { e.Kind = EntryRetiring }), ErrEntry},
		"no kind":         {edit(func(e *Entry) { e.Kind = 0 }), ErrEntry},
		"before all time": {edit(func(e *Entry) { e.At = -1 }), ErrEntry},
		"after all time":  {edit(func(e *Entry) { e.Deadline = lastTime + 1 }), ErrEntry},
		"no such group":   {edit(func(e *Entry) { e.Kind = EntryDeleted }), ErrEntry},
		"not retiring":    {edit(func(e *Entry) { e.Kind = EntryFreed; e.MLID = ib.LastMLID }), ErrEntry},
	} {
		if err := whole.Apply(c.entry); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	if err := whole.Apply(edit(func(*Entry) {})); err != nil {
		t.Error(err)
	}
}

func TestRestoreRefuses(t *testing.T) {
	entries := slices.Collect(sampleTable(t, nil).Snapshot())
	encode := func(entries ...Entry) []byte {
		var b []byte
		for _, e := range entries {
			b = e.AppendTo(b)
		}
		return b
	}
	for n := range entries {
		if table, err := Restore(Config{}, encode(entries[:n]...)); !errors.Is(err, ErrEncoding) || table != nil {
			t.Errorf("the first %d entries: %v", n, err)
		}
	}
	first, created := entries[0], entries[1]
	for name, c := range map[string]struct {
		snapshot []byte
		want     error
	}{
		"no checkpoint":     {encode(created, first), ErrEntry},
		"more after it":     {encode(first, created, first, created), ErrEncoding},
		"other checkpoint":  {encode(first, Entry{Kind: EntryCheckpoint, Seq: 99}), ErrEncoding},
		"a journal's entry": {encode(first, Entry{Kind: EntryUnreserved}, first), ErrEntry},
		"a time":            {encode(first, Entry{Kind: EntryRetiring, MLID: ib.FirstMLID, At: -1}, first), ErrEntry},
		"twice":             {encode(first, created, created, first), ErrEntry},
	} {
		if table, err := Restore(Config{}, c.snapshot); !errors.Is(err, c.want) || table != nil {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	if _, err := Restore(Config{Cap: -1}, encode(entries...)); err == nil {
		t.Error("a bad configuration is taken")
	}
}

// TestReservationsSurviveARestart is M9 for a manager that saved no more than
// who had which MLID: the groups come back in another order, after a new one.
func TestReservationsSurviveARestart(t *testing.T) {
	before := newTable(t, Config{Cap: 8})
	for m := range 6 {
		mustJoin(t, before, plainJoin(m, 1))
	}
	if _, err := before.Leave(start, plainJoin(2, 1)); err != nil {
		t.Fatal(err)
	}
	saved := slices.Collect(before.reservations())
	after := newTable(t, Config{Cap: 8})
	after.reserve(start, saved)
	if diff := cmp.Diff(saved, slices.Collect(after.reservations())); diff != "" {
		t.Errorf("reservations (-want +got):\n%s", diff)
	}
	if got := mustJoin(t, after, plainJoin(100, 1)).Group.MLID; got != ib.FirstMLID+6 {
		t.Errorf("the new group has %v", got)
	}
	for m := 5; m >= 0; m-- {
		if got := mustJoin(t, after, plainJoin(m, 1)).Group.MLID; got != ib.FirstMLID+ib.MLID(m) {
			t.Errorf("group %d has %v", m, got)
		}
	}
}
