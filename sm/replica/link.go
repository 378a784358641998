package replica

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"time"
)

// handshakes is how many connections may be in their handshakes, and
// handshakeLimit how long one may take.
const (
	handshakes     = 64
	handshakeLimit = 5 * time.Second
)

// link is the connection of a session.
type link struct {
	session *session
	conn    *tls.Conn
	wake    chan struct{} // there is something to send
	ctx     context.Context
	cancel  context.CancelCauseFunc
}

// end gives the connection up. It does not wait.
func (l *link) end(why error) { l.cancel(why) }

// dial keeps a connection to a peer, until ctx ends.
func (n *Node) dial(ctx context.Context, address string) {
	wait := n.config.MinBackoff
	for ctx.Err() == nil {
		begun := time.Now()
		err := n.dialOnce(ctx, address)
		if time.Since(begun) >= n.config.Dead { // it was good for a while
			wait = n.config.MinBackoff
		}
		if ctx.Err() == nil {
			n.config.Logger.Warn("replica", "peer", address, "error", err, "again", wait)
		}
		pause(ctx, wait/2+rand.N(wait/2+1))
		wait = min(2*wait, n.config.MaxBackoff)
	}
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// dialOnce makes a connection and serves it until it ends.
func (n *Node) dialOnce(ctx context.Context, address string) error {
	limited, cancel := context.WithTimeout(ctx, handshakeLimit)
	defer cancel()
	raw, err := n.config.Dial(limited, address)
	if err != nil {
		return err
	}
	return n.serve(ctx, tls.Client(raw, n.tls), true)
}

// accept serves the connections of a listener, until ctx ends.
func (n *Node) accept(ctx context.Context, listener net.Listener) {
	slots := make(chan struct{}, handshakes)
	for ctx.Err() == nil {
		raw, err := listener.Accept()
		if err != nil {
			if ctx.Err() == nil {
				n.config.Logger.Warn("replica", "accept", err)
			}
			pause(ctx, n.config.MinBackoff)
			continue
		}
		select {
		case slots <- struct{}{}:
			n.done.Go(func() { n.welcome(ctx, raw, func() { <-slots }) })
		default:
			_ = raw.Close() // somebody opens many and says nothing
		}
	}
}

// welcome serves a connection that a peer made.
func (n *Node) welcome(ctx context.Context, raw net.Conn, shaken func()) {
	conn := tls.Server(raw, n.tls)
	err := handshake(ctx, conn)
	shaken()
	if err == nil {
		err = n.serve(ctx, conn, false)
	}
	_ = raw.Close()
	if ctx.Err() == nil {
		n.config.Logger.Info("replica", "from", raw.RemoteAddr(), "error", err)
	}
}

// handshake is over in a limited time. That of a connection which had it is
// over at once.
func handshake(ctx context.Context, conn *tls.Conn) error {
	ctx, cancel := context.WithTimeout(ctx, handshakeLimit)
	defer cancel()
	if err := conn.HandshakeContext(ctx); err != nil {
		return fmt.Errorf("handshake: %w", err)
	}
	return nil
}

// serve lets a session have the connection until either ends.
func (n *Node) serve(ctx context.Context, conn *tls.Conn, dialled bool) error {
	defer func() { _ = conn.NetConn().Close() }()
	if err := handshake(ctx, conn); err != nil {
		return err
	}
	peer, err := peerID(conn.ConnectionState(), n.config.Secret, n.config.ID)
	if err != nil {
		return err
	}
	l := &link{conn: conn, wake: make(chan struct{}, 1)}
	l.ctx, l.cancel = context.WithCancelCause(ctx)
	defer l.cancel(nil)
	n.begin(l, peer, dialled)
	// Without a word, since that would wait for a peer which does not read.
	stop := context.AfterFunc(l.ctx, func() { _ = conn.NetConn().Close() })
	defer stop()
	var writer sync.WaitGroup
	writer.Go(func() { l.cancel(n.write(l)) })
	l.cancel(n.read(l))
	writer.Wait()
	n.event(func(c *core, _ time.Time) bool {
		c.close(l.session)
		delete(n.links, l.session)
		return true
	})
	return fmt.Errorf("peer %d: %w", peer, context.Cause(l.ctx))
}

// begin makes the session of a connection.
func (n *Node) begin(l *link, peer uint16, dialled bool) {
	n.event(func(c *core, now time.Time) bool {
		l.session = c.open(now, peer, dialled)
		n.links[l.session] = l
		return true
	})
}

// read gives the core what comes.
func (n *Node) read(l *link) error {
	var buffer []byte
	for {
		var m message
		var err error
		if m, buffer, err = readFrame(l.conn, buffer); err != nil {
			return ended(err)
		}
		n.event(func(c *core, now time.Time) bool {
			c.receive(now, l.session, &m)
			return true
		})
	}
}

// ended tells the end of a connection in words.
func ended(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("the peer closed the connection: %w", err)
	}
	return err
}

// write sends what the core has to send, one message at a time, so that what
// waits is in the log only.
func (n *Node) write(l *link) error {
	var buffer []byte
	for {
		var m message
		var ok bool
		n.event(func(c *core, _ time.Time) bool {
			m, ok = c.next(l.session)
			return ok
		})
		if !ok {
			select {
			case <-l.wake:
				continue
			case <-l.ctx.Done():
				return nil
			}
		}
		buffer = m.appendFrame(buffer[:0])
		if err := l.conn.SetWriteDeadline(time.Now().Add(n.config.Dead)); err != nil {
			return err
		}
		if _, err := l.conn.Write(buffer); err != nil {
			return err
		}
	}
}
