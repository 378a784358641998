package group

import (
	"fmt"
	"iter"
)

// Snapshot gives the whole state as entries: a checkpoint with Seq and Epoch,
// what makes an empty table have it, and the checkpoint again, so that none can
// be missing. What waits to be routed is not part of it: Resume has all routed.
func (t *Table) Snapshot() iter.Seq[Entry] {
	return func(yield func(Entry) bool) {
		checkpoint := Entry{Kind: EntryCheckpoint, Seq: t.seq, Epoch: t.epoch, At: t.now, Count: t.generated}
		if !yield(checkpoint) {
			return
		}
		for _, g := range t.list {
			if !g.snapshot(yield) {
				return
			}
		}
		for _, s := range t.slots {
			if !t.snapshotSlot(s, yield) {
				return
			}
		}
		yield(checkpoint)
	}
}

func (g *group) snapshot(yield func(Entry) bool) bool {
	e := Entry{
		Kind: EntryCreated, At: g.created, MGID: g.mgid, MLID: g.mlid, Params: g.params,
		Count: g.want, Configured: g.configured, State: g.state, Deadline: g.deadline,
	}
	if g.creator != nil {
		e.Port = g.creator.gid
	}
	if !yield(e) {
		return false
	}
	for i := range g.members {
		m := &g.members[i]
		if !yield(Entry{Kind: EntryMember, At: m.since, MGID: g.mgid, Port: m.port.gid, JoinState: m.state, Requester: m.proxy()}) {
			return false
		}
	}
	return true
}

func (t *Table) snapshotSlot(s *slot, yield func(Entry) bool) bool {
	if s.retiring && len(s.groups) == 0 && !yield(Entry{Kind: EntryRetiring, MLID: s.mlid}) {
		return false
	}
	if !s.last.IsValid() || len(s.groups) > 0 {
		return true
	}
	e := Entry{Kind: EntryRemembered, MGID: s.last, MLID: s.mlid}
	if t.mlids.reserved.has(index(s.mlid)) {
		e.Kind = EntryReserved
	}
	return yield(e)
}

// AppendSnapshot appends the encoded entries of Snapshot.
func (t *Table) AppendSnapshot(b []byte) []byte {
	for e := range t.Snapshot() {
		b = e.AppendTo(b)
	}
	return b
}

// Restore makes a table with the state of a snapshot. The error wraps
// ErrEncoding or ErrEntry where b is not one, or not the whole of one. Apply
// goes on with the entry after it; Resume makes it the manager's.
func Restore(config Config, b []byte) (*Table, error) {
	t, err := New(config)
	if err != nil {
		return nil, err
	}
	checkpoint, b, err := ParseEntry(b)
	if err != nil {
		return nil, fmt.Errorf("snapshot: %w", err)
	}
	if checkpoint.Kind != EntryCheckpoint {
		return nil, fmt.Errorf("snapshot: %w: it begins with %v", ErrEntry, checkpoint.Kind)
	}
	for e := (Entry{}); e != checkpoint; {
		if e, b, err = ParseEntry(b); err != nil {
			return nil, fmt.Errorf("snapshot: %w", err)
		}
		if err := t.restore(&e); err != nil {
			return nil, fmt.Errorf("snapshot: %w", err)
		}
	}
	if len(b) > 0 {
		return nil, fmt.Errorf("snapshot: %w: %d bytes after its end", ErrEncoding, len(b))
	}
	t.seq, t.epoch, t.generated = checkpoint.Seq, checkpoint.Epoch, checkpoint.Count
	t.now = max(0, min(checkpoint.At, lastTime))
	return t, nil
}

// restore makes a change of a snapshot.
func (t *Table) restore(e *Entry) error {
	switch e.Kind {
	case EntryCheckpoint: // the last
		return nil
	case EntryCreated, EntryMember, EntryReserved, EntryRemembered, EntryRetiring:
	default:
		return misfit(e, "not in a snapshot")
	}
	if err := e.checkTimes(); err != nil {
		return err
	}
	return t.apply(e)
}
