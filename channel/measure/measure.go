// Package measure reads the metrics of the paper "Efficient RDMA Communication
// Protocols" off simulated networks: how many half round trips a message takes on
// a kind of channel, how many requests each side posts, and how much memory a
// receiver of many senders has. Nothing is taken from what a kind declares.
//
//	row, err := measure.Kind(ctx, kind)
//	fmt.Println(row.HRT, row.Send, row.Recv)
package measure

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"heddle/channel"
	"heddle/verbs"
	"heddle/verbs/sim"
)

// Row is what was measured of a kind.
type Row struct {
	// HRT is how many half round trips pass between Send and the return of Receive,
	// with the message being looked for at every moment, and room for it.
	HRT int
	// Send and Recv are the requests of each side for a message that is there when
	// it is looked for.
	Send, Recv int
	// RoomSend and RoomRecv are the requests of each side beyond these, for a
	// message of a long stream: for credits, heads and tails.
	RoomSend, RoomRecv float64
	// Batch is how many messages of such a stream a request of the receiver is for.
	Batch float64
	// Blocks: the receiver can sleep until a completion comes.
	Blocks bool
	// Copied: the channel copies messages after they came.
	Copied bool
	// Memory and Memory16 are the bytes that receivers of one sender, and of 16,
	// register.
	Memory, Memory16 int
}

// PassiveSender tells that the sender posts nothing for a message.
func (r *Row) PassiveSender() bool { return r.Send == 0 }

// PassiveReceiver tells that the receiver posts nothing, and polls for no
// completion.
func (r *Row) PassiveReceiver() bool { return r.Recv == 0 && !r.Blocks }

// Shared tells that more senders need no more memory of the receiver.
func (r *Row) Shared() bool { return r.Memory16 == r.Memory }

// Kind measures a kind on InfiniBand in order.
func Kind(ctx context.Context, k *channel.Kind) (row Row, err error) {
	for _, step := range []func(context.Context, *channel.Kind) error{row.way, row.requests, row.stream, row.memory} {
		if err := step(ctx, k); err != nil {
			return row, fmt.Errorf("measure channel %s: %w", k.Name, err)
		}
	}
	return row, nil
}

// way counts half round trips.
func (r *Row) way(ctx context.Context, k *channel.Kind) error {
	b, err := newBench(ctx, k, channel.Config{})
	if err != nil {
		return err
	}
	defer b.close()
	began := b.net.Now()
	if err := b.pass(ctx, 64); err != nil {
		return err
	}
	r.HRT = int(b.net.Now() - began)
	return nil
}

// requests counts those of a message that is there.
func (r *Row) requests(ctx context.Context, k *channel.Kind) error {
	b, err := newBench(ctx, k, channel.Config{})
	if err != nil {
		return err
	}
	defer b.close()
	before := b.posted()
	if err := b.s.Send(ctx, make([]byte, 64)); err != nil {
		return err
	}
	b.rest()
	if err := b.receive(); err != nil {
		return err
	}
	b.rest()
	after := b.posted()
	r.Send, r.Recv = after[0]-before[0], after[1]-before[1]
	r.Blocks, r.Copied = b.r.Blocks(), b.r.Stats().Copied > 0
	return nil
}

// stream counts requests of many messages, which go round a small ring, or few
// slots, several times.
func (r *Row) stream(ctx context.Context, k *channel.Kind) error {
	const messages, size = 2000, 512
	b, err := newBench(ctx, k, channel.Config{Slots: 64, Size: size, Ring: 64 << 10})
	if err != nil {
		return err
	}
	defer b.close()
	before := b.posted()
	for sent, got := 0, 0; got < messages; {
		var moved bool
		for range 8 {
			if sent == messages {
				break
			}
			l, err := b.s.TryReserve(size)
			if errors.Is(err, channel.ErrWouldBlock) {
				break
			}
			if err == nil {
				err = l.Commit(size)
			}
			if err != nil {
				return err
			}
			sent++
			moved = true
		}
		for {
			m, err := b.r.TryReceive()
			if errors.Is(err, channel.ErrWouldBlock) {
				break
			}
			if err != nil {
				return err
			}
			m.Release()
			got++
			moved = true
		}
		if !b.net.Step() && !moved && ctx.Err() != nil {
			return ctx.Err()
		}
	}
	after := b.posted()
	r.RoomSend = float64(after[0]-before[0])/messages - float64(r.Send)
	recv := float64(after[1]-before[1]) / messages
	r.RoomRecv = max(recv-float64(r.Recv), 0)
	if recv > 0 && recv < float64(r.Recv) {
		r.Batch = float64(r.Recv) / recv
	}
	return nil
}

// memory sees how it grows with the senders.
func (r *Row) memory(ctx context.Context, k *channel.Kind) (err error) {
	if r.Memory, err = memoryFor(ctx, k, 1); err != nil {
		return err
	}
	r.Memory16 = 16 * r.Memory // a channel each
	if k.Senders {
		r.Memory16, err = memoryFor(ctx, k, 16)
	}
	return err
}

func memoryFor(ctx context.Context, k *channel.Kind, senders int) (int, error) {
	net, err := sim.New(sim.Config{})
	if err != nil {
		return 0, err
	}
	defer net.Close()
	t, err := transport(net, "r")
	if err != nil {
		return 0, err
	}
	r, err := t.NewReceiver(k, channel.Config{Peers: 16})
	if err != nil {
		return 0, err
	}
	defer r.Close()
	for i := range senders {
		t, err := transport(net, strconv.Itoa(i))
		if err != nil {
			return 0, err
		}
		s, err := t.NewSender(k, channel.Config{Linger: 1})
		if err != nil {
			return 0, err
		}
		defer s.Close()
		if err := channel.Join(ctx, s, r); err != nil {
			return 0, err
		}
	}
	return r.Stats().Memory, nil
}

func transport(net *sim.Network, name string) (*channel.Transport, error) {
	dev, err := net.Add(name)
	if err != nil {
		return nil, err
	}
	ctx, err := dev.Open()
	if err != nil {
		return nil, err
	}
	return channel.NewTransport(ctx)
}

// bench is a channel on a network in which a packet's way costs 1 and all else
// nothing, of one goroutine.
type bench struct {
	net *sim.Network
	s   *channel.Sender
	r   *channel.Receiver
}

func newBench(ctx context.Context, k *channel.Kind, cfg channel.Config) (b *bench, err error) {
	b = &bench{}
	defer func() {
		if err != nil {
			b.close()
		}
	}()
	if b.net, err = sim.New(sim.Config{Clock: sim.Crossings}); err != nil {
		return b, err
	}
	cfg.Linger = 1
	t, err := transport(b.net, "s")
	if err != nil {
		return b, err
	}
	if b.s, err = t.NewSender(k, cfg); err != nil {
		return b, err
	}
	if t, err = transport(b.net, "r"); err != nil {
		return b, err
	}
	if b.r, err = t.NewReceiver(k, cfg); err != nil {
		return b, err
	}
	if err := channel.Join(ctx, b.s, b.r); err != nil {
		return b, err
	}
	for range 4 { // what is done for the first messages only
		if err := b.pass(ctx, 64); err != nil {
			return b, err
		}
		b.rest()
	}
	return b, nil
}

func (b *bench) close() {
	if b.s != nil {
		_ = b.s.Close()
	}
	if b.r != nil {
		_ = b.r.Close()
	}
	if b.net != nil {
		_ = b.net.Close()
	}
}

// pass sends a message and receives it.
func (b *bench) pass(ctx context.Context, n int) error {
	if err := b.s.Send(ctx, make([]byte, n)); err != nil {
		return err
	}
	return b.receive()
}

// receive looks for a message between the network's steps.
func (b *bench) receive() error {
	for range 10_000 {
		m, err := b.r.TryReceive()
		if err == nil {
			m.Release()
			return nil
		}
		if !errors.Is(err, channel.ErrWouldBlock) {
			return err
		}
		b.net.Step()
	}
	return errors.New("a message does not come")
}

// rest lets all that is under way come to its end.
func (b *bench) rest() { b.net.Settle(10_000) }

// posted are the requests of the sender's device and the receiver's.
func (b *bench) posted() (n [2]int) {
	devices, err := b.net.Devices()
	if err != nil {
		return n
	}
	for _, d := range devices {
		stats := d.(*sim.Device).Stats()
		sum := 0
		for op := verbs.OpSend; op <= verbs.OpRecv; op++ {
			sum += int(stats.Posted[op])
		}
		n[map[string]int{"s": 0, "r": 1}[d.Name()]] = sum
	}
	return n
}
