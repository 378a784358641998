package perf

import (
	"context"
	"errors"
	"fmt"

	"heddle/channel"
)

// outlet is a sender.
type outlet struct {
	s      *channel.Sender
	size   int
	own    []byte // what is sent, where it is copied
	number uint64 // of the last message that is compared
	// together are committed together, waits are those of them that wait.
	together, waits int
}

// pass sends a message; one that is compared has bytes that go by its number.
func (o *outlet) pass(ctx context.Context, check bool) error {
	switch {
	case check:
		return o.passFilled(ctx)
	case o.own != nil:
		return o.s.Send(ctx, o.own)
	}
	l, err := o.s.Reserve(ctx, o.size)
	if err != nil {
		return err
	}
	if o.waits+1 < o.together {
		o.waits++
		return l.CommitMore(o.size)
	}
	o.waits = 0
	return l.Commit(o.size)
}

func (o *outlet) passFilled(ctx context.Context) error {
	o.number++
	if o.own != nil {
		write(o.own, o.number)
		return o.s.Send(ctx, o.own)
	}
	l, err := o.s.Reserve(ctx, o.size)
	if err != nil {
		return err
	}
	write(l.Bytes(), o.number)
	return l.Commit(o.size)
}

// finish sends an empty message: the last of a phase.
func (o *outlet) finish(ctx context.Context) error {
	l, err := o.s.Reserve(ctx, 0)
	if err != nil {
		return err
	}
	return l.Commit(0)
}

// inlet is a receiver.
type inlet struct {
	r       *channel.Receiver
	size    int
	own     []byte          // what messages are to come to, if anything
	into    *channel.Buffer // of own, where messages can come to it without a copy
	sources int
	numbers []uint64 // by peer, of the last message that was compared
	ended   bool     // of a phase of several
}

// take waits for a message, and gives its length.
func (in *inlet) take(ctx context.Context, check bool) (int, error) {
	if in.into != nil {
		n, err := in.r.ReceiveInto(ctx, in.into, 0, in.size)
		if err == nil && check && n > 0 {
			err = in.compare(in.own[:n], 0)
		}
		return n, err
	}
	m, err := in.r.Receive(ctx)
	if err != nil {
		return 0, err
	}
	return in.done(m, check)
}

// done copies a message, if it is to be, and gives it back.
func (in *inlet) done(m channel.Message, check bool) (n int, err error) {
	b := m.Bytes()
	if in.own != nil {
		b = in.own[:copy(in.own, b)]
	}
	if n = len(b); check && n > 0 {
		err = in.compare(b, m.Source())
	}
	m.Release()
	return n, err
}

// look takes a message if there is one.
func (in *inlet) look(check bool) (n int, ok bool, err error) {
	m, err := in.r.TryReceive()
	switch {
	case errors.Is(err, channel.ErrWouldBlock):
		return 0, false, nil
	case err != nil:
		return 0, false, err
	}
	n, err = in.done(m, check)
	return n, true, err
}

func (in *inlet) compare(b []byte, source int) error {
	in.numbers[source]++
	number := in.numbers[source]
	if len(b) != in.size {
		return fmt.Errorf("message %d has %d bytes, and not %d", uint32(number), len(b), in.size)
	}
	for i, got := range b {
		if want := pattern(number, i); got != want {
			return fmt.Errorf("message %d: byte %d of %d is %#02x, and not %#02x", uint32(number), i, len(b), got, want)
		}
	}
	return nil
}

// write makes the bytes of a message that is compared.
func write(b []byte, number uint64) {
	for i := range b {
		b[i] = pattern(number, i)
	}
}
