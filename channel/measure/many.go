package measure

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"heddle/channel"
	"heddle/verbs/sim"
)

// Crowd is what was measured of channels with many at one end. Rings have 64 KiB,
// slots are 64 of 512 bytes, as long as the messages are.
type Crowd struct {
	// Send and Recv are the requests that all senders, and all receivers, post
	// for a message of a long stream.
	Send, Recv float64
	// Memory are the bytes that all receivers register.
	Memory int
}

// Senders measures n senders and who receives from all of them: over one channel
// where the kind can have many senders, and else over one for each.
func Senders(ctx context.Context, k *channel.Kind, n int) (Crowd, error) {
	receivers := n
	if k.Senders {
		receivers = 1
	}
	return many(ctx, k, n, receivers, false)
}

// Readers measures who sends each message to n readers: over one channel where
// the kind can have many readers, and else over one for each.
func Readers(ctx context.Context, k *channel.Kind, n int) (Crowd, error) {
	senders := n
	if k.Readers {
		senders = 1
	}
	return many(ctx, k, senders, n, true)
}

func many(ctx context.Context, k *channel.Kind, senders, receivers int, alike bool) (m Crowd, err error) {
	c := &crowd{kind: k, alike: alike, each: max(20, 1000/max(senders, receivers))}
	if c.net, err = sim.New(sim.Config{Clock: sim.Crossings}); err != nil {
		return m, err
	}
	defer c.close()
	err = c.make(ctx, senders, receivers)
	if err == nil {
		m, err = c.measure(ctx)
	}
	if err != nil {
		return m, fmt.Errorf("measure channel %s, %d senders, %d receivers: %w", k.Name, senders, receivers, err)
	}
	return m, nil
}

// crowd is many ends on a network, of one goroutine.
type crowd struct {
	net   *sim.Network
	kind  *channel.Kind
	alike bool // each message goes to all receivers
	each  int  // messages of a sender

	senders   []*channel.Sender
	receivers []*channel.Receiver
}

const crowdSize = 512

func (c *crowd) make(ctx context.Context, senders, receivers int) error {
	cfg := func(peers int) channel.Config {
		return channel.Config{Size: crowdSize, Ring: 64 << 10, Peers: peers, Linger: 1}
	}
	for i := range senders {
		t, err := transport(c.net, "s"+strconv.Itoa(i))
		if err != nil {
			return err
		}
		s, err := t.NewSender(c.kind, cfg(receivers))
		if err != nil {
			return err
		}
		c.senders = append(c.senders, s)
	}
	for i := range receivers {
		t, err := transport(c.net, "r"+strconv.Itoa(i))
		if err != nil {
			return err
		}
		r, err := t.NewReceiver(c.kind, cfg(senders))
		if err != nil {
			return err
		}
		c.receivers = append(c.receivers, r)
	}
	for i := range max(senders, receivers) {
		if err := channel.Join(ctx, c.senders[i%senders], c.receivers[i%receivers]); err != nil {
			return err
		}
	}
	return nil
}

func (c *crowd) close() {
	for _, s := range c.senders {
		_ = s.Close()
	}
	for _, r := range c.receivers {
		_ = r.Close()
	}
	_ = c.net.Close()
}

// measure sends messages and takes them between the steps of the network.
func (c *crowd) measure(ctx context.Context) (m Crowd, err error) {
	sent := make([]int, len(c.senders))
	messages := c.each * len(c.senders)
	want := messages
	if c.alike {
		messages, want = c.each, c.each*len(c.receivers)
	}
	send, recv := c.posted()
	for got := 0; got < want; c.net.Step() {
		for i, s := range c.senders {
			if err := c.push(s, &sent[i]); err != nil {
				return m, err
			}
		}
		for _, r := range c.receivers {
			n, err := pull(r)
			if err != nil {
				return m, err
			}
			got += n
		}
		if ctx.Err() != nil {
			return m, context.Cause(ctx)
		}
	}
	sends, recvs := c.posted()
	m.Send, m.Recv = float64(sends-send)/float64(messages), float64(recvs-recv)/float64(messages)
	for _, r := range c.receivers {
		m.Memory += r.Stats().Memory
	}
	return m, nil
}

// push sends a message, if there is room.
func (c *crowd) push(s *channel.Sender, sent *int) error {
	if *sent == c.each {
		return nil
	}
	l, err := s.TryReserve(crowdSize)
	switch {
	case errors.Is(err, channel.ErrWouldBlock):
		return nil
	case err != nil:
		return err
	}
	*sent++
	return l.Commit(crowdSize)
}

// pull takes what there is.
func pull(r *channel.Receiver) (n int, err error) {
	for {
		m, err := r.TryReceive()
		switch {
		case errors.Is(err, channel.ErrWouldBlock):
			return n, nil
		case err != nil:
			return n, err
		}
		m.Release()
		n++
	}
}

// posted are the requests of all senders' devices, and of all receivers'.
func (c *crowd) posted() (send, recv uint64) {
	devices, err := c.net.Devices()
	if err != nil {
		return 0, 0
	}
	for _, d := range devices {
		stats := d.(*sim.Device).Stats()
		if strings.HasPrefix(d.Name(), "s") {
			send += stats.Requests()
		} else {
			recv += stats.Requests()
		}
	}
	return send, recv
}
