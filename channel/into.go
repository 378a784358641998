package channel

import (
	"context"
	"fmt"

	"heddle/verbs"
)

// Buffer is memory of the caller's that messages can be received into. Its
// methods may be called by any goroutine.
type Buffer struct {
	region *region
	t      *Transport
}

// Register lets messages be received into memory, by Receiver.ReceiveInto. The
// memory stays the caller's, and is closed after the buffer.
func (t *Transport) Register(mem *verbs.Memory) (*Buffer, error) {
	mr, err := t.pd.RegisterMR(mem, verbs.LocalWrite)
	if err != nil {
		return nil, fmt.Errorf("register %d bytes: %w", mem.Size(), err)
	}
	return &Buffer{&region{mem: mem, mr: mr, b: mem.Bytes()}, t}, nil
}

// Bytes is the memory.
func (b *Buffer) Bytes() []byte { return b.region.b }

// Close takes the memory from the device. No ReceiveInto may be under way.
func (b *Buffer) Close() error { return b.region.free() }

// intoer is a receiver that can have messages come to memory of the caller's.
type intoer interface {
	receiveInto(to *region, offset, n int) (int, error)
	// holds tells whether that memory is the device's.
	holds() bool
}

// ReceiveInto waits for the next message, and has it come to n bytes of a buffer
// of the same transport, from an offset on. It gives the message's length; the
// message is not to be released. There is no copy, but of messages that a Receive
// before has had fetched ahead. It is of the kinds fetch-flag and fetch-send; of
// others the error wraps ErrNotSupported.
//
// A message that is longer than n gives a *LengthError, and stays. From when the
// device is told of the memory until it is done with it, which is a matter of a
// round trip or of the device's retries, the end of the context is not heeded.
func (r *Receiver) ReceiveInto(ctx context.Context, to *Buffer, offset, n int) (int, error) {
	p, ok := r.p.(intoer)
	switch {
	case !ok:
		return 0, r.fail("receive", fmt.Errorf("into memory of the caller's: %w", ErrNotSupported))
	case to == nil || to.t != r.t || offset < 0 || n < 0 || n > len(to.region.b)-offset:
		return 0, r.fail("receive", fmt.Errorf("into %d bytes from %d of a buffer: %w", n, offset, ErrInvalid))
	}
	var armed verbs.CQ
	for r.pause.reset(); ; {
		got, held, err := r.tryInto(p, to.region, offset, n)
		if !blocked(err) {
			return got, r.fail("receive", err)
		}
		until := ctx
		if held {
			until = context.Background()
		}
		if armed, err = r.wait(until, armed); err != nil {
			return 0, r.fail("receive", err)
		}
	}
}

func (r *Receiver) tryInto(p intoer, to *region, offset, n int) (got int, held bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed.Load() {
		return 0, false, ErrClosed
	}
	got, err = p.receiveInto(to, offset, n)
	return got, p.holds(), err
}
