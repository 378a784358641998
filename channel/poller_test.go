package channel

import (
	"context"
	"errors"
	"slices"
	"testing"

	"heddle/verbs/sim"
)

// crowd are channels whose receivers wait on one transport.
type crowd struct {
	t         *testing.T
	home      *Transport
	senders   []*Sender
	receivers []*Receiver
}

func newCrowd(t *testing.T, home, away *Transport, kinds []*Kind) *crowd {
	c := &crowd{t: t, home: home}
	for _, kind := range kinds {
		s, err := away.NewSender(kind, Config{Linger: 1})
		if err != nil {
			t.Fatal(err)
		}
		r, err := home.NewReceiver(kind, Config{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close(); _ = r.Close() })
		if err := Join(t.Context(), s, r); err != nil {
			t.Fatal(err)
		}
		c.senders, c.receivers = append(c.senders, s), append(c.receivers, r)
	}
	return c
}

// receive has a receiver wait for its message.
func (c *crowd) receive(ctx context.Context, i int) chan error {
	came := make(chan error, 1)
	go func() {
		m, err := c.receivers[i].Receive(ctx)
		if err == nil && (len(m.Bytes()) != 1 || m.Bytes()[0] != byte(i)) {
			err = errors.New("another one's message")
		}
		m.Release()
		came <- err
	}()
	return came
}

// gather waits until so many wait.
func (c *crowd) gather(n int) {
	for c.home.Stats().Waiting != n {
		if c.t.Context().Err() != nil {
			c.t.Fatal("they do not come to wait")
		}
	}
}

func (c *crowd) send(i int) {
	c.t.Helper()
	if err := c.senders[i].Send(c.t.Context(), []byte{byte(i)}); err != nil {
		c.t.Fatal(err)
	}
}

// TestPoller has several receivers of a transport wait at once, for memory and for
// completions, and each get its message, whoever of them leads.
func TestPoller(t *testing.T) {
	kinds := []*Kind{&ringBell, &ringImm, &slotBell, &sendRecv, &ringFlag, &ringCell}
	for first := range kinds {
		t.Run(kinds[first].Name, func(t *testing.T) {
			order := slices.Concat(kinds[first:], kinds[:first])
			c := newCrowd(t, liveTransport(t), liveTransport(t), order)
			for range 3 {
				var waits []chan error
				for i := range order {
					waits = append(waits, c.receive(t.Context(), i))
					c.gather(i + 1)
				}
				// The first one to wait leads, and is the last to be woken, or the first.
				for _, i := range []int{2, 0, 3, 1, 5, 4} {
					c.send(i)
					if err := <-waits[i]; err != nil {
						t.Errorf("%s: %v", order[i].Name, err)
					}
				}
				c.gather(0)
			}
			if s := c.home.Stats(); s.Waits < uint64(3*len(order)) || s.Woken == 0 {
				t.Errorf("%+v", s)
			}
		})
	}
}

// TestPollerLeaderLeaves has who leads be cancelled, closed and lost: the others
// still get what they wait for.
func TestPollerLeaderLeaves(t *testing.T) {
	for _, test := range []struct {
		name  string
		leave func(*crowd, context.CancelFunc)
		want  error
	}{
		{"cancelled", func(_ *crowd, cancel context.CancelFunc) { cancel() }, context.Canceled},
		{"closed", func(c *crowd, _ context.CancelFunc) { _ = c.receivers[0].Close() }, ErrClosed},
		{"its peer left", func(c *crowd, _ context.CancelFunc) {
			c.receivers[0].mu.Lock()
			p := c.receivers[0].peers[0]
			c.receivers[0].mu.Unlock()
			p.Lost(nil)
		}, ErrPeerGone},
	} {
		for _, kind := range []*Kind{&ringBell, &ringImm} {
			t.Run(test.name+"/"+kind.Name, func(t *testing.T) {
				c := newCrowd(t, liveTransport(t), liveTransport(t), []*Kind{kind, &ringBell, &ringImm, &ringBell})
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				led := c.receive(ctx, 0)
				c.gather(1)
				var waits []chan error
				for i := 1; i < 4; i++ {
					waits = append(waits, c.receive(t.Context(), i))
					c.gather(i + 1)
				}
				test.leave(c, cancel)
				if err := <-led; !errors.Is(err, test.want) {
					t.Errorf("%v, want %v", err, test.want)
				}
				for i, wait := range waits {
					c.send(i + 1)
					if err := <-wait; err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
}

// TestPollerFollowerLeaves has all but the leader be cancelled.
func TestPollerFollowerLeaves(t *testing.T) {
	c := newCrowd(t, liveTransport(t), liveTransport(t), []*Kind{&ringBell, &ringBell, &ringImm})
	led := c.receive(t.Context(), 0)
	c.gather(1)
	for range 20 {
		ctx, cancel := context.WithCancel(t.Context())
		one, two := c.receive(ctx, 1), c.receive(ctx, 2)
		cancel()
		for _, err := range []error{<-one, <-two} {
			if !errors.Is(err, context.Canceled) {
				t.Errorf("%v, want Canceled", err)
			}
		}
	}
	c.send(0)
	if err := <-led; err != nil {
		t.Error(err)
	}
	c.gather(0)
}

// TestPollerInVirtualTime has receivers wait on a simulated network, whose time
// goes on when one of them does.
func TestPollerInVirtualTime(t *testing.T) {
	w := newWorld(t, sim.Config{Seed: 5})
	c := newCrowd(t, w.transport("home"), w.transport("away"), []*Kind{&ringBell, &slotBell, &ringImm})
	for range 10 {
		var waits []chan error
		for i := range c.receivers {
			waits = append(waits, c.receive(t.Context(), i))
		}
		for i := range c.receivers {
			c.send(i)
		}
		for _, wait := range waits {
			if err := <-wait; err != nil {
				t.Error(err)
			}
		}
	}
}

// TestStats: what an end and its transport count can be read while they run.
func TestStats(t *testing.T) {
	home := liveTransport(t)
	c := newCrowd(t, home, liveTransport(t), []*Kind{&ringBell})
	wait := c.receive(t.Context(), 0)
	c.gather(1)
	if s := c.receivers[0].Stats(); s.Stalls != 1 || s.Messages != 0 {
		t.Errorf("of one that waits: %+v", s)
	}
	c.send(0)
	if err := <-wait; err != nil {
		t.Error(err)
	}
	if s := c.receivers[0].Stats(); s.Messages != 1 || s.Bytes != 1 || s.Peers != 1 {
		t.Errorf("of the receiver: %+v", s)
	}
	// Nobody takes these: the head of the ring is asked for.
	s := c.senders[0]
	for {
		l, err := s.TryReserve(s.MaxMessage() / 2)
		if errors.Is(err, ErrWouldBlock) {
			break
		}
		if err == nil {
			err = l.Commit(1)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error, 1)
	go func() { failed <- second(s.Reserve(ctx, s.MaxMessage()/2)) }()
	for {
		if got := s.Stats(); got.Stalls == 1 && got.Retries > 0 && got.Credits > 0 {
			break
		}
		if t.Context().Err() != nil {
			t.Fatalf("%+v", s.Stats())
		}
	}
	cancel()
	if err := <-failed; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
