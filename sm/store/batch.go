package store

import (
	"errors"
	"fmt"
	"slices"

	"heddle/ib"
	"heddle/sm/group"
)

// Batch is what changes together.
type Batch struct {
	// At is where the batch stands. Zero means after the last one, in the epoch
	// that was promised; Commit fills it in.
	At Position
	// Reset says that the batch is the whole state: everything else goes.
	Reset bool
	// Snapshot is the group table before Entries, encoded, where Reset is set;
	// nil for an empty one.
	Snapshot []byte
	// Entries follow in number on those that the store has.
	Entries []group.Entry
	// Changes are made in their order.
	Changes []Change
}

// Change is a record that is written or deleted.
type Change struct {
	Record
	Delete bool // then only Bucket and Key count
}

// Record is a value by bucket and key, whose form only its writer knows.
type Record struct {
	Bucket  string // 1 to MaxBucketLen bytes
	Key     []byte // 1 to MaxKeyLen bytes
	Version uint8  // of the form of Value
	Value   []byte // at most MaxValueLen bytes
}

// The limits of a record.
const (
	MaxBucketLen = 64
	MaxKeyLen    = 1 << 10
	MaxValueLen  = 1 << 20
)

// The ways in which a batch is refused. ErrGap, ErrStale and ErrEntry of
// sm/group are given for entries too.
var (
	// ErrPosition means that the batch does not follow on the last one.
	ErrPosition = errors.New("batches are missing or come twice")
	// ErrStale means that the batch is of a manager that was replaced.
	ErrStale = errors.New("batch of a past epoch")
	// ErrRecord means that a record is beyond the limits.
	ErrRecord = errors.New("record out of limits")
)

// Put adds the writing of a record, whose slices the batch keeps.
func (b *Batch) Put(r Record) { b.Changes = append(b.Changes, Change{Record: r}) }

// Delete adds the deletion of a record, which need not be there.
func (b *Batch) Delete(bucket string, key []byte) {
	b.Changes = append(b.Changes, Change{Record: Record{Bucket: bucket, Key: key}, Delete: true})
}

// PutLIDs adds the LIDs of a port.
func (b *Batch) PutLIDs(port ib.GUID, lids LIDRange) {
	b.Put(Record{Bucket: lidBucket, Key: guidKey(port), Version: lidVersion, Value: lids.append(nil)})
}

// IsEmpty tells whether the batch changes nothing.
func (b *Batch) IsEmpty() bool { return !b.Reset && len(b.Entries) == 0 && len(b.Changes) == 0 }

func (r *Record) check() error {
	if len(r.Bucket) < 1 || len(r.Bucket) > MaxBucketLen || len(r.Key) < 1 || len(r.Key) > MaxKeyLen || len(r.Value) > MaxValueLen {
		return fmt.Errorf("%w: bucket of %d bytes, key of %d, value of %d", ErrRecord, len(r.Bucket), len(r.Key), len(r.Value))
	}
	return nil
}

// check holds a batch against the limits, and its entries against each other.
// It gives the place of the last entry.
func (b *Batch) check(last tail) (tail, error) {
	if b.Reset {
		var err error
		if last, err = snapshotTail(b.Snapshot); err != nil {
			return tail{}, err
		}
	} else if b.Snapshot != nil {
		return tail{}, fmt.Errorf("%w: a snapshot without reset", ErrRecord)
	}
	for i := range b.Entries {
		if err := last.next(&b.Entries[i]); err != nil {
			return tail{}, err
		}
	}
	for i := range b.Changes {
		if err := b.Changes[i].check(); err != nil {
			return tail{}, err
		}
	}
	return last, nil
}

// tail is the number and epoch of the last entry.
type tail struct{ seq, epoch uint64 }

// next goes on to an entry, if it follows.
func (t *tail) next(e *group.Entry) error {
	switch {
	case e.Seq != t.seq+1:
		return fmt.Errorf("entry %d after %d: %w", e.Seq, t.seq, group.ErrGap)
	case e.Epoch < t.epoch:
		return fmt.Errorf("entry %d of epoch %d after epoch %d: %w", e.Seq, e.Epoch, t.epoch, group.ErrStale)
	case !e.Kind.IsValid() || e.Kind >= group.EntryCheckpoint:
		return fmt.Errorf("entry %d: %w: %v", e.Seq, group.ErrEntry, e.Kind)
	}
	t.seq, t.epoch = e.Seq, e.Epoch
	return nil
}

// snapshotTail reads the number and epoch of a snapshot.
func snapshotTail(snapshot []byte) (tail, error) {
	if len(snapshot) == 0 {
		return tail{}, nil
	}
	e, _, err := group.ParseEntry(snapshot)
	if err != nil {
		return tail{}, fmt.Errorf("snapshot: %w", err)
	}
	if e.Kind != group.EntryCheckpoint {
		return tail{}, fmt.Errorf("snapshot: %w: it begins with %v", group.ErrEntry, e.Kind)
	}
	return tail{e.Seq, e.Epoch}, nil
}

// Clone copies a batch and all that it refers to.
func (b *Batch) Clone() *Batch {
	c := *b
	c.Snapshot, c.Entries, c.Changes = slices.Clone(b.Snapshot), slices.Clone(b.Entries), slices.Clone(b.Changes)
	for i := range c.Changes {
		r := &c.Changes[i].Record
		r.Key, r.Value = slices.Clone(r.Key), slices.Clone(r.Value)
	}
	return &c
}
