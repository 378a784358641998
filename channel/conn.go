package channel

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync/atomic"
	"time"
)

// Conn is a net.Conn: a stream of bytes each way, over a Duplex. Bytes that were written
// before Close are read by the peer, who then reads io.EOF.
type Conn struct {
	link  *Link
	owned bool // the link is closed with the connection
	s     *Sender
	r     *Receiver

	reading, writing turn
	readBy, writeBy  *deadline
	rest             Message // what came and was not read wholly
	from             int     // where its unread bytes begin
	closed           atomic.Bool
}

// turn is a lock that is waited for until a deadline.
type turn chan struct{}

func (t turn) take(by *moment) error {
	select {
	case t <- struct{}{}:
		return nil
	default:
	}
	select {
	case t <- struct{}{}:
		return nil
	case <-by.Done():
		return by.Err()
	}
}

func (t turn) give() { <-t }

// Conn makes a connection over a link, with the peer that does so under the same
// name. Each side receives by the kind that it says; the other one sends by it.
func (t *Transport) Conn(ctx context.Context, l *Link, name string, kind *Kind, cfg Config) (*Conn, error) {
	d, err := t.NewDuplex(kind, cfg)
	if err != nil {
		return nil, fmt.Errorf("connection %q: %w", name, err)
	}
	if err := d.Attach(ctx, l, name); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return &Conn{
		link: l, s: d.s, r: d.r, reading: make(turn, 1), writing: make(turn, 1), readBy: newDeadline(), writeBy: newDeadline(),
	}, nil
}

// Stats gives the counts of both directions.
func (c *Conn) Stats() (sent, received Stats) { return c.s.Stats(), c.r.Stats() }

// Read implements net.Conn.
func (c *Conn) Read(b []byte) (n int, err error) {
	by := c.readBy.moment()
	if err := c.reading.take(by); err != nil {
		return 0, c.failed("read", err)
	}
	defer c.hasRead()
	for c.from == len(c.rest.Bytes()) {
		if err := c.next(by); err != nil {
			return 0, c.failed("read", err)
		}
		if len(b) == 0 {
			return 0, nil
		}
	}
	n = copy(b, c.rest.Bytes()[c.from:])
	c.from += n
	if c.from == len(c.rest.Bytes()) {
		c.drop()
	}
	return n, nil
}

// next waits for the next message.
func (c *Conn) next(by *moment) error {
	c.drop()
	if err := by.Err(); err != nil {
		return err
	}
	m, err := c.r.Receive(by)
	if err != nil {
		return err
	}
	c.rest = m
	return nil
}

func (c *Conn) drop() {
	c.rest.Release()
	c.rest, c.from = Message{}, 0
}

// hasRead ends the turn of who reads, and sees to it that a connection that was
// closed meanwhile holds no message.
func (c *Conn) hasRead() {
	c.reading.give()
	if c.closed.Load() {
		c.tidy()
	}
}

func (c *Conn) tidy() {
	select {
	case c.reading <- struct{}{}:
		c.drop()
		c.reading.give()
	default: // who reads does it
	}
}

// WriteTo implements io.WriterTo: messages are given to w where they are.
func (c *Conn) WriteTo(w io.Writer) (n int64, err error) {
	by := c.readBy.moment()
	if err := c.reading.take(by); err != nil {
		return 0, c.failed("read", err)
	}
	defer c.hasRead()
	for {
		if unread := c.rest.Bytes()[c.from:]; len(unread) > 0 {
			k, err := w.Write(unread)
			n += int64(k)
			c.from += k
			if err != nil {
				return n, err
			}
			if k < len(unread) {
				return n, io.ErrShortWrite
			}
		}
		if err := c.next(by); err != nil {
			if errors.Is(err, io.EOF) {
				return n, nil
			}
			return n, c.failed("read", err)
		}
	}
}

// Write implements net.Conn.
func (c *Conn) Write(b []byte) (n int, err error) {
	by := c.writeBy.moment()
	if err := c.writing.take(by); err != nil {
		return 0, c.failed("write", err)
	}
	defer c.writing.give()
	if err := by.Err(); err != nil {
		return 0, c.failed("write", err)
	}
	for n < len(b) {
		piece := b[n:min(len(b), n+c.piece())]
		l, err := c.s.Reserve(by, len(piece))
		if err != nil {
			return n, c.failed("write", err)
		}
		copy(l.Bytes(), piece)
		if err := l.Commit(len(piece)); err != nil {
			return n, c.failed("write", err)
		}
		n += len(piece)
	}
	return n, nil
}

// piece is how long messages are at most: so that the peer can read one while the
// next one is written.
func (c *Conn) piece() int { return min(c.s.MaxMessage(), 1<<14) }

// failed is an error as net has them.
func (c *Conn) failed(op string, err error) error {
	switch {
	case errors.Is(err, io.EOF):
		return io.EOF
	case c.closed.Load():
		err = net.ErrClosed
	case errors.Is(err, os.ErrDeadlineExceeded):
		err = os.ErrDeadlineExceeded
	}
	return &net.OpError{Op: op, Net: "heddle", Source: c.LocalAddr(), Addr: c.RemoteAddr(), Err: err}
}

// Close implements net.Conn: what was written is still read by the peer.
func (c *Conn) Close() error {
	if c.closed.Swap(true) {
		return nil
	}
	err := errors.Join(c.s.Close(), c.r.Close())
	c.tidy()
	if c.owned {
		err = errors.Join(err, c.link.Close())
	}
	return err
}

// LocalAddr implements net.Conn.
func (c *Conn) LocalAddr() net.Addr { return c.link.conn.LocalAddr() }

// RemoteAddr implements net.Conn.
func (c *Conn) RemoteAddr() net.Addr { return c.link.conn.RemoteAddr() }

// SetDeadline implements net.Conn.
func (c *Conn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

// SetReadDeadline implements net.Conn.
func (c *Conn) SetReadDeadline(t time.Time) error { return c.setDeadline(c.readBy, t) }

// SetWriteDeadline implements net.Conn.
func (c *Conn) SetWriteDeadline(t time.Time) error { return c.setDeadline(c.writeBy, t) }

func (c *Conn) setDeadline(d *deadline, t time.Time) error {
	if c.closed.Load() {
		return c.failed("set deadline", net.ErrClosed)
	}
	d.set(t)
	return nil
}

var (
	_ net.Conn    = (*Conn)(nil)
	_ io.WriterTo = (*Conn)(nil)
)
