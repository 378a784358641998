package channel

import (
	"context"
	"errors"
	"fmt"

	"heddle/verbs"
)

// sequence is the part of a request's ID that numbers it, counted from 1; above
// it is the peer's index.
const sequence = 1<<48 - 1

// Peer is the other side of an end: one, or one of many.
type Peer struct {
	end   *end
	index int
	qp    verbs.QP
	depth uint64 // of its send queue
	// quarter is after how many requests one has a completion.
	quarter uint64
	words   []byte // the hello

	// posted and retired are how many requests were posted, and are known to be
	// done, signaled is the last one with a completion of its own; guarded by the
	// end's lock, as all below.
	posted, retired, signaled uint64
	failed                    uint64 // the first request that failed, 0 if none did
	attached                  bool
	gone                      error // why it is
	inline                    int   // bytes of inline data
	left                      bool
	// finished tells the peer how many messages were sent to it, before the queue pair
	// is closed, and waits until it knows;
	// base is how many had been sent to others when it came. It is nil where
	// nobody carries it.
	finished func(ctx context.Context, count uint64) error
	base     uint64
	// total is how many messages the peer says that it has sent in all, once it
	// has, came how many of them have come.
	total, came uint64
	hasTotal    bool
}

// create makes the queue pair and the hello; the lock is held.
func (p *Peer) create() (err error) {
	e, q := p.end, p.end.proto.queues()
	access := q.access
	if access == 0 {
		access = verbs.NoAccess
	}
	attr := verbs.QPAttr{
		Type: verbs.RC, SendCQ: e.sends, RecvCQ: e.recvs, SRQ: q.srq, SendWR: max(q.send, 1), RecvWR: max(q.recv, 1),
		SendSGE: 1, RecvSGE: max(q.recvSGE, 1), Inline: inlineOf(&e.t.caps), Access: access,
		RNRTimer: q.notReady, Port: e.t.path.Port, GID: e.t.path.GID, PKey: e.t.path.PKey, SL: e.t.path.SL,
	}
	if p.qp, err = e.t.pd.CreateQP(attr); err != nil {
		return err
	}
	p.depth, p.inline = uint64(max(q.send, 1)), p.qp.Attr().Inline
	p.quarter = (p.depth + 3) / 4
	h := hello{kind: uint16(e.kind.Number), forced: e.cfg.Force, paired: e.twin != nil, endpoint: p.qp.Endpoint()}
	_, h.sends = e.proto.(sending)
	e.proto.offer(p, &h)
	p.words = h.bytes()
	return nil
}

// inlineOf is how many bytes of inline data requests have at most: a few, as they
// take room in a send queue, but a page and what is beside it where the device
// takes that much, as then its CPU copies requests in any case, and what is made at
// one place all the time is in its cache.
func inlineOf(caps *verbs.Caps) int {
	if caps.MaxInline >= muchInline {
		return muchInline
	}
	return min(caps.MaxInline, fewInline)
}

const fewInline, muchInline = 256, 4096 + 64

// Hello is what the peer has to be told, for its Attach. It holds keys to
// memory: who carries it must keep it from others.
func (p *Peer) Hello() []byte { return p.words }

// Attach takes the other side's hello, and connects. Where its words make no
// sense the error wraps ErrInvalid. After an error the peer is to be closed.
func (p *Peer) Attach(ctx context.Context, theirs []byte) error {
	return p.end.fail("attach", p.attach(ctx, theirs))
}

func (p *Peer) attach(ctx context.Context, theirs []byte) error {
	h, err := parseHello(theirs)
	if err != nil {
		return err
	}
	if err := p.fits(h); err != nil {
		return err
	}
	if err := p.qp.Connect(ctx, h.endpoint); err != nil {
		return err
	}
	e := p.end
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed.Load() || p.left {
		return ErrClosed
	}
	if err := e.proto.attach(p, h); err != nil {
		return err
	}
	p.attached, p.base = true, e.committed
	e.limit.Store(0)
	return nil
}

// fits tells whether a hello is that of the other side of this channel.
func (p *Peer) fits(h *hello) error {
	_, sends := p.end.proto.(sending)
	switch {
	case int(h.kind) != p.end.kind.Number:
		return fmt.Errorf("the peer's channel is of kind %d, this one of kind %d (%s): %w", h.kind, p.end.kind.Number, p.end.kind.Name, ErrInvalid)
	case h.sends == sends:
		return fmt.Errorf("both sides send, or both receive: %w", ErrInvalid)
	case h.forced != p.end.cfg.Force:
		return fmt.Errorf("one side only is forced: %w", ErrInvalid)
	case h.paired != (p.end.twin != nil):
		return fmt.Errorf("one side only is a duplex: %w", ErrInvalid)
	}
	return nil
}

// Close has the peer leave; the end stays for others.
func (p *Peer) Close() error {
	p.end.mu.Lock()
	defer p.end.mu.Unlock()
	return p.leave()
}

// leave closes the queue pair; the lock is held.
func (p *Peer) leave() error {
	if p.left {
		return nil
	}
	p.left = true
	p.end.limit.Store(0)
	if proto, ok := p.end.proto.(parting); ok && !p.end.closed.Load() {
		proto.part(p)
	}
	err := p.qp.Close()
	if p.attached {
		p.end.proto.detach(p)
	}
	p.end.peers[p.index] = nil
	p.end.count--
	return err
}

// Err is why a peer is gone: nil as long as it is there, and else an error that
// wraps ErrPeerGone, and ErrLagged as well where it was evicted.
func (p *Peer) Err() error {
	p.end.mu.Lock()
	defer p.end.mu.Unlock()
	return p.gone
}

// Lost says that the peer is gone, known from elsewhere, such as a connection
// beside the channel. What it sent before is still received.
func (p *Peer) Lost(err error) {
	p.end.mu.Lock()
	defer p.end.mu.Unlock()
	p.lose(err)
}

func (p *Peer) lose(err error) {
	if p.gone == nil {
		p.gone = ErrPeerGone
		if err != nil && !errors.Is(err, ErrPeerGone) {
			p.gone = fmt.Errorf("%w: %w", ErrPeerGone, err)
		}
		p.rouse()
	}
}

// finish says that the peer has sent so many messages, and will send no more.
func (p *Peer) finish(total uint64) {
	p.end.mu.Lock()
	defer p.end.mu.Unlock()
	p.total, p.hasTotal = total, true
	if p.came >= total { // else what is still to come wakes who waits
		p.rouse()
	}
}

// rouse has who waits for the only peer look again: what was posted to its queue
// pair comes back.
func (p *Peer) rouse() {
	if p.end.cfg.Peers > 1 || p.left {
		return
	}
	p.end.lost.Store(true)
	// All that it sent is there, or never comes. Where this fails, closing does it.
	_ = p.qp.Modify(verbs.Err)
}

// broke takes in that a request failed.
func (p *Peer) broke(wc *verbs.WC) { p.lose(wc.Err()) }

// room tells whether n more requests can be posted.
func (p *Peer) room(n int) bool {
	return p.posted-p.retired+uint64(n) <= p.depth
}

// ready tells whether n more requests can be posted; if not, the error is
// ErrWouldBlock.
func (p *Peer) ready(n int) error {
	switch {
	case p.gone != nil:
		return p.gone
	case p.room(n):
		return nil
	}
	if err := p.end.reap(); err != nil {
		return err
	}
	if !p.room(n) {
		return ErrWouldBlock
	}
	return nil
}

// makeRoom sees to it that one more request can be posted, or gives ErrWouldBlock.
func (p *Peer) makeRoom() error {
	if p.room(1) {
		return nil
	}
	if err := p.end.reap(); err != nil {
		return err
	}
	if !p.room(1) {
		return ErrWouldBlock
	}
	return nil
}

// settled tells whether all that was posted is done, where each request has a
// completion.
func (p *Peer) settled() (bool, error) {
	if err := p.end.reap(); err != nil {
		return false, err
	}
	return p.retired == p.posted, p.gone
}

// post gives a request to the device. It has a completion of its own where signal
// says so, or none was asked for so long that the queue would fill. Without room
// the error is ErrWouldBlock.
func (p *Peer) post(wr *verbs.SendWR, signal bool) error {
	if p.gone != nil || !p.room(1) {
		if err := p.ready(1); err != nil {
			return err
		}
	}
	number := p.posted + 1
	wr.ID = uint64(p.index)<<48 | number&sequence
	signal = signal || number-p.signaled >= p.quarter
	wr.Flags &^= verbs.Signaled
	if signal {
		wr.Flags |= verbs.Signaled
	}
	if err := p.qp.PostSend(wr); err != nil {
		return err
	}
	p.posted = number
	if signal {
		p.signaled = number
	}
	return nil
}

// isDone tells whether a request has completed, as far as completions were
// looked at.
func (p *Peer) isDone(number uint64) bool { return p.retired >= number }

// succeeded tells whether it has, and without an error.
func (p *Peer) succeeded(number uint64) bool {
	return p.isDone(number) && (p.failed == 0 || number < p.failed)
}
