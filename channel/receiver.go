package channel

import (
	"context"
	"fmt"
	"io"

	"heddle/verbs"
)

// receiving is the receiver's side of a kind.
type receiving interface {
	protocol
	// poll gives the next message, or ErrWouldBlock. After the last message of a
	// peer that is gone it gives that peer's error, where no other can come. What
	// it leaves as it was of the delivery is zero, or what it gave before.
	poll(*delivery) error
	// release gives a message's memory back.
	release(token uint64)
	// watch is how one waits for what is next; what it gives is made once, so that
	// nothing is allocated.
	watch() watch
}

// delivery is a message as a protocol gives it.
type delivery struct {
	data   []byte
	source int // the peer's index
	token  uint64
	imm    uint32
	hasImm bool
}

// watch is how a receiver waits: until ready, which looks at memory without the
// lock, tells that poll may find something; or for a completion; or, where both
// are nil, by looking again after a while.
type watch struct {
	ready func() bool
	cq    verbs.CQ
}

// Receiver receives messages.
type Receiver struct {
	end
	p     receiving
	spare *holding // that are in no message; guarded by mu
	looks bool     // Receive looks for a while with the lock held
	// streak is how many messages came close behind each other; guarded by mu.
	streak int
	rested int // streak at the last rest
	turns  int // that a rest has
	pause  pause
	waiter waiter
}

// NewReceiver makes a receiver, which has no peer yet. The error is a *Refusal
// where the device cannot have the kind.
func (t *Transport) NewReceiver(kind *Kind, cfg Config) (*Receiver, error) {
	r := &Receiver{}
	err := r.begin(t, kind, cfg, kind.Senders)
	if err == nil {
		r.p, err = kind.receiver(&r.end)
	}
	if err == nil {
		err = r.open(r.p)
	}
	if err == nil && r.p.watch().ready != nil {
		r.looks = true
	}
	if err != nil {
		return nil, fmt.Errorf("new receiver of channel %s: %w", kind.Name, err)
	}
	return r, nil
}

// Kind is the channel's.
func (r *Receiver) Kind() *Kind { return r.kind }

// Invite makes what one more peer needs.
func (r *Receiver) Invite() (*Peer, error) { return r.invite() }

// Message is a message that came. It is a value, and may be passed on.
type Message struct {
	h      *holding
	number uint64 // of the holding, when it was this message's
}

// holding is a message that is out; those that were are used again. Messages are
// passed by the address of one, as they would be copied several times else.
type holding struct {
	delivery
	r      *Receiver
	number uint64 // of messages that it held; guarded by the end's lock, as next
	next   *holding
}

// Bytes is the message, in memory of the channel, until Release.
func (m Message) Bytes() []byte {
	if m.h == nil {
		return nil
	}
	return m.h.data
}

// Imm is the number that was sent beside it, if there was one; it is there until
// Release, as Source is.
func (m Message) Imm() (imm uint32, ok bool) {
	if m.h == nil {
		return 0, false
	}
	return m.h.imm, m.h.hasImm
}

// Source is the number of the peer that sent it, 0 where there is one only.
func (m Message) Source() int {
	if m.h == nil {
		return 0
	}
	return m.h.source
}

// Release gives the memory back, once.
func (m Message) Release() {
	if m.h == nil {
		return
	}
	r := m.h.r
	r.mu.Lock()
	r.release(m)
	r.mu.Unlock()
}

func (r *Receiver) release(m Message) {
	h := m.h
	if h.number != m.number {
		return
	}
	h.number++
	h.next, r.spare = r.spare, h
	if !r.closed.Load() {
		r.p.release(h.token)
		if r.twin != nil {
			r.twin.back.Store(r.p.(returning).back())
		}
	}
	r.unuse()
}

// TryReceive gives the next message, or ErrWouldBlock. After the last message of
// a peer that is gone the error wraps ErrPeerGone, after that of one that closed
// its sender in order, over a Link, it is io.EOF.
func (r *Receiver) TryReceive() (Message, error) {
	r.mu.Lock()
	m, err := r.tryReceive(false)
	r.mu.Unlock()
	if err != nil {
		err = r.fail("receive", err)
	}
	return m, err
}

// tryReceive looks once, or, patient, for as long as an answer takes from a process
// that is awake.
func (r *Receiver) tryReceive(patient bool) (Message, error) {
	if r.closed.Load() {
		return Message{}, ErrClosed
	}
	h := r.spare
	if h == nil {
		h = &holding{r: r}
		r.spare = h
	}
	err := r.p.poll(&h.delivery)
	if patient && blocked(err) {
		err = r.look(&h.delivery)
	}
	if err != nil {
		return Message{}, r.ended(err)
	}
	if r.twin != nil {
		if err := r.hear(h); err != nil {
			r.p.release(h.token)
			if p := r.peers[h.source]; p != nil {
				p.lose(err)
			}
			return Message{}, err
		}
	}
	r.spare = h.next
	r.received++
	r.streak++
	r.bytes += uint64(len(h.data))
	if p := r.peers[h.source]; p != nil {
		p.came++
	}
	r.use()
	return Message{h, h.number}, nil
}

const (
	// patientLooks are how many look has, closeBehind after how many looks a message
	// does not come close behind the one before it any more: many less than an answer
	// takes.
	patientLooks, closeBehind = 128, 8
	// manyClose messages close behind each other are a stream. It is left alone for as
	// many turns of an empty loop, but not for more than mostTurns, some 600 ns, as has
	// more than fewThere messages be there then, and not manyThere.
	manyClose, mostTurns = 16, 1800
	fewThere, manyThere  = 8, 16
)

// look polls for a while. Where a message is looked for that is being written, the
// two CPUs take the memory from each other all the time, and both are slow. So a
// stream that was caught up with is left alone for a moment, and then some messages
// are there.
func (r *Receiver) look(d *delivery) error {
	if r.streak >= manyClose {
		r.rest()
	}
	for turn := range patientLooks {
		if err := r.p.poll(d); !blocked(err) {
			if turn >= closeBehind {
				r.streak, r.rested = 0, 0
			}
			return err
		}
	}
	r.streak, r.rested = 0, 0
	return ErrWouldBlock
}

// rest leaves a stream alone, for longer than last time where few messages were
// there behind that.
func (r *Receiver) rest() {
	switch there := r.streak - r.rested; {
	case there > manyThere:
		r.turns /= 2
	case there < fewThere:
		r.turns = min(r.turns+r.turns/4+64, mostTurns)
	}
	r.rested = r.streak
	for range r.turns {
	}
}

// ended is what a receiver says that has no message: io.EOF after the last one of
// its only peer.
func (r *Receiver) ended(err error) error {
	if r.cfg.Peers > 1 || len(r.peers) == 0 || r.peers[0] == nil {
		return err
	}
	if p := r.peers[0]; p.hasTotal && p.came >= p.total {
		return io.EOF
	}
	return err
}

// Receive gives the next message, and waits for it.
func (r *Receiver) Receive(ctx context.Context) (Message, error) {
	r.mu.Lock()
	m, err := r.tryReceive(r.looks)
	r.mu.Unlock()
	switch {
	case err == nil:
		return m, nil
	case blocked(err):
		return r.receive(ctx)
	default:
		return m, r.fail("receive", err)
	}
}

// receive is Receive where nothing is there.
func (r *Receiver) receive(ctx context.Context) (m Message, err error) {
	r.stalls.Add(1)
	var armed verbs.CQ
	for r.pause.reset(); ; r.retries.Add(1) {
		if m, armed, err = r.await(ctx, armed); !blocked(err) {
			return m, r.fail("receive", err)
		}
		if m, err = r.TryReceive(); !blocked(err) {
			return m, err
		}
	}
}

// await is wait, and takes the message that came where it waits for memory: no
// more than one lock is passed between the two.
func (r *Receiver) await(ctx context.Context, armed verbs.CQ) (m Message, _ verbs.CQ, err error) {
	r.mu.Lock()
	w := r.p.watch()
	if w.ready == nil || r.closed.Load() {
		r.mu.Unlock()
		if armed, err = r.wait(ctx, armed); err == nil {
			err = ErrWouldBlock
		}
		return m, armed, err
	}
	r.use()
	r.waits.Add(1)
	r.mu.Unlock()
	err = r.waitFor(ctx, w)
	r.mu.Lock()
	r.unuse()
	if err == nil {
		m, err = r.tryReceive(false)
	}
	r.mu.Unlock()
	r.waits.Done()
	return m, nil, err
}

// wait waits until there may be a message. A completion queue is looked at for a
// while, then armed, which wait returns, and waited for when it is called with
// that: what came before it was armed makes no event, and what is found then may
// have another queue be waited for.
func (r *Receiver) wait(ctx context.Context, armed verbs.CQ) (verbs.CQ, error) {
	r.mu.Lock()
	w := r.p.watch()
	r.mu.Unlock()
	switch {
	case w.ready != nil:
		return nil, r.waitMemory(ctx, w)
	case w.cq == nil || r.pause.spins():
		return nil, r.pause.wait(ctx, r.done)
	case w.cq == armed:
		return nil, r.waitFor(ctx, w)
	default:
		return w.cq, w.cq.Arm(false)
	}
}

// waitFor waits with all others of the transport; for an event by itself, where
// the queue can only be waited for. The lock is not held.
func (r *Receiver) waitFor(ctx context.Context, w watch) error {
	cq, ok := w.cq.(looker)
	if w.ready == nil && !ok {
		return w.cq.Wait(ctx)
	}
	r.waiter.ready, r.waiter.cq = w.ready, cq
	return r.t.wait.wait(ctx, &r.waiter)
}

// waitMemory waits until there may be something, or the end was closed. The lock
// is not held.
func (r *Receiver) waitMemory(ctx context.Context, w watch) error {
	r.mu.Lock()
	if r.closed.Load() {
		r.mu.Unlock()
		return ErrClosed
	}
	r.use()
	r.waits.Add(1)
	r.mu.Unlock()
	err := r.waitFor(ctx, w)
	r.mu.Lock()
	r.unuse()
	r.mu.Unlock()
	r.waits.Done()
	return err
}

// Close ends the channel. A Receive that waits gets ErrClosed.
func (r *Receiver) Close() error { return r.close() }
