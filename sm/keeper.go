package sm

import (
	"context"
	"errors"
	"sync"

	"heddle/sm/replica"
	"heddle/sm/store"
)

// keeper brings changes to the memory in the order in which they were made, and
// lets answers go out when what they tell is kept.
type keeper struct {
	memory Memory        // nil where nothing is kept
	broken chan struct{} // holds one: failed was set

	mu      sync.Mutex
	batch   *store.Batch // what changed and was not committed; guarded by mu
	pending *commit      // the last one; guarded by mu
	// failed is why nothing is kept any more; what was changed since then, and
	// what failed, is not in the memory. Guarded by mu, as what follows.
	failed error
	// doubt says that a batch is kept here, but by fewer other managers than it
	// should be.
	doubt bool
	era   int // counts calls of suspend: what the state was before is of another

	committing sync.Mutex // held over calls of memory.Commit, which keep their order
}

// commit is a batch that is on its way.
type commit struct {
	over    bool
	waiting []func(error)
	era     int
}

// errSuspended is why nothing is kept while the manager takes up the state.
var errSuspended = errors.New("the state is being taken up")

// add notes a change of what is there since an era began; it is kept with the
// next commit. What is of an era before is not there any more.
func (k *keeper) add(era int, f func(b *store.Batch)) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.memory == nil || era != k.era || k.failed != nil && !errors.Is(k.failed, errSuspended) {
		return
	}
	if k.batch == nil {
		k.batch = &store.Batch{}
	}
	f(k.batch)
}

// keep commits what changed, and calls then when all changes of an era so far
// are kept for good, or are not.
func (k *keeper) keep(ctx context.Context, era int, then func(error)) {
	if k.memory == nil {
		then(nil)
		return
	}
	k.committing.Lock()
	defer k.committing.Unlock()
	b, c, err := k.next(era, then)
	switch {
	case err != nil:
		then(err)
	case c == nil:
	case b == nil:
		then(nil)
	default:
		if err := k.memory.Commit(ctx, b, func(r store.Result) { k.kept(c, r.Err) }); err != nil {
			k.kept(c, err)
		}
	}
}

// next gives what is to be committed: no commit where then waits for the one
// that is on its way, no batch where all is kept. A request that is repeated
// changes nothing, but is not to be told success for what was not kept.
func (k *keeper) next(era int, then func(error)) (b *store.Batch, c *commit, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case k.failed != nil:
		return nil, nil, k.failed
	case era != k.era:
		return nil, nil, errSuspended // it was, meanwhile
	}
	b, k.batch = k.batch, nil
	if b == nil || b.IsEmpty() {
		if k.pending != nil && !k.pending.over {
			k.pending.waiting = append(k.pending.waiting, then)
			return nil, nil, nil
		}
		if !k.doubt {
			return nil, &commit{}, nil
		}
		b = &store.Batch{} // which is acknowledged when all before it is
	}
	k.pending = &commit{waiting: []func(error){then}, era: k.era}
	return b, k.pending, nil
}

func (k *keeper) kept(c *commit, err error) {
	k.mu.Lock()
	c.over = true
	waiting := c.waiting
	c.waiting = nil
	switch {
	case c.era != k.era: // of an earlier mastership
	case errors.Is(err, replica.ErrNotReplicated):
		k.doubt = true
	case err != nil:
		k.fail(err)
	default:
		k.doubt = false
	}
	k.mu.Unlock()
	for _, then := range waiting {
		then(err)
	}
}

// fail takes note that nothing is kept any more, and tells so once; with the
// lock.
func (k *keeper) fail(err error) {
	if k.stop(err) {
		wake(k.broken)
	}
}

// stop lets nothing be kept any more; false where that is so already. With the
// lock.
func (k *keeper) stop(why error) bool {
	if k.failed != nil && !errors.Is(k.failed, errSuspended) {
		return false
	}
	k.failed, k.batch = why, nil
	return true
}

// deposed is a memory that does not write any more.
func (k *keeper) deposed(err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.fail(err)
}

// abandon ends what suspend began, in vain.
func (k *keeper) abandon(why error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.stop(why)
}

// err is why nothing is kept any more; nil while all is well.
func (k *keeper) err() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.failed
}

// now is the era.
func (k *keeper) now() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.era
}

// suspend forgets what changed and was not committed, as what is kept counts
// from now on, and lets nothing be kept until resume.
func (k *keeper) suspend() {
	k.mu.Lock()
	defer k.mu.Unlock()
	select {
	case err := <-k.memory.Deposed():
		k.stop(err) // of before, and over now
	default:
	}
	k.batch, k.pending, k.failed, k.doubt = nil, nil, errSuspended, false
	k.era++
}

// resume lets changes be kept again, unless the memory failed meanwhile.
func (k *keeper) resume() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if errors.Is(k.failed, errSuspended) {
		k.failed = nil
	}
}
