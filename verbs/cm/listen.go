package cm

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"

	"heddle/verbs"
)

// Listener is a net.Listener of the connection manager.
type Listener struct {
	m       *Manager
	id      *id
	addr    Addr
	refused func(error)
	conns   chan *Conn
	ctx     context.Context
	stop    context.CancelCauseFunc
	work    sync.WaitGroup
}

var _ net.Listener = (*Listener)(nil)

const (
	// maxGreeted is how many peers are answered at once; more have to wait. Those that
	// nobody accepts are among them.
	maxGreeted = 64
	// greetTime is how long a peer has to confirm.
	greetTime = 10 * time.Second
)

// Listen waits for who dials "host:port": without a host at all addresses that
// lead to RDMA devices, with port 0 at one that is free. Refused is told of peers
// with whom no connection came about, if it is not nil; it may be called by
// several goroutines at once.
//
// The error wraps verbs.ErrNoDevice where there is no connection manager.
func (m *Manager) Listen(ctx context.Context, address string, refused func(error)) (*Listener, error) {
	l, err := first(ctx, address, func(a netip.AddrPort, zone uint32) (*Listener, error) {
		l, err := m.listen(a, zone)
		return l, failed("listen", a, err)
	})
	if err != nil {
		return nil, failedAt("listen", address, err)
	}
	l.refused = refused
	l.ctx, l.stop = context.WithCancelCause(context.Background())
	l.work.Go(l.run)
	return l, nil
}

func (m *Manager) listen(a netip.AddrPort, zone uint32) (*Listener, error) {
	i, err := newID()
	if err != nil {
		return nil, err
	}
	var w where
	if err = i.bindTo(a, zone); err == nil {
		if err = i.listen(maxGreeted); err == nil {
			w, err = i.where()
		}
	}
	if err != nil {
		return nil, errors.Join(err, i.close())
	}
	return &Listener{m: m, id: i, addr: Addr(w.local), conns: make(chan *Conn)}, nil
}

// run answers who asks.
func (l *Listener) run() {
	tokens := make(chan struct{}, maxGreeted)
	for {
		e, err := l.id.file.next(l.ctx)
		if err == nil && e.kind == deviceRemoval {
			err = fmt.Errorf("%v: %w", e.kind, verbs.ErrNoDevice)
		}
		if err != nil {
			l.stop(err)
			return
		}
		if e.kind != connectRequest {
			continue
		}
		select {
		case tokens <- struct{}{}:
		case <-l.ctx.Done():
			return
		}
		l.work.Go(func() {
			l.greet(e)
			<-tokens
		})
	}
}

// greet answers one peer.
func (l *Listener) greet(e *event) {
	c, err := l.answer(e)
	if err != nil {
		if l.refused != nil && l.ctx.Err() == nil {
			l.refused(err)
		}
		return
	}
	select {
	case l.conns <- c:
	case <-l.ctx.Done():
		_ = c.Close()
	}
}

func (l *Listener) answer(e *event) (*Conn, error) {
	i, err := adopted(l.id.file, e.id)
	if err != nil {
		return nil, fmt.Errorf("a peer of %v: %w", l.addr, err)
	}
	w, err := i.where()
	if err == nil {
		err = greeted(e)
	}
	var c *Conn
	if err == nil {
		c, err = l.m.conn(i)
	}
	if err != nil {
		return nil, failed("accept", w.remote, errors.Join(err, i.reject(err.Error()), i.close()))
	}
	if err := c.accept(l.ctx, i); err != nil {
		return nil, failed("accept", w.remote, errors.Join(err, c.discard()))
	}
	c.start()
	return c, nil
}

// accept says yes, and waits until the peer knows.
func (c *Conn) accept(ctx context.Context, i *id) error {
	ctx, cancel := context.WithTimeout(ctx, greetTime)
	defer cancel()
	if err := c.manage(i); err != nil {
		return errors.Join(err, i.reject(err.Error()))
	}
	if err := i.accept(c.qp.QPN(), greeting); err != nil {
		return err
	}
	_, err := i.await(ctx, established)
	return err
}

// Accept implements net.Listener; what it gives is a *Conn.
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.ctx.Done():
		return nil, failed("accept", netip.AddrPort(l.addr), context.Cause(l.ctx))
	}
}

// Close implements net.Listener; connections that were given stay.
func (l *Listener) Close() error {
	l.stop(net.ErrClosed)
	l.work.Wait()
	return l.id.close()
}

// Addr implements net.Listener.
func (l *Listener) Addr() net.Addr { return l.addr }
