//go:build linux && (amd64 || arm64)

package shm

import (
	"context"
	"errors"
	"os"
	"runtime"
	"sync/atomic"
	"time"
	"unsafe"

	"heddle/verbs"
)

// bell is what the waits of a context sleep on: a word that is odd while somebody
// does. Peers map it as well; who finds it odd after they stored what may be
// waited for adds 1 and wakes all. A peer that writes nonsense there keeps others
// awake, or asleep until the time in nap.
//
// No wake-up is lost. The sleeper makes the word odd, looks, and sleeps only
// while the word is as it made it; the waker stores, and then looks at the word;
// between either two there is a full barrier. So the sleeper sees what was stored,
// or the waker sees an odd word. As the word counts, another goroutine that makes
// it odd again in between gives it another value, and the first one does not
// sleep on that.
type bell struct {
	file *os.File // of our own only
	page *mapping
	word *uint32
	// fences is 1 where who sleeps here has all who may ring pass a barrier
	// before; lax, that it is, and that this process is among them.
	fences *uint32
	lax    bool
	fence  atomic.Uint32 // what is stored there for a barrier
	// sleeps counts what sleeps here, for tests.
	sleeps atomic.Int64
}

func (b *bell) make() (err error) {
	if b.file, err = newFile("bell", pageBytes); err != nil {
		return err
	}
	if err = b.use(b.file); err == nil && joinBarriers() {
		atomic.StoreUint32(b.fences, 1)
		b.lax = true
	}
	return err
}

// use maps a bell, which may be a peer's.
func (b *bell) use(file *os.File) (err error) {
	if err = checkFile(file, pageBytes); err != nil {
		return err
	}
	if b.page, err = mapFile(file, 0, pageBytes, 1, true); err == nil {
		b.word = (*uint32)(unsafe.Pointer(&b.page.bytes[0]))
		b.fences = (*uint32)(unsafe.Pointer(&b.page.bytes[fencesAt]))
		b.lax = atomic.LoadUint32(b.fences) == 1 && joinBarriers()
	}
	return err
}

func (b *bell) close() (err error) {
	if b.file != nil {
		err = b.file.Close()
	}
	return errors.Join(err, b.page.Close())
}

// ring wakes who sleeps. What they wait for was stored by sync/atomic, or with
// another full barrier.
func (b *bell) ring() {
	if count := atomic.LoadUint32(b.word); count&1 != 0 {
		b.wake(count)
	}
}

// tell is ring after stores that were not by sync/atomic, but came in order.
func (b *bell) tell() {
	if !b.lax {
		b.fence.Store(0)
	}
	if atomic.LoadUint32(b.word)&1 != 0 {
		b.ring()
	}
}

// wake wakes all. Where the word has changed, another one wakes them, or they
// have begun to sleep since, and have looked after what this one stored.
func (b *bell) wake(count uint32) {
	if atomic.CompareAndSwapUint32(b.word, count, count+1) {
		futexWake(b.word)
	}
}

// doze says that somebody is about to sleep; the sleep is for the value given.
func (b *bell) doze() uint32 {
	count := atomic.OrUint32(b.word, 1) | 1
	if b.lax {
		barrierAll()
	}
	return count
}

const (
	// fencesAt is where in the page.
	fencesAt = 64
	// nap is how long a wait sleeps at most before it looks again, for the case of
	// a peer that spoils the bell, shortNap so where something has to be tried
	// again.
	nap      = 50 * time.Millisecond
	longNap  = 20 * nap // of an Await that has slept some ten times
	shortNap = time.Millisecond
	// spinFast is how often a wait looks before it reads the clock.
	spinFast = 256
)

// spinTime is how long a wait looks again and again before it sleeps. It is more
// than a sleeping peer needs to wake and to answer, or two of them would put each
// other to sleep for ever. With two CPUs it takes one of them from the peer.
func spinTime() time.Duration {
	if runtime.NumCPU() <= 2 {
		return 40 * time.Microsecond
	}
	return 100 * time.Microsecond
}

// look is what a wait waits for. Sleepy says that the wait sleeps next if there
// is nothing, at most for the time that is given.
type look func(sleepy bool) (ok bool, longest time.Duration, err error)

// await looks until there is something: first for a moment in a loop, and then
// whenever the bell rings or the time has passed.
func (o *opened) await(ctx context.Context, done look) error {
	for range spinFast {
		if ok, _, err := done(false); ok || err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	for start := time.Now(); time.Since(start) < spinTime(); {
		for range spinFast {
			if ok, _, err := done(false); ok || err != nil {
				return err
			}
		}
	}
	return o.sleep(ctx, done)
}

func (o *opened) sleep(ctx context.Context, done look) error {
	if !o.enterWait() {
		return verbs.ErrClosed
	}
	defer o.waits.Done()
	if ctx.Done() != nil {
		o.waits.Add(1)
		stop := context.AfterFunc(ctx, func() {
			o.bell.ring()
			o.waits.Done()
		})
		defer func() {
			if stop() {
				o.waits.Done()
			}
		}()
	}
	for {
		count := o.bell.doze()
		ok, longest, err := done(true)
		switch {
		case ok || err != nil:
			return err
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case o.closed.Load():
			return verbs.ErrClosed
		}
		o.bell.sleeps.Add(1)
		futexWait(o.bell.word, count, longest)
		if ok, _, err := done(false); ok || err != nil { // without the barrier of doze
			return err
		}
	}
}

// enterWait counts who uses the bell; false for a context that is closed.
func (o *opened) enterWait() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed.Load() {
		return false
	}
	o.waits.Add(1)
	return true
}

// Await implements verbs.Context.
func (o *opened) Await(ctx context.Context, ready func() bool) error {
	for range spinFast {
		if ready() {
			return nil
		}
	}
	if o.closed.Load() {
		return verbs.ErrClosed
	}
	longest := o.nap
	return o.await(ctx, func(sleepy bool) (bool, time.Duration, error) {
		now := longest
		if sleepy { // who waits for long costs next to nothing
			longest = min(longest+longest/2, max(o.nap, longNap))
		}
		return ready(), now, nil
	})
}
