package channel

import (
	"context"
	"fmt"
	"net"
	"sync"

	"heddle/verbs"
)

// streamKinds are those that streams go by, the best first.
var streamKinds = []string{"ring-bell", "ring-imm", "ring-send", "send"}

// StreamKind is the best kind for streams that a device has.
func StreamKind(caps *verbs.Caps) (*Kind, error) {
	for _, name := range streamKinds {
		k, err := Find(name)
		if err != nil {
			return nil, err
		}
		if k.Missing(caps) == nil {
			return k, nil
		}
	}
	return nil, fmt.Errorf("no kind of channel for streams on this device: %w", ErrNotSupported)
}

// stream is the name of the channels of a connection with a link of its own.
const stream = "stream"

// DialConn makes a connection to who listens with ListenConn on an address, over
// a link of its own.
func (t *Transport) DialConn(ctx context.Context, network, address string, cfg LinkConfig) (net.Conn, error) {
	l, err := Dial(ctx, network, address, cfg)
	if err != nil {
		return nil, err
	}
	return t.connOf(ctx, l)
}

func (t *Transport) connOf(ctx context.Context, l *Link) (net.Conn, error) {
	kind, err := StreamKind(&t.caps)
	if err == nil {
		var c *Conn
		if c, err = t.Conn(ctx, l, stream, kind, Config{}); err == nil {
			c.owned = true
			return c, nil
		}
	}
	_ = l.Close()
	return nil, err
}

// connListener is a net.Listener of connections.
type connListener struct {
	*Listener
	t     *Transport
	conns chan net.Conn
	work  sync.WaitGroup
}

// ListenConn makes a net.Listener of another one: its connections are those of
// DialConn, and go over the device. Refused is told of those that fail, if it is
// not nil.
func (t *Transport) ListenConn(l net.Listener, cfg LinkConfig, refused func(error)) net.Listener {
	x := &connListener{Listener: Listen(l, cfg, refused), t: t, conns: make(chan net.Conn)}
	x.work.Go(func() { x.run(refused) })
	return x
}

func (l *connListener) run(refused func(error)) {
	// So many are made at once, or wait for Accept, each with memory of its own.
	tokens := make(chan struct{}, maxHandshakes)
	for {
		link, err := l.AcceptLink(l.ctx)
		if err != nil {
			return
		}
		select {
		case tokens <- struct{}{}:
		case <-l.ctx.Done():
			_ = link.Close()
			return
		}
		l.work.Go(func() {
			l.make(link, refused)
			<-tokens
		})
	}
}

func (l *connListener) make(link *Link, refused func(error)) {
	ctx, cancel := context.WithTimeout(l.ctx, handshakeTime)
	defer cancel()
	c, err := l.t.connOf(ctx, link)
	if err != nil {
		if refused != nil && l.ctx.Err() == nil {
			refused(err)
		}
		return
	}
	select {
	case l.conns <- c:
	case <-l.ctx.Done():
		_ = c.Close()
	}
}

// Accept implements net.Listener.
func (l *connListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.ctx.Done():
		return nil, &net.OpError{Op: "accept", Net: "heddle", Addr: l.Addr(), Err: context.Cause(l.ctx)}
	}
}

// Close implements net.Listener; connections that were given stay.
func (l *connListener) Close() error {
	err := l.Listener.Close()
	l.work.Wait()
	return err
}
