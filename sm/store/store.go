package store

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Options are how a Store works. Zero means the default.
type Options struct {
	// Window is how long the first batch waits for others before both are
	// written; none by default, since what comes during a write is one write
	// anyway.
	Window time.Duration
	// Pending bounds the bytes that wait to be written, about; 16 MiB by
	// default. Commit waits beyond.
	Pending int
	// Journal is how many bytes of entries are kept before they become a
	// snapshot, about; 4 MiB by default. It becomes the size of the snapshot
	// where that is more.
	Journal int
}

func (o Options) filled() Options {
	o.Pending = cmp.Or(o.Pending, 16<<20)
	o.Journal = cmp.Or(o.Journal, 4<<20)
	return o
}

// ErrClosed means that the store is closed, or was before the batch was
// written.
var ErrClosed = errors.New("store is closed")

// Result is what became of a batch.
type Result struct {
	// Err is nil where the batch is kept for good.
	Err error
	// At is where the batch stands.
	At Position
	// Followers is how many other managers have it too; for sm/replica.
	Followers int
}

// Store keeps the state of a subnet manager. Its methods may be called by
// several goroutines.
type Store struct {
	options Options
	back    backend
	done    sync.WaitGroup // the writer and a compaction

	mu      sync.Mutex
	wake    chan struct{} // has room for one; tells the writer
	room    chan struct{} // closed and made anew when a write is done
	queue   []request     // guarded by mu, as is all below
	pending int           // bytes in queue and under way
	closed  bool
	failed  error
	last    Position // of what was accepted
	tail    tail     // of what was accepted
	promise uint64   // the same
	durable Position
	journal sizes
}

// sizes are those of what a start has to read.
type sizes struct {
	entries, snapshot int // bytes
	resets            int // how often the state was replaced
	compacting        bool
}

// request is what the writer makes of a batch.
type request struct {
	ops     []op
	size    int
	at      Position
	batch   bool // or else a promise, a compaction or nothing
	done    func(Result)
	entries int // bytes that the journal grows by
	reset   bool
	compact *compacted
	reopen  bool
}

// Open opens the file, or makes it. The error is a *DamagedError where the file
// is there and not sound, wraps ErrLocked where somebody else has it.
func Open(path string, o Options) (*Store, error) {
	open := func() (backend, error) { return openDisk(path) }
	back, err := open()
	if err == nil {
		s := newStore(&door{open: open, back: back}, o)
		if err = back.view(s.load); err == nil {
			return s.start(), nil
		}
		err = errors.Join(err, back.close())
	}
	if d := (*damage)(nil); errors.As(err, &d) {
		return nil, fmt.Errorf("store: %w", setAside(path, d.err))
	}
	return nil, fmt.Errorf("store: %s: %w", path, err)
}

// InMemory makes a store that is gone when it is closed.
func InMemory(o Options) *Store { return newStore(&door{back: newMemory()}, o).start() }

func newStore(back backend, o Options) *Store {
	return &Store{options: o.filled(), back: back, wake: make(chan struct{}, 1), room: make(chan struct{})}
}

// start lets the writer run.
func (s *Store) start() *Store {
	s.durable = s.last
	s.done.Go(s.write)
	return s
}

// load reads the numbers, and holds the entries against each other.
func (s *Store) load(v view) error {
	version, err := metaNumbers(v, keyVersion, 1)
	if err != nil {
		return err
	}
	switch version[0] {
	case formatVersion:
	case 0:
		return damagef("no version of the file")
	default:
		return fmt.Errorf("version %d of the file, want %d: it is of another heddle", version[0], formatVersion)
	}
	position, err := metaNumbers(v, keyPosition, 2)
	if err != nil {
		return err
	}
	promise, err := metaNumbers(v, keyPromise, 1)
	if err != nil {
		return err
	}
	s.last, s.promise = Position{position[0], position[1]}, promise[0]
	return s.loadTail(v)
}

// loadTail reads the snapshot's first entry and all of the journal.
func (s *Store) loadTail(v view) error {
	b := Batch{Reset: true}
	if err := readGroups(v, &b); err != nil {
		return err
	}
	last, err := b.check(tail{})
	if err != nil {
		return damagef("journal: %w", err)
	}
	s.tail = last
	s.journal.snapshot = len(b.Snapshot)
	for i := range b.Entries {
		s.journal.entries += len(b.Entries[i].AppendTo(nil))
	}
	return nil
}

// metaNumbers reads n numbers, zeros where they were never written.
func metaNumbers(v view, key string, n int) ([]uint64, error) {
	numbers := make([]uint64, n)
	sealed := v.get(metaBucket, []byte(key))
	if sealed == nil {
		return numbers, nil
	}
	version, value, err := unseal(metaBucket, []byte(key), sealed)
	if err != nil || version != ownVersion || len(value) != 8*n {
		return nil, damagef("%s: version %d, %d bytes, %w", key, version, len(value), cmp.Or(err, errForm))
	}
	for i := range numbers {
		numbers[i] = binary.BigEndian.Uint64(value[8*i:])
	}
	return numbers, nil
}

// Position is that of the last batch that is kept for good.
func (s *Store) Position() Position {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.durable
}

// Last is the position of the last batch that was accepted, kept or not yet.
func (s *Store) Last() Position {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

// Promised is the highest epoch that was promised to. Batches of lower ones are
// refused.
func (s *Store) Promised() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.promise
}

// Err tells why nothing is accepted any more: a write that failed, or ErrClosed.
func (s *Store) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err()
}

func (s *Store) err() error {
	if s.closed {
		return ErrClosed
	}
	return s.failed
}

// Commit accepts a batch of this manager, and calls done when it is kept for
// good, or will not be; done may be nil. It is called by one goroutine, in the
// order of the batches, and must not wait for another one. Commit waits while
// much is pending, until ctx ends. Where it gives an error, which wraps
// ErrPosition, ErrStale, ErrRecord, an error of sm/group, ErrClosed or what
// failed before, the batch is not accepted and done is not called. The batch
// must not be changed afterwards.
func (s *Store) Commit(ctx context.Context, b *Batch, done func(Result)) error {
	return s.accept(ctx, b, done, func(at *Position) (epoch uint64) {
		if *at == (Position{}) {
			*at = Position{s.last.Index + 1, max(s.promise, s.last.Epoch)}
		}
		return at.Epoch
	})
}

// Follow is Commit for a batch of another manager, which leads in an epoch. The
// batch has its place, and may be of an epoch before, but not after; for the
// rest it is refused as if it were of that epoch.
func (s *Store) Follow(ctx context.Context, epoch uint64, b *Batch, done func(Result)) error {
	if b.At.Epoch > epoch {
		return fmt.Errorf("store: batch %v in epoch %d: %w", b.At, epoch, ErrPosition)
	}
	return s.accept(ctx, b, done, func(*Position) uint64 { return epoch })
}

// accept accepts a batch, of which place tells the position and the epoch of
// the manager that it comes from.
func (s *Store) accept(ctx context.Context, b *Batch, done func(Result), place func(at *Position) uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.waitForRoom(ctx); err != nil {
		return err
	}
	at := b.At
	epoch := place(&at)
	switch {
	case epoch < s.promise:
		return fmt.Errorf("store: batch %v in epoch %d, promised to %d: %w", at, epoch, s.promise, ErrStale)
	case !b.Reset && !at.Follows(s.last):
		return fmt.Errorf("store: batch %v after %v: %w", b.At, s.last, ErrPosition)
	}
	last, err := b.check(s.tail)
	if err != nil {
		return fmt.Errorf("store: batch %v: %w", at, err)
	}
	b.At = at
	s.last, s.tail, s.promise = at, last, epoch
	if b.Reset {
		s.journal.resets++
	}
	s.enqueue(b.request(epoch, done))
	return nil
}

// Promise accepts that batches of epochs below this one are refused from now on,
// and calls done when this is kept for good. An epoch that is not higher than
// what was promised before wraps ErrStale, unless it is the same.
func (s *Store) Promise(ctx context.Context, epoch uint64, done func(Result)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.waitForRoom(ctx); err != nil {
		return err
	}
	if epoch < s.promise {
		return fmt.Errorf("store: promise to %d after %d: %w", epoch, s.promise, ErrStale)
	}
	s.promise = epoch
	s.enqueue(request{ops: []op{putMeta(keyPromise, epoch)}, done: done})
	return nil
}

// Sync waits until all that was accepted before is kept for good.
func (s *Store) Sync(ctx context.Context) error {
	kept := make(chan error, 1)
	s.mu.Lock()
	err := s.err()
	if err == nil {
		s.enqueue(request{done: func(r Result) { kept <- r.Err }})
	}
	s.mu.Unlock()
	if err != nil {
		return err
	}
	select {
	case err := <-kept:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close writes what was accepted and closes the file.
func (s *Store) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		s.done.Wait()
		return nil
	}
	s.closed = true
	s.signal()
	s.mu.Unlock()
	s.done.Wait()
	return s.back.close()
}

// waitForRoom waits, without the lock, while too much is pending.
func (s *Store) waitForRoom(ctx context.Context) error {
	for s.err() == nil && s.pending >= s.options.Pending {
		room := s.room
		s.mu.Unlock()
		select {
		case <-room:
			s.mu.Lock()
		case <-ctx.Done():
			s.mu.Lock()
			return fmt.Errorf("store: %d bytes wait to be written: %w", s.pending, ctx.Err())
		}
	}
	return s.err()
}

// enqueue hands a request to the writer; with the lock.
func (s *Store) enqueue(r request) {
	for i := range r.ops {
		r.size += len(r.ops[i].key) + len(r.ops[i].sealed)
	}
	s.pending += r.size
	s.queue = append(s.queue, r)
	s.signal()
}

func (s *Store) signal() {
	select {
	case s.wake <- struct{}{}:
	default: // it will look anyway
	}
}
