package channel

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"heddle/verbs"
)

// protocol is one side of a kind: what the file of each kind is made of. All
// methods are called with the end's lock held, but where they say so.
type protocol interface {
	// queues are what a queue pair to one peer needs.
	queues() queues
	// offer adds to the hello for a peer how this end's memory is laid out.
	offer(p *Peer, h *hello)
	// attach takes what a peer offered, after its queue pair was connected.
	attach(p *Peer, h *hello) error
	// detach forgets a peer that left or is gone; it was attached.
	detach(p *Peer)
	// free gives memory back: everything else is closed, and nobody uses it.
	free() error
}

// queues are the sizes of a queue pair's queues.
type queues struct {
	send, recv int
	recvSGE    int
	srq        verbs.SRQ
	access     verbs.Access  // what the peer may do
	notReady   time.Duration // after which it tries again when there was no receive
}

// parting is a protocol that has something to take back from a peer's queue pair
// before that is closed.
type parting interface {
	part(p *Peer)
}

// end is what senders and receivers share: the device's objects, and peers.
type end struct {
	t       *Transport
	kind    *Kind
	cfg     Config
	sends   verbs.CQ
	recvs   verbs.CQ
	proto   protocol
	closed  atomic.Bool
	waits   sync.WaitGroup // of those in waitMemory
	lost    atomic.Bool    // the only peer is gone
	stalls  atomic.Uint64
	retries atomic.Uint64
	done    chan struct{} // closed with the end
	twin    *twin         // what it shares with the other end of a duplex; nil if there is none
	// limit is the longest message of a sender; 0 where it has to be asked for,
	// since peers have come or left.
	limit atomic.Int64

	mu         sync.Mutex
	peers      []*Peer      // by index; nil for one that left; guarded by mu, as all below
	count      int          // of peers
	committed  uint64       // messages that were sent; guarded by mu, as all below
	received   uint64       // messages that came
	bytes      uint64       // of both
	registered int          // bytes of memory
	copied     int          // bytes of messages that were copied after they came
	credits    uint64       // requests for room
	carried    uint64       // messages that told of room
	users      int          // leases, messages and waits that use memory
	freed      bool         //
	wcs        [16]verbs.WC // of sends
}

// begin looks at what is wanted; open makes the queues.
func (e *end) begin(t *Transport, kind *Kind, cfg Config, many bool) (err error) {
	e.t, e.kind, e.done = t, kind, make(chan struct{})
	if e.cfg, err = cfg.filled(&t.caps); err != nil {
		return err
	}
	if r := kind.Missing(&t.caps); r != nil && (r.Order == 0 || !cfg.Force) {
		return r
	}
	if !many {
		e.cfg.Peers = 1
	}
	return nil
}

// open makes the completion queues for a protocol.
func (e *end) open(proto protocol) (err error) {
	e.proto = proto
	q := proto.queues()
	most := e.t.dev.Attr().MaxCQE
	depth := func(n int) verbs.CQAttr { return verbs.CQAttr{Depth: min(max(1, n*e.cfg.Peers)+16, most)} }
	if e.sends, err = e.t.dev.CreateCQ(depth(q.send)); err != nil {
		return errors.Join(err, proto.free())
	}
	if e.recvs, err = e.t.dev.CreateCQ(depth(q.recv)); err != nil {
		return errors.Join(err, e.sends.Close(), proto.free())
	}
	return nil
}

// fail is an error of a call on the channel.
func (e *end) fail(op string, err error) error {
	if err == nil || blocked(err) || errors.Is(err, io.EOF) {
		return err
	}
	return &Error{Op: op, Kind: e.kind.Name, Err: err}
}

// invite makes a queue pair for one more peer.
func (e *end) invite() (*Peer, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed.Load() {
		return nil, e.fail("invite", ErrClosed)
	}
	if e.count == e.cfg.Peers {
		return nil, e.fail("invite", fmt.Errorf("%d peers: %w", e.count, ErrBusy))
	}
	p := &Peer{end: e, index: e.place()}
	if err := p.create(); err != nil {
		return nil, e.fail("invite", err)
	}
	e.peers[p.index] = p
	e.count++
	return p, nil
}

// place is a free index.
func (e *end) place() int {
	for i, p := range e.peers {
		if p == nil {
			return i
		}
	}
	e.peers = append(e.peers, nil)
	return len(e.peers) - 1
}

// reap takes the completions of what was sent.
func (e *end) reap() error {
	for {
		n, err := e.sends.Poll(e.wcs[:])
		for i := range e.wcs[:n] {
			wc := &e.wcs[i]
			if p := e.peerOf(wc.ID); p != nil {
				p.retired = wc.ID & sequence
				if wc.Status != verbs.StatusOK {
					p.failed = cmp.Or(p.failed, p.retired)
					p.broke(wc)
				}
			}
		}
		if err != nil || n < len(e.wcs) {
			return err
		}
	}
}

// peerOf is the peer that a request is of, nil if it has left.
func (e *end) peerOf(id uint64) *Peer {
	if i := int(id >> 48); i < len(e.peers) {
		return e.peers[i]
	}
	return nil
}

// use counts somebody who uses the end's memory beyond a call; release ends it.
// The lock is held.
func (e *end) use() { e.users++ }

func (e *end) unuse() {
	if e.users--; e.closed.Load() {
		_ = e.freeUnused()
	}
}

// freeUnused gives the memory of a closed end back as soon as nobody uses it.
func (e *end) freeUnused() error {
	if !e.closed.Load() || e.users > 0 || e.freed {
		return nil
	}
	e.freed = true
	return e.proto.free()
}

// close ends it. All peers leave, and nobody waits any more when it returns.
func (e *end) close() error {
	defer e.waits.Wait()
	if e.closed.Swap(true) {
		return nil
	}
	close(e.done)
	e.mu.Lock()
	defer e.mu.Unlock()
	var errs []error
	for _, p := range e.peers {
		if p != nil {
			errs = append(errs, p.leave())
		}
	}
	errs = append(errs, e.sends.Close(), e.recvs.Close())
	return errors.Join(append(errs, e.freeUnused())...)
}

// longest is the longest message of those that a peer takes and the device sends.
func (e *end) longest(n int) int {
	if most := e.t.caps.MaxMessage; most > 0 {
		return min(n, most)
	}
	return n
}

// affords tells whether so much memory may be made for a peer's sake.
func (e *end) affords(n uint64) error {
	if limit := uint64(e.cfg.PeerMemory); n > limit {
		return &LimitError{n, limit}
	}
	return nil
}

// newSalt is one that a peer's payload cannot know.
func newSalt() uint64 { return rand.Uint64() | 1 }
