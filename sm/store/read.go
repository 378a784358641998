package store

import (
	"bytes"
	"cmp"
	"fmt"

	"heddle/sm/group"
)

// Groups makes the table of groups that is kept. It is the last manager's;
// Table.Resume makes it this one's.
func (s *Store) Groups(config group.Config) (*group.Table, error) {
	var b Batch
	err := s.back.view(func(v view) error { return readGroups(v, &b) })
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	return b.groups(config)
}

// groups makes the table of a batch with Reset.
func (b *Batch) groups(config group.Config) (*group.Table, error) {
	t, err := group.New(config)
	if len(b.Snapshot) > 0 {
		t, err = group.Restore(config, b.Snapshot)
	}
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	for i := range b.Entries {
		if err := t.Apply(b.Entries[i]); err != nil {
			return nil, fmt.Errorf("store: %w", err)
		}
	}
	return t, nil
}

// readGroups reads the snapshot and the entries after it.
func readGroups(v view, b *Batch) error {
	err := v.each(snapshotBucket, func(key, sealed []byte) error {
		chunk, err := own(snapshotBucket, key, sealed)
		b.Snapshot = append(b.Snapshot, chunk...)
		return err
	})
	if err != nil {
		return err
	}
	return v.each(journalBucket, func(key, sealed []byte) error {
		encoded, err := own(journalBucket, key, sealed)
		if err != nil {
			return err
		}
		e, rest, err := group.ParseEntry(encoded)
		if err != nil || len(rest) > 0 || !bytes.Equal(key, numberKey(e.Seq)) {
			return damagef("journal entry %x: %w", key, cmp.Or(err, errForm))
		}
		b.Entries = append(b.Entries, e)
		return nil
	})
}

// own unseals a value of one of the store's own buckets.
func own(bucket string, key, sealed []byte) ([]byte, error) {
	version, value, err := unseal(bucket, key, sealed)
	if err != nil || version != ownVersion {
		return nil, damagef("bucket %q, key %x: version %d, %w", bucket, key, version, cmp.Or(err, errForm))
	}
	return value, nil
}

// Record gives a record; false where there is none. Like all that reads, it
// gives what is kept for good, which Sync makes all that was accepted.
func (s *Store) Record(bucket string, key []byte) (r Record, ok bool, err error) {
	err = s.back.view(func(v view) error {
		sealed := v.get(recordPrefix+bucket, key)
		if sealed == nil {
			return nil
		}
		ok = true
		r, err = newRecord(bucket, key, sealed)
		return err
	})
	if err != nil {
		return Record{}, false, fmt.Errorf("store: %w", err)
	}
	return r, ok, nil
}

// Records gives the records of a bucket, in the order of their keys.
func (s *Store) Records(bucket string) (records []Record, err error) {
	err = s.back.view(func(v view) error {
		records, err = readRecords(v, bucket, nil)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	return records, nil
}

func readRecords(v view, bucket string, records []Record) ([]Record, error) {
	err := v.each(recordPrefix+bucket, func(key, sealed []byte) error {
		r, err := newRecord(bucket, key, sealed)
		records = append(records, r)
		return err
	})
	return records, err
}

// newRecord copies a record out of a view.
func newRecord(bucket string, key, sealed []byte) (Record, error) {
	version, value, err := unseal(recordPrefix+bucket, key, sealed)
	if err != nil {
		return Record{}, damagef("bucket %q, key %x: %w", bucket, key, err)
	}
	return Record{bucket, bytes.Clone(key), version, bytes.Clone(value)}, nil
}

// Copy gives all that is kept, as a batch with Reset that makes another store
// have the same.
func (s *Store) Copy() (*Batch, error) {
	b := &Batch{Reset: true}
	err := s.back.view(func(v view) error {
		position, err := metaNumbers(v, keyPosition, 2)
		if err != nil {
			return err
		}
		b.At = Position{position[0], position[1]}
		if err := readGroups(v, b); err != nil {
			return err
		}
		return readChanges(v, b)
	})
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	return b, nil
}

func readChanges(v view, b *Batch) error {
	for _, name := range v.buckets() {
		bucket, ok := recordBucket(name)
		if !ok {
			continue
		}
		records, err := readRecords(v, bucket, nil)
		if err != nil {
			return err
		}
		for _, r := range records {
			b.Put(r)
		}
	}
	return nil
}
