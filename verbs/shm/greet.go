//go:build linux && (amd64 || arm64)

package shm

import (
	"crypto/subtle"
	"errors"
	"net"
	"os"
	"slices"
	"time"

	"heddle/verbs"
)

const (
	// maxGuests is how many peers may come to a context's socket at once without
	// having said who they are, patience how long they may take for it. The one
	// who has been there longest has to go for the next: peers that mean it say so
	// at once.
	maxGuests = 64
	patience  = 5 * time.Second
	// maxSenders is how many peers may send datagrams to the QPs of a context: the
	// kernel gives a process 65,530 mappings, and each peer needs 7.
	maxSenders = 4096
)

// greeting is a peer that has come, and says which QP it is.
type greeting struct {
	conn  *net.UnixConn
	hello frame
	files []*os.File // the rings, its bell, its board
}

func (g *greeting) close() error { return errors.Join(g.conn.Close(), closeFiles(g.files)) }

// accept lets peers in, until the listener is closed.
func (o *opened) accept() {
	for {
		conn, err := o.listener.AcceptUnix()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil:
			time.Sleep(time.Millisecond) // no descriptors left, which passes
		case !o.admit(conn):
			_ = conn.Close() // the context is closed
		default:
			o.tasks.Go(func() { o.greet(conn) })
		}
	}
}

func (o *opened) admit(conn *net.UnixConn) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed.Load() || conn.SetWriteBuffer(queued) != nil {
		return false
	}
	if len(o.guests) == maxGuests {
		_ = o.guests[0].Close() // greet takes it out of what is left
		o.guests = o.guests[1:]
	}
	o.guests = append(o.guests, conn)
	return true
}

// said takes a guest out of those who have not said who they are.
func (o *opened) said(conn *net.UnixConn) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.guests = slices.DeleteFunc(o.guests, func(c *net.UnixConn) bool { return c == conn })
}

// greet reads who has come, and gives them to their QP.
func (o *opened) greet(conn *net.UnixConn) {
	g := &greeting{conn: conn}
	err := conn.SetDeadline(time.Now().Add(patience))
	if err == nil {
		g.hello, g.files, err = receive(conn)
	}
	o.said(conn)
	if err == nil {
		err = conn.SetDeadline(time.Time{})
	}
	q := o.pair(g.hello.To)
	if err != nil || q == nil || !q.invited(g) {
		_ = g.close() // it has no business here
		return
	}
	if q.attr.Type == verbs.UD {
		q.hear(g)
		return
	}
	q.park(g)
}

// invited tells whether a peer knows the QP's secret, and has the right form.
func (q *pair) invited(g *greeting) bool {
	f := &g.hello
	return f.Kind == helloFrame && len(g.files) == maxFiles && f.From.Type == q.attr.Type &&
		subtle.ConstantTimeCompare(f.Secret[:], q.self.Secret[:]) == 1
}

// park keeps a peer until Connect is called; the last one counts.
func (q *pair) park(g *greeting) {
	q.mu.Lock()
	old := g
	if !q.closed.Load() {
		old, q.parked = q.parked, g
	}
	q.mu.Unlock()
	if old != nil {
		_ = old.close() // it came in vain
	}
	q.signalArrival()
}

func (q *pair) signalArrival() {
	select {
	case q.arrived <- struct{}{}:
	default:
	}
}

func (q *pair) unpark() *greeting {
	q.mu.Lock()
	defer q.mu.Unlock()
	g := q.parked
	q.parked = nil
	return g
}

// hear lets a peer send datagrams.
func (q *pair) hear(g *greeting) {
	l, err := newLink(g.conn, g.files[0], datagramRing, false)
	if err == nil {
		err = l.meet(&g.hello, g.files[1], g.files[2])
	}
	if err == nil {
		err = send(g.conn, q.welcome(), q.host.bell.file, q.host.board.reading)
	}
	err = errors.Join(err, closeFiles(g.files))
	if err != nil || !q.addGuest(l) {
		_ = g.conn.Close() // what it sent makes no sense
		if l != nil {
			_ = l.unmap()
		}
		return
	}
	for err == nil {
		var f frame
		var files []*os.File
		f, files, err = receive(g.conn)
		_ = closeFiles(files)
		if f.Kind == kickFrame {
			q.pull(nil)
		}
	}
	q.removeGuest(l)
}

func (q *pair) addGuest(l *link) bool {
	q.receiving.Lock()
	defer q.doneReceiving()
	if q.closed.Load() {
		return false
	}
	if q.host.senders.Add(1) > maxSenders {
		q.host.senders.Add(-1)
		return false
	}
	q.guests = append(q.guests, l)
	return true
}

func (q *pair) removeGuest(l *link) {
	q.receiving.Lock()
	defer q.doneReceiving()
	q.host.senders.Add(-1)
	q.drain() // what it sent before it went
	q.guests = slices.DeleteFunc(q.guests, func(x *link) bool { return x == l })
	_ = l.conn.Close() // it may be closed
	_ = l.unmap()      // nothing can be done about it
	close(l.done)
}
