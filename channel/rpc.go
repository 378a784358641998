package channel

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"
)

// Requests and replies over a channel each way. A message is the number of the
// call (8 bytes, little endian), whose highest bit is set in the reply of a
// handler that failed, and what is asked or answered.

const (
	callHeader = 8
	callFailed = 1 << 63
)

// RemoteError is what a handler of the other side failed with.
type RemoteError string

func (e RemoteError) Error() string { return string(e) }

// Caller asks the other side, which is in [Serve]. Calls may be made by any
// goroutine, many at once.
type Caller struct {
	s *Sender
	r *Receiver

	sending chan struct{} // holds one: whose turn it is
	done    chan struct{} // closed when no reply can come any more
	work    sync.WaitGroup
	stop    context.CancelFunc

	mu    sync.Mutex
	next  uint64                 // guarded by mu, as all below
	calls map[uint64]chan answer // that wait
	err   error
}

type answer struct {
	data []byte
	err  error
}

// NewCaller makes a caller of a sender and a receiver with one peer each, which it
// closes in the end.
func NewCaller(s *Sender, r *Receiver) *Caller {
	ctx, stop := context.WithCancel(context.Background())
	c := &Caller{s: s, r: r, sending: make(chan struct{}, 1), done: make(chan struct{}), calls: map[uint64]chan answer{}, stop: stop}
	c.work.Go(func() { c.listen(ctx) })
	return c
}

// Call sends a request, and waits for its reply. A handler's error is a
// RemoteError. When the context is done, the reply is dropped when it comes.
func (c *Caller) Call(ctx context.Context, request []byte) ([]byte, error) {
	number, wait, err := c.begin()
	if err != nil {
		return nil, err
	}
	defer c.forget(number)
	if err := c.ask(ctx, number, request); err != nil {
		return nil, err
	}
	select {
	case a := <-wait:
		return a.data, a.err
	case <-c.done:
		return nil, c.failure()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (c *Caller) begin() (uint64, chan answer, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return 0, nil, c.err
	}
	c.next++
	wait := make(chan answer, 1)
	c.calls[c.next] = wait
	return c.next, wait, nil
}

func (c *Caller) forget(number uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.calls, number)
}

func (c *Caller) failure() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// ask sends a request when it is its turn.
func (c *Caller) ask(ctx context.Context, number uint64, request []byte) error {
	select {
	case c.sending <- struct{}{}:
		defer func() { <-c.sending }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return sendCall(ctx, c.s, number, request)
}

func sendCall(ctx context.Context, s *Sender, number uint64, data []byte) error {
	l, err := s.Reserve(ctx, callHeader+len(data))
	if err != nil {
		return err
	}
	binary.LittleEndian.PutUint64(l.Bytes(), number)
	copy(l.Bytes()[callHeader:], data)
	return l.Commit(callHeader + len(data))
}

// listen takes replies.
func (c *Caller) listen(ctx context.Context) {
	for {
		m, err := c.r.Receive(ctx)
		if err == nil {
			err = c.answer(m.Bytes())
			m.Release()
		}
		if err != nil {
			c.end(err)
			return
		}
	}
}

func (c *Caller) answer(b []byte) error {
	if len(b) < callHeader {
		return fmt.Errorf("a reply of %d bytes: %w", len(b), ErrInvalid)
	}
	number := binary.LittleEndian.Uint64(b)
	c.mu.Lock()
	wait := c.calls[number&^callFailed]
	delete(c.calls, number&^callFailed)
	c.mu.Unlock()
	if wait == nil {
		return nil // of a call that waits no more
	}
	if number&callFailed != 0 {
		wait <- answer{err: RemoteError(b[callHeader:])}
	} else {
		wait <- answer{data: append([]byte(nil), b[callHeader:]...)}
	}
	return nil
}

func (c *Caller) end(err error) {
	if errors.Is(err, io.EOF) {
		err = ErrPeerGone
	}
	if errors.Is(err, context.Canceled) {
		err = ErrClosed
	}
	c.mu.Lock()
	c.err = fmt.Errorf("call: %w", err)
	c.mu.Unlock()
	close(c.done)
}

// Close ends it, and both channels. Calls that wait get ErrClosed.
func (c *Caller) Close() error {
	c.stop()
	c.work.Wait()
	return errors.Join(c.s.Close(), c.r.Close())
}

// Handler answers a request, which is not its own after it has returned: it
// appends the reply to what it is given.
type Handler func(ctx context.Context, request, reply []byte) ([]byte, error)

// Serve answers requests one after the other, until the peer has closed its
// sender, which gives nil, or something fails.
func Serve(ctx context.Context, r *Receiver, s *Sender, handle Handler) error {
	var reply []byte
	for {
		m, err := r.Receive(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if len(m.Bytes()) < callHeader {
			m.Release()
			return fmt.Errorf("serve: a request of %d bytes: %w", len(m.Bytes()), ErrInvalid)
		}
		number := binary.LittleEndian.Uint64(m.Bytes())
		reply, err = handle(ctx, m.Bytes()[callHeader:], reply[:0])
		m.Release()
		if err != nil {
			number |= callFailed
			reply = append(reply[:0], err.Error()...)
		}
		if limit := s.MaxMessage() - callHeader; len(reply) > limit {
			number |= callFailed
			reply = fmt.Appendf(reply[:0], "%v: a reply of %d bytes, the limit is %d", ErrTooLarge, len(reply), limit)
		}
		if err := sendCall(ctx, s, number, reply); err != nil {
			return err
		}
	}
}
