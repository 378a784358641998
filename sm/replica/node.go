package replica

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"heddle/sm/store"
)

// Node replicates a store. Its methods may be called by several goroutines.
type Node struct {
	config Config
	store  Store
	tls    *tls.Config

	done  sync.WaitGroup
	kick  chan struct{} // the clock is to look at its next time
	reply chan struct{} // there are answers
	order sync.Mutex    // held while the store and the core accept a batch
	over  chan error    // holds one: see Deposed

	mu      sync.Mutex
	core    *core              // guarded by mu
	links   map[*session]*link // guarded by mu
	told    []func()           // to be called by the goroutine for answers; guarded by mu
	stopped bool               // guarded by mu
	ctx     context.Context    // of Run; guarded by mu
}

// New makes a node, which does nothing but keep batches until it runs. Nothing
// else may commit to the store.
func New(s Store, config Config) (*Node, error) {
	config, err := config.filled()
	if err != nil {
		return nil, err
	}
	t, err := tlsConfig(config.Secret, config.ID)
	if err != nil {
		return nil, err
	}
	return &Node{
		config: config, store: s, tls: t, core: newCore(config, s), links: map[*session]*link{},
		kick: make(chan struct{}, 1), reply: make(chan struct{}, 1), over: make(chan error, 1),
	}, nil
}

// Run accepts and makes connections until ctx ends, which is its error. The
// listener, which may be nil, is closed then.
func (n *Node) Run(ctx context.Context, listener net.Listener) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	n.mu.Lock()
	if n.ctx != nil {
		n.mu.Unlock()
		return errors.New("replica: the node runs already, or did")
	}
	n.ctx = ctx
	n.mu.Unlock()
	var others sync.WaitGroup // all but the goroutine for answers
	var answers sync.WaitGroup
	answers.Go(func() { n.answer() })
	for _, address := range n.config.Peers {
		others.Go(func() { n.dial(ctx, address) })
	}
	if listener != nil {
		context.AfterFunc(ctx, func() { _ = listener.Close() })
		others.Go(func() { n.accept(ctx, listener) })
	}
	others.Go(func() { n.clock(ctx) })
	<-ctx.Done()
	others.Wait()
	n.done.Wait()
	n.halt()
	answers.Wait()
	return ctx.Err()
}

// halt ends what still waits.
func (n *Node) halt() {
	n.mu.Lock()
	n.core.stepDown()
	n.collect()
	n.stopped = true
	n.mu.Unlock()
	signal(n.reply)
}

// Lead makes the node the leader, in an epoch that it gives back. A node that
// leads already stays so, in its epoch.
func (n *Node) Lead(ctx context.Context) (uint64, error) {
	n.order.Lock()
	defer n.order.Unlock()
	for {
		n.mu.Lock()
		role, epoch := n.core.role, n.core.epoch
		n.mu.Unlock()
		if role == Leader {
			return epoch, nil
		}
		epoch = nextEpoch(max(epoch, n.store.Promised()), time.Now(), n.config.ID)
		if err := n.promise(ctx, epoch); err != nil {
			return 0, fmt.Errorf("replica: lead in epoch %d: %w", epoch, err)
		}
		lead := func(c *core, _ time.Time) bool {
			c.reopened(n.store.Last(), n.store.Position())
			return c.lead(epoch)
		}
		if n.event(lead) {
			n.config.Logger.Info("replica leads", "epoch", epoch)
			return epoch, nil
		}
	}
}

// promise waits until the store keeps a promise.
func (n *Node) promise(ctx context.Context, epoch uint64) error {
	kept := make(chan error, 1)
	if err := n.store.Promise(ctx, epoch, func(r store.Result) { kept <- r.Err }); err != nil {
		return err
	}
	select {
	case err := <-kept:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Deposed tells that the node leads no more, though nobody called Follow, and
// why: the error wraps ErrNotLeader where another node leads with a higher epoch,
// else it is that of the store, which keeps nothing more. It is told once until
// somebody takes it from the channel.
func (n *Node) Deposed() <-chan error { return n.over }

// Follow makes a leader a follower again, as on a handover.
func (n *Node) Follow() {
	n.event(func(c *core, _ time.Time) bool {
		if c.role == Leader {
			c.stepDown()
			c.announce()
		}
		return true
	})
}

// Commit keeps a batch of the leader, here and with the followers, and calls
// done when it is acknowledged; see Config.Wait and store.Store.Commit, whose
// errors it has. It wraps ErrNotLeader where the node does not lead. Only a
// node that runs calls done, by one goroutine and in the order of the batches.
func (n *Node) Commit(ctx context.Context, b *store.Batch, done func(store.Result)) error {
	if done == nil {
		done = func(store.Result) {}
	}
	n.order.Lock()
	defer n.order.Unlock()
	n.mu.Lock()
	role, stopped := n.core.role, n.stopped
	at := store.Position{Index: n.core.last.Index + 1, Epoch: n.core.epoch}
	n.mu.Unlock()
	switch {
	case stopped:
		return ErrStopped
	case role != Leader:
		return fmt.Errorf("replica: batch %v: %w", at, ErrNotLeader)
	}
	// Not the store's choice: it may have promised to another leader meanwhile.
	b.At = at
	if err := n.store.Commit(ctx, b, n.stored); err != nil {
		return err
	}
	n.event(func(c *core, now time.Time) bool {
		c.committed(now, b, done)
		return true
	})
	signal(n.kick)
	return nil
}

// stored takes what the store says of a batch.
func (n *Node) stored(r store.Result) {
	n.event(func(c *core, now time.Time) bool {
		if r.Err != nil {
			c.failed(r.Err)
		} else {
			c.stored(now, r.At)
		}
		return true
	})
}

// event gives the core an event, and does what comes of it.
func (n *Node) event(happen func(c *core, now time.Time) bool) bool {
	n.mu.Lock()
	ok := happen(n.core, time.Now())
	effects := n.collect()
	n.mu.Unlock()
	for i := range effects {
		n.perform(&effects[i])
	}
	return ok
}

// collect takes the effects, and hands answers over; with the lock.
func (n *Node) collect() []effect {
	for _, a := range n.core.answers {
		n.told = append(n.told, func() { a.done(a.result) })
	}
	n.core.answers = nil
	effects := n.core.effects
	n.core.effects = nil
	for i := range effects {
		if epoch := effects[i].deposed; epoch != 0 {
			n.told = append(n.told, func() { n.config.Deposed(epoch) })
			n.config.Logger.Warn("replica is deposed", "epoch", epoch, "cause", effects[i].cause)
			select {
			case n.over <- effects[i].cause:
			default: // it is not known yet that the node was deposed before
			}
		}
	}
	if len(n.told) > 0 {
		signal(n.reply)
	}
	return effects
}

// perform does what the core wants done.
func (n *Node) perform(e *effect) {
	l := n.link(e.session)
	switch {
	case l == nil: // it is gone meanwhile
	case e.wake:
		signal(l.wake)
	case e.drop != nil:
		l.end(e.drop)
	case e.promise != 0:
		n.promiseTo(l, e.promise)
	case e.keep != nil:
		n.keep(l, e.keep, e.epoch)
	case e.copy:
		n.done.Go(func() { n.copyFor(l) })
	}
}

func (n *Node) link(s *session) *link {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.links[s]
}

// promiseTo lets the store promise to a leader's epoch.
func (n *Node) promiseTo(l *link, epoch uint64) {
	err := n.store.Promise(l.ctx, epoch, func(r store.Result) {
		n.event(func(c *core, _ time.Time) bool {
			if r.Err == nil {
				c.reopened(n.store.Last(), n.store.Position())
				c.promised(l.session, epoch)
			}
			return true
		})
	})
	n.dropOn(l, err)
}

// keep keeps a batch of the leader that this node follows. The reader of its
// connection waits for room, and so the leader.
func (n *Node) keep(l *link, b *store.Batch, epoch uint64) {
	n.order.Lock()
	defer n.order.Unlock()
	if err := n.store.Follow(l.ctx, epoch, b, n.stored); err != nil {
		n.dropOn(l, err)
		return
	}
	n.event(func(c *core, now time.Time) bool {
		c.committed(now, b, nil)
		return true
	})
}

// copyFor copies the state for a follower.
func (n *Node) copyFor(l *link) {
	err := n.store.Sync(l.ctx)
	var b *store.Batch
	if err == nil {
		b, err = n.store.Copy()
	}
	if err != nil {
		n.dropOn(l, err)
		return
	}
	encoded := b.AppendTo(nil)
	n.event(func(c *core, _ time.Time) bool {
		c.copied(l.session, b.At, encoded)
		return true
	})
}

func (n *Node) dropOn(l *link, err error) {
	if err != nil {
		n.event(func(c *core, _ time.Time) bool {
			c.drop(l.session, err)
			return true
		})
	}
}

// clock lets the core know the time.
func (n *Node) clock(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-n.kick:
		case <-ctx.Done():
			return
		}
		var next time.Time
		n.event(func(c *core, now time.Time) bool {
			next = c.tick(now)
			return true
		})
		timer.Reset(time.Until(next))
	}
}

// answer calls done functions, in their order, until the node has stopped.
func (n *Node) answer() {
	for {
		<-n.reply
		n.mu.Lock()
		told, stopped := n.told, n.stopped
		n.told = nil
		n.mu.Unlock()
		for _, tell := range told {
			tell()
		}
		if stopped {
			return
		}
	}
}

// signal wakes who waits on a channel with room for one.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default: // it will look anyway
	}
}
