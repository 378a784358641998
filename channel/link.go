package channel

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// Link joins two transports: a connection of any kind, over which they tell each
// other what their channels need, and which stays open, as its end is the death of
// the peer. All methods may be called by any goroutine.
//
// What is said over a link are keys to memory. Where others can listen or write,
// the connection has to be one of TLS.
type Link struct {
	conn   net.Conn
	dialed bool
	done   chan struct{} // closed when the link has ended
	read   sync.WaitGroup

	writing sync.Mutex

	mu    sync.Mutex
	slots map[string]*slot // by name; guarded by mu, as all below
	err   error            // why it ended
}

// slot is what is known of the channel of a name.
type slot struct {
	ours                   *Peer
	taken                  bool          // Attach was called
	theirs                 chan []byte   // their hello, once
	outcome                chan error    // what became of their Attach, once
	known                  chan struct{} // closed when they know that no more comes
	offered, told, isKnown bool
}

// Limits of what a peer may have a link keep.
const (
	maxFrame  = 1 << 14
	maxName   = 255
	maxOffers = 256
)

// inviter is a Sender or a Receiver.
type inviter interface{ Invite() (*Peer, error) }

// newLink begins with a connection whose handshake is done.
func newLink(conn net.Conn, dialed bool) *Link {
	l := &Link{conn: conn, dialed: dialed, done: make(chan struct{}), slots: map[string]*slot{}}
	l.read.Go(l.listen)
	return l
}

// Attach joins an end with that of the peer that is attached under the same name,
// and waits for it. Where the two do not fit both sides get an error, and the
// link goes on.
func (l *Link) Attach(ctx context.Context, name string, end inviter) (*Peer, error) {
	p, err := l.attach(ctx, name, end)
	if err != nil {
		return nil, fmt.Errorf("attach %q to %v: %w", name, l.conn.RemoteAddr(), err)
	}
	return p, nil
}

func (l *Link) attach(ctx context.Context, name string, end inviter) (*Peer, error) {
	if name == "" || len(name) > maxName {
		return nil, fmt.Errorf("a name of %d bytes: %w", len(name), ErrInvalid)
	}
	s, err := l.take(name)
	if err != nil {
		return nil, err
	}
	p, err := end.Invite()
	if err != nil {
		l.forget(name)
		return nil, errors.Join(err, l.tell(name, err))
	}
	if err := l.join(ctx, name, s, p); err != nil {
		l.forget(name)
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// adopt has what is said of a channel, and the link's end, be told to its peer.
func (l *Link) adopt(s *slot, p *Peer) {
	l.mu.Lock()
	s.ours = p
	ended := l.err
	l.mu.Unlock()
	if ended != nil {
		p.Lost(ended)
	}
}

// take gives the slot of a name to a caller of Attach.
func (l *Link) take(name string) (*slot, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return nil, l.err
	}
	s := l.slot(name)
	if s.taken {
		return nil, ErrBusy
	}
	s.taken = true
	return s, nil
}

// slot is that of a name, made if there is none; mu is held.
func (l *Link) slot(name string) *slot {
	s := l.slots[name]
	if s == nil {
		s = &slot{theirs: make(chan []byte, 1), outcome: make(chan error, 1), known: make(chan struct{})}
		l.slots[name] = s
	}
	return s
}

func (l *Link) forget(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.slots, name)
}

// join exchanges hellos, attaches, and exchanges what came of it.
func (l *Link) join(ctx context.Context, name string, s *slot, p *Peer) error {
	p.finished = func(ctx context.Context, count uint64) error { return l.finish(ctx, name, s, count) }
	if err := l.write(offerFrame, name, p.Hello()); err != nil {
		return err
	}
	theirs, err := await(ctx, l, s.theirs)
	if err != nil {
		return errors.Join(err, l.tell(name, err))
	}
	// They may have told already that they failed, and wait for nobody.
	up, cancel := l.whileUp(ctx)
	ours := p.Attach(up, theirs)
	cancel()
	if ended := l.Err(); ours != nil && ended != nil {
		return fmt.Errorf("%w: %w", ended, ours)
	}
	if ours == nil {
		l.adopt(s, p) // once they know, they may send all, and finish
	}
	if err := l.tell(name, ours); err != nil || ours != nil {
		return errors.Join(ours, err)
	}
	outcome, err := await(ctx, l, s.outcome)
	if err != nil {
		return err
	}
	return outcome
}

// whileUp is a context that ends with the link as well: a device may wait for a peer
// to connect that has died.
func (l *Link) whileUp(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-l.done:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// tell has the peer know what came of an Attach.
func (l *Link) tell(name string, err error) error {
	return l.write(attachedFrame, name, verdictOf(err))
}

// finish tells the peer how many messages there are, and waits until it knows. One
// that has gone itself does not need to.
func (l *Link) finish(ctx context.Context, name string, s *slot, count uint64) error {
	defer l.forget(name)
	if l.write(finishFrame, name, appendCount(nil, count)) != nil {
		return nil
	}
	select {
	case <-s.known:
		return nil
	case <-l.done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// await takes what the peer says.
func await[T any](ctx context.Context, l *Link, c <-chan T) (v T, err error) {
	select {
	case v = <-c:
		return v, nil
	case <-l.done:
		return v, l.Err()
	case <-ctx.Done():
		return v, context.Cause(ctx)
	}
}

// listen takes what the peer says, until the link ends.
func (l *Link) listen() {
	for {
		kind, name, body, err := readFrame(l.conn)
		if err == nil {
			err = l.heard(kind, name, body)
		}
		if err == nil && kind == finishFrame {
			err = l.write(knownFrame, name, nil)
		}
		if err != nil {
			l.end(err)
			return
		}
	}
}

// heard takes one frame.
func (l *Link) heard(kind frameType, name string, body []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.slots) >= maxOffers && l.slots[name] == nil {
		return fmt.Errorf("the peer offers more than %d channels: %w", maxOffers, ErrInvalid)
	}
	switch kind {
	case offerFrame:
		s := l.slot(name)
		if s.offered {
			return fmt.Errorf("the peer offers %q twice: %w", name, ErrInvalid)
		}
		s.offered = true
		s.theirs <- body
	case attachedFrame:
		s := l.slot(name)
		if s.told {
			return fmt.Errorf("the peer attached %q twice: %w", name, ErrInvalid)
		}
		s.told = true
		err := parseVerdict(body)
		if err != nil && !s.offered {
			s.offered = true
			close(s.theirs)
		}
		s.outcome <- err
	case finishFrame:
		count, err := parseCount(body)
		if err != nil {
			return err
		}
		if s := l.slots[name]; s != nil && s.ours != nil {
			s.ours.finish(count)
			delete(l.slots, name)
		}
	case knownFrame:
		if s := l.slots[name]; s != nil && !s.isKnown {
			s.isKnown = true
			close(s.known)
		}
	case refuseFrame:
		return fmt.Errorf("the peer refuses: %q: %w", body, ErrInvalid)
	default:
		return fmt.Errorf("a frame of type %d: %w", kind, ErrInvalid)
	}
	return nil
}

// end is the end of the link, and of all peers that came by it.
func (l *Link) end(err error) {
	switch {
	case errors.Is(err, net.ErrClosed):
		err = ErrClosed
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		err = ErrPeerGone
	case !errors.Is(err, ErrInvalid) && !errors.Is(err, ErrPeerGone):
		err = fmt.Errorf("%w: %w", ErrPeerGone, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return
	}
	l.err = err
	for _, s := range l.slots {
		if s.ours != nil {
			s.ours.Lost(err)
		}
	}
	close(l.done)
}

// Err tells why the link ended, nil as long as it has not.
func (l *Link) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// Done is closed when the link has ended.
func (l *Link) Done() <-chan struct{} { return l.done }

// Close ends the link. To peers that have not left before, it is as if this
// process had died.
func (l *Link) Close() error {
	err := l.conn.Close()
	l.read.Wait()
	return err
}

func (l *Link) write(kind frameType, name string, body []byte) error {
	b, err := frameOf(kind, name, body)
	if err != nil {
		return err
	}
	l.writing.Lock()
	defer l.writing.Unlock()
	if err := l.conn.SetWriteDeadline(time.Now().Add(handshakeTime)); err != nil {
		return err
	}
	switch _, err = l.conn.Write(b); {
	case err == nil:
		return nil
	case errors.Is(err, net.ErrClosed):
		return ErrClosed
	default: // what the peer said last may not have been read yet
		return fmt.Errorf("%w: %w", ErrPeerGone, err)
	}
}
