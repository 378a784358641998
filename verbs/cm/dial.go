package cm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"

	"heddle/verbs"
)

// greeting begins the private data of both sides.
var greeting = []byte("heddle\x00\x01")

// greeted refuses who says anything else.
func greeted(e *event) error {
	if bytes.HasPrefix(e.private, greeting) {
		return nil
	}
	return fmt.Errorf("the peer's private data begins with %q, it does not speak heddle: %w", e.private[:min(len(greeting), len(e.private))], verbs.ErrInvalid)
}

// DialContext is Dial, as programs want it that dial networks; the network has to
// be "rdma".
func (m *Manager) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	if network != Network {
		return nil, &net.OpError{Op: "dial", Net: network, Err: net.UnknownNetworkError(network)}
	}
	c, err := m.Dial(ctx, address)
	if err != nil {
		return nil, err
	}
	return c, nil
}

// Dial connects to who listens at "host:port". Errors are those of Resolve, and
// wrap ErrRejected where the peer, or its host, does not want to.
func (m *Manager) Dial(ctx context.Context, address string) (*Conn, error) {
	c, err := first(ctx, address, func(a netip.AddrPort, zone uint32) (*Conn, error) {
		c, err := m.dial(ctx, a, zone)
		return c, failed("dial", a, err)
	})
	return c, failedAt("dial", address, err)
}

func (m *Manager) dial(ctx context.Context, a netip.AddrPort, zone uint32) (*Conn, error) {
	i, err := newID()
	if err != nil {
		return nil, err
	}
	var c *Conn
	if err = i.resolve(ctx, a, zone); err == nil {
		c, err = m.conn(i)
	}
	if err != nil {
		return nil, errors.Join(err, i.close())
	}
	if err := c.connect(ctx, i); err != nil {
		return nil, errors.Join(err, c.discard())
	}
	c.start()
	return c, nil
}

// conn makes what a connection needs on the ID's device; it takes the ID over.
func (m *Manager) conn(i *id) (*Conn, error) {
	dev, path, err := m.path(i)
	if err != nil {
		return nil, err
	}
	w, err := i.where()
	if err != nil {
		return nil, err
	}
	c, err := newConn(dev, path, i)
	if err != nil {
		return nil, err
	}
	c.local, c.remote = Addr(w.local), Addr(w.remote)
	if m.KeepAlive > 0 {
		c.quiet = m.KeepAlive
	}
	return c, nil
}

// connect asks the peer, and says yes to its yes.
func (c *Conn) connect(ctx context.Context, i *id) error {
	if err := i.connect(c.qp.QPN(), greeting); err != nil {
		return err
	}
	e, err := i.await(ctx, connectResponse)
	if err != nil {
		return err
	}
	if err := greeted(e); err != nil {
		return errors.Join(err, i.reject(err.Error()))
	}
	if err := c.manage(i); err != nil {
		return errors.Join(err, i.reject(err.Error()))
	}
	return i.confirm()
}

// manage takes the QP to RTS.
func (c *Conn) manage(i *id) error {
	qp, ok := c.qp.(verbs.CMConnector)
	if !ok {
		return fmt.Errorf("queue pairs of %s, to a connection manager: %w", c.dev.Name(), verbs.ErrNotSupported)
	}
	a, err := i.attr()
	if err != nil {
		return err
	}
	return qp.ConnectCM(a)
}
