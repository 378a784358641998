package store

import (
	"errors"

	"heddle/sm/group"
)

// compacted is what a compaction does to the sizes.
type compacted struct{ entries, snapshot int }

// compactIfLong starts a compaction where the journal is long; with the lock.
func (s *Store) compactIfLong() {
	if s.journal.compacting || s.err() != nil || s.journal.entries <= max(s.options.Journal, s.journal.snapshot) {
		return
	}
	s.journal.compacting = true
	resets := s.journal.resets
	s.done.Go(func() { s.compact(resets) })
}

// compact makes a snapshot of the state that is kept, and has it written in
// place of the last one and of the entries until then. Writes go on meanwhile.
func (s *Store) compact(resets int) {
	r, err := s.compaction()
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err != nil:
		// The journal has an entry that does not fit, and a later start would
		// find it too.
		s.failed, s.journal.compacting = errors.Join(s.failed, err), false
	case s.err() != nil:
		s.journal.compacting = false // it may be opened again
	case resets != s.journal.resets: // what it was made of is gone
		s.journal.compacting = false
	default:
		s.enqueue(r)
	}
}

func (s *Store) compaction() (request, error) {
	var b Batch
	if err := s.back.view(func(v view) error { return readGroups(v, &b) }); err != nil {
		return request{}, err
	}
	t, err := b.groups(group.Config{})
	if err != nil {
		return request{}, err
	}
	snapshot := t.AppendSnapshot(nil)
	r := request{compact: &compacted{snapshot: len(snapshot)}}
	for i := range b.Entries {
		r.compact.entries += len(b.Entries[i].AppendTo(nil))
	}
	r.ops = append(r.ops,
		op{kind: opTrim, bucket: snapshotBucket, key: numberKey(1<<64 - 1)},
		op{kind: opTrim, bucket: journalBucket, key: numberKey(t.Seq())})
	r.ops = appendSnapshot(r.ops, snapshot)
	return r, nil
}
