package channel

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

// Dial makes a link to who listens on an address, of the networks "tcp" and
// "unix", or those that cfg.Dial knows.
func Dial(ctx context.Context, network, address string, cfg LinkConfig) (*Link, error) {
	dial := cfg.Dial
	if dial == nil {
		dial = (&net.Dialer{}).DialContext
	}
	conn, err := dial(ctx, network, address)
	if err != nil {
		return nil, fmt.Errorf("dial %s: %w", address, err)
	}
	return NewLink(ctx, conn, true, cfg)
}

// NewLink makes a link of a connection, which is closed with it, such as one of
// TLS. Of the two sides one has to say that it dialed.
func NewLink(ctx context.Context, conn net.Conn, dialed bool, cfg LinkConfig) (*Link, error) {
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	err := handshake(conn, dialed, cfg)
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("link with %v: %w", conn.RemoteAddr(), err), conn.Close())
	}
	// A host that dies without a word is noticed after some seconds.
	if c, ok := conn.(*net.TCPConn); ok {
		err = c.SetKeepAliveConfig(net.KeepAliveConfig{Enable: true, Idle: 3 * time.Second, Interval: time.Second, Count: 3})
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return newLink(conn, dialed), nil
}

// Listener gives links to those who dial.
type Listener struct {
	conns net.Listener
	cfg   LinkConfig
	links chan *Link
	ctx   context.Context
	stop  context.CancelCauseFunc
	work  sync.WaitGroup
}

// maxHandshakes is how many peers are greeted at once; more have to wait.
const maxHandshakes = 64

// Listen takes a listener's connections, and closes it in the end. Peers whose
// handshake fails are dropped, and Refused is told of each, if it is not nil.
func Listen(l net.Listener, cfg LinkConfig, refused func(error)) *Listener {
	x := &Listener{conns: l, cfg: cfg, links: make(chan *Link)}
	x.ctx, x.stop = context.WithCancelCause(context.Background())
	x.work.Go(func() { x.run(refused) })
	return x
}

func (l *Listener) run(refused func(error)) {
	tokens := make(chan struct{}, maxHandshakes)
	for {
		conn, err := l.conns.Accept()
		if err != nil {
			l.stop(fmt.Errorf("accept: %w", err))
			return
		}
		select {
		case tokens <- struct{}{}:
		case <-l.ctx.Done():
			_ = conn.Close()
			return
		}
		l.work.Go(func() {
			l.greet(conn, refused)
			<-tokens
		})
	}
}

func (l *Listener) greet(conn net.Conn, refused func(error)) {
	link, err := NewLink(l.ctx, conn, false, l.cfg)
	if err != nil {
		if refused != nil && l.ctx.Err() == nil {
			refused(err)
		}
		return
	}
	select {
	case l.links <- link:
	case <-l.ctx.Done():
		_ = link.Close()
	}
}

// AcceptLink gives the next link.
func (l *Listener) AcceptLink(ctx context.Context) (*Link, error) {
	select {
	case link := <-l.links:
		return link, nil
	case <-l.ctx.Done():
		return nil, context.Cause(l.ctx)
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Close ends it; links that were given stay.
func (l *Listener) Close() error {
	l.stop(ErrClosed)
	err := l.conns.Close()
	l.work.Wait()
	return err
}

// Addr is where it listens.
func (l *Listener) Addr() net.Addr { return l.conns.Addr() }
