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
	// peer that is gone it gives that peer's error, where no other can come.
	poll() (delivery, error)
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
	pause pause
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
	r *Receiver
	d delivery
}

// Bytes is the message, in memory of the channel, until Release.
func (m Message) Bytes() []byte { return m.d.data }

// Imm is the number that was sent beside it, if there was one.
func (m Message) Imm() (imm uint32, ok bool) { return m.d.imm, m.d.hasImm }

// Source is the number of the peer that sent it, 0 where there is one only.
func (m Message) Source() int { return m.d.source }

// Release gives the memory back, once.
func (m Message) Release() {
	if m.r == nil {
		return
	}
	m.r.mu.Lock()
	defer m.r.mu.Unlock()
	if !m.r.closed.Load() {
		m.r.p.release(m.d.token)
	}
	m.r.unuse()
}

// TryReceive gives the next message, or ErrWouldBlock. After the last message of
// a peer that is gone the error wraps ErrPeerGone, after that of one that closed
// its sender in order, over a Link, it is io.EOF.
func (r *Receiver) TryReceive() (Message, error) {
	r.mu.Lock()
	m, err := r.tryReceive()
	r.mu.Unlock()
	return m, r.fail("receive", err)
}

func (r *Receiver) tryReceive() (m Message, err error) {
	if r.closed.Load() {
		return m, ErrClosed
	}
	if m.d, err = r.p.poll(); err != nil {
		return Message{}, r.ended(err)
	}
	m.r = r
	r.received++
	r.bytes += uint64(len(m.d.data))
	if p := r.peers[m.d.source]; p != nil {
		p.came++
	}
	r.use()
	return m, nil
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
	var armed verbs.CQ
	for r.pause.reset(); ; {
		m, err := r.TryReceive()
		if !blocked(err) {
			return m, err
		}
		if m, armed, err = r.await(ctx, armed); !blocked(err) {
			return m, r.fail("receive", err)
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
	err = r.t.dev.Await(ctx, w.ready)
	r.mu.Lock()
	r.unuse()
	if err == nil {
		m, err = r.tryReceive()
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
		return nil, r.waitMemory(ctx, w.ready)
	case w.cq == nil || r.pause.spins():
		return nil, r.pause.wait(ctx, r.done)
	case w.cq == armed:
		return nil, armed.Wait(ctx)
	default:
		return w.cq, w.cq.Arm(false)
	}
}

// Close ends the channel. A Receive that waits gets ErrClosed.
func (r *Receiver) Close() error { return r.close() }
