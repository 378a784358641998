// Package store is the memory of a subnet manager: what it must still know
// after it was killed, or when another manager takes over. All of it is in one
// file, a bbolt database, or for tests and trials in memory.
//
// # What is kept
//
//   - The multicast groups and the MLIDs of MGIDs, as a snapshot of
//     sm/group and the journal entries after it.
//   - The LIDs of port GUIDs.
//   - Records of other packages, by bucket and key: bytes with a version that
//     is the business of whoever wrote them.
//   - The Position, which is the number of the last Batch and the epoch of the
//     manager that made it, and the highest epoch that was ever promised to.
//
// # Use
//
//	s, err := store.Open(path, store.Options{})
//	...
//	t, err := s.Groups(group.Config{Journal: func(e group.Entry) { b.Entries = append(b.Entries, e) }})
//	...
//	joined, err := t.Join(now, request)
//	err = s.Commit(ctx, b, func(r store.Result) { ... }) // now the answer may go out
//
// A Batch is kept as a whole or not at all. Many batches share one write to the
// disk: those that come while one is under way, and within Options.Window of
// the first. Done functions are called in the order of the batches.
//
// # Damage
//
// Each record has a checksum over its bucket, key, version and bytes, and each
// bucket the count and the sum of these, so that a page which is lost, or which
// is an older one, is noticed as well. Open reads all of the file before it
// uses it. What is damaged is moved aside and named in a *DamagedError, and
// never opened as if it were empty. One thing cannot be told from a power
// failure in the midst of a write: where the page with the root of the last
// write is damaged, the state is the one before that write.
//
// # Rules
//
// A Store may be used by several goroutines. After a write that failed, as on a
// full disk, nothing more is accepted: what was promised to the journal would
// have a gap. Open it anew then.
package store
