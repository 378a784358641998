package cm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"heddle/verbs"
)

// Both sides have that many buffers each way, of that size.
const (
	slots    = 8
	slotSize = 4096
)

const (
	// keepAlive is the default of Manager's KeepAlive.
	keepAlive = 3 * time.Second
	// linger is how long Close waits until the peer's device has all.
	linger = time.Second
)

// control is what a connection needs of the connection manager once it is set up:
// an *id.
type control interface {
	// ended waits until the peer or the device is gone, or the context done, and
	// tells which; io.EOF is a peer that has gone.
	ended(ctx context.Context) error
	disconnect() error
	close() error
}

// Conn is a net.Conn over a reliable connection: a stream of bytes each way. What
// was written before Close, or before the process ended, and has come, is still
// read by the peer, which then reads io.EOF. All methods may be called by any
// goroutine.
type Conn struct {
	dev           verbs.Context
	path          verbs.Path
	local, remote net.Addr
	control       control
	quiet         time.Duration

	pd  verbs.PD
	cq  verbs.CQ
	qp  verbs.QP
	mem *verbs.Memory
	mr  verbs.MR

	posting sync.Mutex // of the QP's queues
	free    chan int   // slots to send from
	in      chan message
	rest    message // what came and was not read wholly; of who reads
	probing bool    // a WRITE of no bytes is under way; of run

	reading, writing turn
	readBy, writeBy  *deadline
	closed           chan struct{} // by Close
	once             sync.Once
	failed           error // of Close

	ctx  context.Context // done when the connection has ended; its cause says why
	stop context.CancelCauseFunc
	work sync.WaitGroup
}

var _ net.Conn = (*Conn)(nil)

// message is what came, in a slot.
type message struct {
	slot  int
	bytes []byte
}

// turn is a lock that is waited for until a deadline.
type turn chan struct{}

// The IDs of requests: receives by their slots, SENDs by theirs after those, and
// the WRITE of no bytes.
const probeID = 2 * slots

// newConn makes a connection that is not connected yet, and can receive. Where it
// fails, nothing is left of it, and control stays the caller's.
func newConn(dev verbs.Context, path verbs.Path, control control) (c *Conn, err error) {
	c = &Conn{
		dev: dev, path: path, control: control, quiet: keepAlive,
		free: make(chan int, slots), in: make(chan message, slots),
		reading: make(turn, 1), writing: make(turn, 1), readBy: newDeadline(), writeBy: newDeadline(), closed: make(chan struct{}),
	}
	c.ctx, c.stop = context.WithCancelCause(context.Background())
	if err := c.create(); err != nil {
		return nil, errors.Join(err, c.release())
	}
	return c, nil
}

func (c *Conn) create() (err error) {
	if c.pd, err = c.dev.AllocPD(); err != nil {
		return err
	}
	if c.cq, err = c.dev.CreateCQ(verbs.CQAttr{Depth: probeID + 1}); err != nil {
		return err
	}
	if c.mem, err = verbs.NewMemory(2 * slots * slotSize); err != nil {
		return err
	}
	if c.mr, err = c.pd.RegisterMR(c.mem, verbs.LocalWrite); err != nil {
		return err
	}
	// The peer may write, but there is no key to anything: that is for its probes.
	c.qp, err = c.pd.CreateQP(verbs.QPAttr{
		Type: verbs.RC, SendCQ: c.cq, RecvCQ: c.cq, SendWR: slots + 1, RecvWR: slots, SigAll: true, Access: verbs.RemoteWrite,
		Port: c.path.Port, GID: c.path.GID, PKey: c.path.PKey, SL: c.path.SL, RNRTimer: time.Millisecond,
	})
	if err != nil {
		return err
	}
	for slot := range slots {
		c.free <- slot
		if err := c.receive(slot); err != nil {
			return err
		}
	}
	return nil
}

// receive gives the device a slot for a message to come.
func (c *Conn) receive(slot int) error {
	c.posting.Lock()
	defer c.posting.Unlock()
	return c.qp.PostRecv(&verbs.RecvWR{ID: uint64(slot), SGEs: []verbs.SGE{c.mr.SGE(slot*slotSize, slotSize)}})
}

// start has a connected connection work.
func (c *Conn) start() {
	c.work.Go(func() { c.stop(c.control.ended(c.ctx)) })
	c.work.Go(c.run)
}

// run takes completions until the connection ends, and then what is left of them.
func (c *Conn) run() {
	defer close(c.in)
	wcs := make([]verbs.WC, slots)
	for {
		soon, cancel := context.WithTimeout(c.ctx, c.quiet)
		n, err := verbs.Await(soon, c.cq, wcs)
		cancel()
		switch {
		case n > 0:
			err = c.take(wcs[:n])
		case c.ctx.Err() != nil:
			c.takeRest(wcs)
			return
		case errors.Is(err, context.DeadlineExceeded):
			err = c.probe()
		}
		if err != nil {
			c.stop(err)
			return
		}
	}
}

// takeRest takes what came before the end.
func (c *Conn) takeRest(wcs []verbs.WC) {
	for {
		n, err := c.cq.Poll(wcs)
		if n == 0 || err != nil || c.take(wcs[:n]) != nil {
			return
		}
	}
}

// take sorts completions. Its error is that of the first request that failed.
func (c *Conn) take(wcs []verbs.WC) error {
	for i := range wcs {
		wc := &wcs[i]
		switch {
		case wc.Status != verbs.StatusOK:
			return fmt.Errorf("%w: %w", verbs.ErrPeerGone, wc.Err())
		case wc.ID == probeID:
			c.probing = false
		case wc.ID >= slots:
			c.free <- int(wc.ID - slots)
		case wc.ByteLen == 0:
			if err := c.receive(int(wc.ID)); err != nil {
				return err
			}
		default:
			at := int(wc.ID) * slotSize
			c.in <- message{int(wc.ID), c.mem.Bytes()[at : at+int(wc.ByteLen)]}
		}
	}
	return nil
}

// probe finds out whether the peer's host is still there, unless that is being
// found out already, or anything that was sent is still to be acknowledged.
func (c *Conn) probe() error {
	if c.probing || len(c.free) < slots {
		return nil
	}
	c.probing = true
	return c.send(&verbs.SendWR{ID: probeID, Op: verbs.OpWrite})
}

func (c *Conn) send(wr *verbs.SendWR) error {
	c.posting.Lock()
	defer c.posting.Unlock()
	return c.qp.PostSend(wr)
}

// take gives the turn to the caller, or an error.
func (t turn) take(c *Conn, by *deadline) error {
	if err := c.ready(by); err != nil {
		return err
	}
	select {
	case t <- struct{}{}:
		return nil
	case <-by.wait():
		return os.ErrDeadlineExceeded
	case <-c.closed:
		return net.ErrClosed
	}
}

func (t turn) give() { <-t }

// ready tells why nobody may read or write any more.
func (c *Conn) ready(by *deadline) error {
	switch {
	case isClosed(c.closed):
		return net.ErrClosed
	case isClosed(by.wait()):
		return os.ErrDeadlineExceeded
	}
	return nil
}

// Read implements net.Conn.
func (c *Conn) Read(b []byte) (n int, err error) {
	if err := c.reading.take(c, c.readBy); err != nil {
		return 0, c.fail("read", err)
	}
	defer c.reading.give()
	if len(b) == 0 {
		return 0, nil
	}
	if len(c.rest.bytes) == 0 {
		if err := c.next(); err != nil {
			return 0, c.fail("read", err)
		}
	}
	n = copy(b, c.rest.bytes)
	c.rest.bytes = c.rest.bytes[n:]
	if len(c.rest.bytes) == 0 {
		// After the end there is nothing to come, and no need to say so.
		_ = c.receive(c.rest.slot)
	}
	return n, nil
}

// next waits for the next message.
func (c *Conn) next() error {
	var ok bool
	select {
	case c.rest, ok = <-c.in:
		if !ok {
			return context.Cause(c.ctx)
		}
		return nil
	case <-c.readBy.wait():
		return os.ErrDeadlineExceeded
	case <-c.closed:
		return net.ErrClosed
	}
}

// Write implements net.Conn.
func (c *Conn) Write(b []byte) (n int, err error) {
	if err := c.writing.take(c, c.writeBy); err != nil {
		return 0, c.fail("write", err)
	}
	defer c.writing.give()
	for n < len(b) {
		piece := b[n:min(len(b), n+slotSize)]
		if err := c.write(piece); err != nil {
			return n, c.fail("write", err)
		}
		n += len(piece)
	}
	return n, nil
}

// write sends at most what a slot holds.
func (c *Conn) write(piece []byte) error {
	var slot int
	if c.ctx.Err() != nil {
		return c.gone()
	}
	select {
	case slot = <-c.free:
	case <-c.writeBy.wait():
		return os.ErrDeadlineExceeded
	case <-c.closed:
		return net.ErrClosed
	case <-c.ctx.Done():
		return c.gone()
	}
	at := (slots + slot) * slotSize
	copy(c.mem.Bytes()[at:], piece)
	err := c.send(&verbs.SendWR{ID: uint64(slots + slot), Op: verbs.OpSend, SGEs: []verbs.SGE{c.mr.SGE(at, len(piece))}})
	if err != nil {
		c.free <- slot
	}
	return err
}

// gone is the error of who writes to a peer that has gone.
func (c *Conn) gone() error {
	if err := context.Cause(c.ctx); !errors.Is(err, io.EOF) {
		return err
	}
	return verbs.ErrPeerGone
}

// fail is an error as net has them.
func (c *Conn) fail(op string, err error) error {
	switch {
	case errors.Is(err, io.EOF):
		return io.EOF
	case isClosed(c.closed):
		err = net.ErrClosed
	}
	return &net.OpError{Op: op, Net: Network, Source: c.local, Addr: c.remote, Err: err}
}

// Close implements net.Conn: what was written still gets to the peer, if its
// device takes it within a second.
func (c *Conn) Close() error {
	c.once.Do(func() {
		close(c.closed)
		// Who reads or writes has left soon, and nobody comes any more.
		c.reading <- struct{}{}
		c.writing <- struct{}{}
		c.flush()
		c.stop(net.ErrClosed)
		c.failed = c.discard()
	})
	return c.failed
}

// flush waits until all that was sent is in the peer's memory.
func (c *Conn) flush() {
	patience := time.NewTimer(linger)
	defer patience.Stop()
	for range slots {
		select {
		case <-c.free:
		case <-c.ctx.Done():
			return
		case <-patience.C:
			return
		}
	}
}

// discard ends it, and gives all back.
func (c *Conn) discard() error {
	c.stop(net.ErrClosed)
	// A peer that has gone first does not need to be told.
	_ = c.control.disconnect()
	c.work.Wait()
	return errors.Join(c.release(), c.control.close())
}

// release gives back what create made, the last first.
func (c *Conn) release() (err error) {
	closeIf := func(there bool, f func() error) {
		if there {
			err = errors.Join(err, f())
		}
	}
	closeIf(c.qp != nil, func() error { return c.qp.Close() })
	closeIf(c.mr != nil, func() error { return c.mr.Close() })
	closeIf(c.mem != nil, func() error { return c.mem.Close() })
	closeIf(c.cq != nil, func() error { return c.cq.Close() })
	closeIf(c.pd != nil, func() error { return c.pd.Close() })
	return err
}

// Device is the device that leads to the peer. It belongs to the manager.
func (c *Conn) Device() verbs.Context { return c.dev }

// Path is where packets to the peer leave by.
func (c *Conn) Path() verbs.Path { return c.path }

// LocalAddr implements net.Conn.
func (c *Conn) LocalAddr() net.Addr { return c.local }

// RemoteAddr implements net.Conn.
func (c *Conn) RemoteAddr() net.Addr { return c.remote }

// SetDeadline implements net.Conn.
func (c *Conn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

// SetReadDeadline implements net.Conn.
func (c *Conn) SetReadDeadline(t time.Time) error { return c.setDeadline(c.readBy, t) }

// SetWriteDeadline implements net.Conn.
func (c *Conn) SetWriteDeadline(t time.Time) error { return c.setDeadline(c.writeBy, t) }

func (c *Conn) setDeadline(d *deadline, t time.Time) error {
	if isClosed(c.closed) {
		return c.fail("set deadline", net.ErrClosed)
	}
	d.set(t)
	return nil
}
