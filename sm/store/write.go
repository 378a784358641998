package store

import (
	"fmt"
	"time"
)

// chunkLen is the size of the values that a snapshot is split into.
const chunkLen = 1 << 18

// request gives the changes of the backend that a batch is, which comes from a
// manager that leads in an epoch.
func (b *Batch) request(epoch uint64, done func(Result)) request {
	r := request{at: b.At, batch: true, done: done, reset: b.Reset}
	if b.Reset {
		r.ops = append(r.ops, op{kind: opWipe})
		r.ops = appendSnapshot(r.ops, b.Snapshot)
	}
	for i := range b.Entries {
		encoded := b.Entries[i].AppendTo(nil)
		r.entries += len(encoded)
		r.ops = append(r.ops, put(journalBucket, numberKey(b.Entries[i].Seq), ownVersion, encoded))
	}
	for i := range b.Changes {
		r.ops = append(r.ops, b.Changes[i].op())
	}
	r.ops = append(r.ops, putMeta(keyPosition, b.At.Index, b.At.Epoch), putMeta(keyPromise, epoch))
	return r
}

func (c *Change) op() op {
	bucket := recordPrefix + c.Bucket
	if c.Delete {
		return op{kind: opDelete, bucket: bucket, key: c.Key}
	}
	return put(bucket, c.Key, c.Version, c.Value)
}

// appendSnapshot adds the writing of a snapshot, in chunks.
func appendSnapshot(ops []op, snapshot []byte) []op {
	for n := uint64(0); len(snapshot) > 0; n++ {
		size := min(chunkLen, len(snapshot))
		ops = append(ops, put(snapshotBucket, numberKey(n), ownVersion, snapshot[:size]))
		snapshot = snapshot[size:]
	}
	return ops
}

// write is the goroutine that writes, until the store is closed.
func (s *Store) write() {
	for {
		<-s.wake
		if s.options.Window > 0 {
			time.Sleep(s.options.Window)
		}
		requests, closed := s.take()
		requests, reopened := withoutReopens(requests)
		s.settle(requests, s.keep(requests))
		for i := range reopened {
			reopened[i].done(Result{Err: s.reopen()})
		}
		if closed {
			return
		}
	}
}

// withoutReopens takes out what is to be done after the rest.
func withoutReopens(list []request) (rest, reopens []request) {
	for i := range list {
		if list[i].reopen {
			reopens = append(reopens, list[i])
		} else {
			rest = append(rest, list[i])
		}
	}
	return rest, reopens
}

// take gives what is queued, and whether there will be more.
func (s *Store) take() (requests []request, closed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	requests, s.queue = s.queue, nil
	return requests, s.closed
}

// keep writes requests as one.
func (s *Store) keep(requests []request) error {
	s.mu.Lock()
	failed := s.failed
	s.mu.Unlock()
	if failed != nil {
		return failed
	}
	var ops []op
	for i := range requests {
		ops = append(ops, requests[i].ops...)
	}
	if len(ops) == 0 {
		return nil
	}
	if err := s.back.apply(ops); err != nil {
		return fmt.Errorf("store: write: %w", err)
	}
	return nil
}

// settle takes note of what was written, or not, and tells it.
func (s *Store) settle(requests []request, err error) {
	s.mu.Lock()
	if s.failed == nil {
		s.failed = err
	}
	for i := range requests {
		s.pending -= requests[i].size
		if err == nil {
			s.kept(&requests[i])
		}
	}
	s.compactIfLong()
	close(s.room)
	s.room = make(chan struct{})
	s.mu.Unlock()
	for i := range requests {
		if r := &requests[i]; r.done != nil {
			r.done(Result{Err: err, At: r.at})
		}
	}
}

// kept takes note of a request that was written; with the lock.
func (s *Store) kept(r *request) {
	if r.batch {
		s.durable = r.at
	}
	switch {
	case r.reset:
		s.journal.entries, s.journal.snapshot = r.entries, r.size-r.entries
	case r.compact != nil:
		s.journal.entries -= r.compact.entries
		s.journal.snapshot = r.compact.snapshot
		s.journal.compacting = false
	default:
		s.journal.entries += r.entries
	}
}
