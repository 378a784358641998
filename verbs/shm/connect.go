//go:build linux && (amd64 || arm64)

package shm

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"heddle/verbs"
)

// Connect implements verbs.QP. It returns when both sides have called it. One of
// them comes to the other's socket: which one, both know by their endpoints.
func (q *pair) Connect(ctx context.Context, peer []byte) error {
	if ctx.Err() != nil {
		return q.wrong("connect", context.Cause(ctx))
	}
	ctx, err := q.begin(ctx)
	if err != nil {
		return err
	}
	defer q.end()
	if q.attr.Type == verbs.UD {
		q.state.Store(int32(verbs.RTS))
		return nil
	}
	to, err := parseEndpoint(peer)
	switch {
	case err != nil:
		return q.wrong("connect", err)
	case to.Type != q.attr.Type:
		return q.wrong("connect", fmt.Errorf("to a %v QP: %w", to.Type, verbs.ErrInvalid))
	case to == q.self:
		return q.wrong("connect", fmt.Errorf("to itself: %w", verbs.ErrNotSupported))
	}
	l, err := q.join(ctx, &to)
	if err != nil {
		return q.wrong("connect", err)
	}
	return q.start(l)
}

// begin gives a context that ends when the QP is closed or reset.
func (q *pair) begin(ctx context.Context) (context.Context, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if err := q.open("connect"); err != nil {
		return nil, err
	}
	if q.connecting != nil || q.now() != verbs.Init {
		return nil, q.wrong(fmt.Sprintf("connect in %v", q.now()), verbs.ErrState)
	}
	q.connecting = make(chan struct{})
	ctx, q.stopConnect = context.WithCancelCause(ctx)
	return ctx, nil
}

func (q *pair) end() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.stopConnect(nil)
	close(q.connecting)
	q.connecting, q.stopConnect = nil, nil
}

// interrupt ends Connect, and returns when it has returned: what it made is there
// to be closed then.
func (q *pair) interrupt() {
	q.mu.Lock()
	ended, stop := q.connecting, q.stopConnect
	q.mu.Unlock()
	if ended != nil {
		stop(verbs.ErrClosed)
		<-ended
	}
}

// join makes the link, by the way that is this side's.
func (q *pair) join(ctx context.Context, to *endpoint) (*link, error) {
	if q.self.before(to) {
		return q.dial(ctx, to)
	}
	for {
		select {
		case <-q.arrived:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		if g := q.unpark(); g != nil {
			if g.hello.From != *to {
				_ = g.close() // another one that knows the secret
				continue
			}
			return q.greetBack(g)
		}
	}
}

// before is an order of endpoints.
func (e *endpoint) before(other *endpoint) bool {
	order := bytes.Compare(e.Name[:], other.Name[:])
	return order < 0 || order == 0 && e.QPN < other.QPN
}

// hello is what is said by who dials, welcome by who is dialled.
func (q *pair) hello(to *endpoint) *frame {
	f := q.welcome()
	f.Kind, f.To, f.Secret = helloFrame, to.QPN, to.Secret
	return f
}

func (q *pair) welcome() *frame {
	return &frame{Kind: welcomeFrame, Access: q.attr.Access, RNR: q.attr.RNRTimer, From: q.self}
}

// greetBack answers a peer that came.
func (q *pair) greetBack(g *greeting) (l *link, err error) {
	defer func() { err = errors.Join(err, closeFiles(g.files)) }()
	if l, err = newLink(g.conn, g.files[0], ringSize, false); err != nil {
		return nil, errors.Join(err, g.conn.Close())
	}
	if err = l.meet(&g.hello, g.files[1], g.files[2]); err == nil {
		err = send(g.conn, q.welcome(), q.host.bell.file, q.host.board.reading)
	}
	if err != nil {
		return nil, errors.Join(peerGone(err), l.unmap(), g.conn.Close())
	}
	return l, nil
}

// dial comes to a peer, with rings for both directions.
func (q *pair) dial(ctx context.Context, to *endpoint) (*link, error) {
	return q.host.dial(ctx, to, q.hello(to), ringSize)
}

func (o *opened) dial(ctx context.Context, to *endpoint, hello *frame, ring int) (l *link, err error) {
	conn, err := knock(ctx, to)
	if err != nil {
		return nil, err
	}
	file, err := newFile("rings", controlSize(ring))
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	if l, err = newLink(conn, file, ring, true); err == nil {
		err = o.meet(ctx, l, hello, file)
	}
	err = errors.Join(err, file.Close())
	if err != nil {
		err = errors.Join(err, conn.Close())
		if l != nil {
			err = errors.Join(err, l.unmap())
		}
		return nil, err
	}
	return l, nil
}

// knock comes to the peer's socket, again where there is a crowd.
func knock(ctx context.Context, to *endpoint) (*net.UnixConn, error) {
	var d net.Dialer
	for {
		c, err := d.DialContext(ctx, "unixpacket", to.socket().Name)
		switch {
		case err == nil:
			conn := c.(*net.UnixConn)
			return conn, conn.SetWriteBuffer(queued)
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case !busy(err):
			return nil, peerGone(err)
		}
		select {
		case <-time.After(time.Millisecond):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// meet says hello and waits for the welcome.
func (o *opened) meet(ctx context.Context, l *link, hello *frame, rings *os.File) error {
	if err := send(l.conn, hello, rings, o.bell.file, o.board.reading); err != nil {
		return peerGone(err)
	}
	stop := context.AfterFunc(ctx, func() { _ = l.conn.SetReadDeadline(time.Unix(1, 0)) })
	f, files, err := receive(l.conn)
	if !stop() && ctx.Err() != nil {
		return errors.Join(context.Cause(ctx), closeFiles(files))
	}
	switch {
	case err != nil:
		return peerGone(err)
	case f.Kind != welcomeFrame || len(files) != 2:
		err = fmt.Errorf("the peer's welcome: frame %d with %d files: %w", f.Kind, len(files), verbs.ErrInvalid)
	default:
		err = l.meet(&f, files[0], files[1])
	}
	return errors.Join(err, closeFiles(files))
}

// peerGone says what the end of a socket means.
func peerGone(err error) error { return fmt.Errorf("%w: %w", verbs.ErrPeerGone, err) }

// start takes the QP to RTS with a link, and serves that.
func (q *pair) start(l *link) error {
	q.link.Store(l)
	ready := q.state.CompareAndSwap(int32(verbs.Init), int32(verbs.RTS))
	q.host.tasks.Go(func() { q.serve(l) })
	if !ready {
		q.refusePeer(l) // it is in ERR, or about to be reset or closed
		if err := q.open("connect"); err != nil {
			return err
		}
		return q.wrong(fmt.Sprintf("connect: taken to %v meanwhile", q.now()), verbs.ErrState)
	}
	return nil
}

// serve reads what the peer says, until it is gone.
func (q *pair) serve(l *link) {
	defer close(l.done)
	for {
		f, files, err := receive(l.conn)
		if err != nil || f.Kind == byeFrame {
			_ = closeFiles(files)
			q.lost(l, err == nil)
			return
		}
		q.answer(l, &f, files)
		_ = closeFiles(files) // what is of use is mapped
	}
}

func (q *pair) answer(l *link, f *frame, files []*os.File) {
	switch f.Kind {
	case askFrame:
		described, file := q.host.describe(q.domain.number, f.Key)
		if file == nil {
			_ = send(l.conn, &described) // a peer that does not listen waits in vain
			return
		}
		if send(l.conn, &described, file) != nil {
			_ = l.conn.Close() // it asks, and does not listen
		}
		_ = file.Close()
	case regionFrame:
		q.learned(l, f, files)
	case kickFrame:
		l.in.ticks.Add(1)
		q.look()
		q.push(true)
		q.host.bell.ring()
		l.bell.ring()
	case offerFrame:
		q.borrow(l, f, files)
	case takenFrame:
		q.lent(l, f)
	case faultFrame:
		q.abort(accusation(f.Status))
	case helloFrame, welcomeFrame, byeFrame:
	}
}

// accusation is the event at the target of a request that was refused.
func accusation(s verbs.Status) verbs.EventType {
	if s == verbs.StatusRemoteAccess {
		return verbs.EventQPAccess
	}
	return verbs.EventQPRequest
}

// learned takes the answer of a peer that was asked for a region.
func (q *pair) learned(l *link, f *frame, files []*os.File) {
	q.sending.Lock()
	if key := named(f.Key); key == l.asking {
		l.asking = 0
		if len(files) != 1 || l.learn(f, files[0]) != nil {
			l.denied = key
		}
	}
	q.advance(false)
	q.doneSending()
	q.settle()
	q.host.bell.ring()
}

// lost ends a link: what came in is still received, what was under way fails. A
// peer that closed its QP itself leaves this one as it is until the next
// request, as a network would.
func (q *pair) lost(l *link, closed bool) {
	alone := !l.gone.Load() // not by what the QP did itself
	if alone {
		q.receiving.Lock()
		q.drainAll()
		q.doneReceiving()
	}
	// A request is done before this, or finds no link.
	q.sending.Lock()
	if alone {
		q.retire(l)
	}
	q.receiving.Lock()
	q.link.Store(nil)
	l.out.void()  // what is sent from belongs to who closes the QP
	_ = l.unmap() // nothing can be done about it
	q.doneReceiving()
	if alone {
		q.failFirst(verbs.StatusRetryExceeded)
	}
	q.doneSending()
	_ = l.conn.Close() // it may be closed
	if alone {
		q.leave(closed)
	}
	q.host.bell.ring()
}

// leave tells that the peer is gone.
func (q *pair) leave(closed bool) {
	q.host.events.add(verbs.Event{Type: verbs.EventPeerGone, QP: q, QPN: q.self.QPN})
	if closed {
		q.settle()
		return
	}
	q.abort(0)
}

// imm is what comes with a record: an immediate and a length.
func imm(b []byte) (imm, n uint32) {
	return binary.NativeEndian.Uint32(b), binary.NativeEndian.Uint32(b[4:])
}
