package channel

import (
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

var failTimes = flag.Int("sharedfails", 6, "how many senders TestSharedProcesses stops, and how many it kills, of each kind")

// swarm is a receiver of processes that send.
type swarm struct {
	*testing.T
	r    *Receiver
	next []uint64 // by sender
	// others are how many messages came that are of no victim.
	others  atomic.Uint64
	victims []atomic.Bool
}

// receive takes messages until the context ends: each sender's in order, none
// missing.
func (c *swarm) receive(ctx context.Context) error {
	for {
		m, err := c.r.Receive(ctx)
		if err != nil {
			return err
		}
		source := m.Source()
		n := binary.LittleEndian.Uint64(m.Bytes())
		m.Release()
		if n != c.next[source] {
			return fmt.Errorf("message %d of sender %d, want %d", n, source, c.next[source])
		}
		c.next[source]++
		if !c.victims[source].Load() {
			c.others.Add(1)
		}
	}
}

// gap is the longest time within a span that nothing of the others came.
func (c *swarm) gap(span time.Duration) (longest time.Duration) {
	n, last := c.others.Load(), time.Now()
	for start := last; time.Since(start) < span; {
		<-time.After(time.Millisecond)
		if m := c.others.Load(); m != n {
			longest, n, last = max(longest, time.Since(last)), m, time.Now()
		}
	}
	return max(longest, time.Since(last))
}

// TestSharedProcesses has 64 processes send to one receiver, and stops some of them
// for a while, and kills some, at any moment: the others go on within 100 ms, and
// nothing is lost, doubled or out of order of all who live.
func TestSharedProcesses(t *testing.T) {
	if onKernel() {
		t.Skip("64 processes take too long on an emulated machine; TestProcesses kills one there")
	}
	for _, kind := range Kinds() {
		if kind.Senders {
			t.Run(kind.Name, func(t *testing.T) { failLive(t, kind) })
		}
	}
}

func failLive(t *testing.T, kind *Kind) {
	const senders = manyProcesses
	dev, err := openLive()
	must(t, err)
	defer dev.Close()
	tr, err := NewTransport(dev)
	must(t, err)
	r, err := tr.NewReceiver(kind, Config{Peers: senders, Slots: 256, Ring: 256 << 10})
	must(t, err)
	list := members(t, kind, r, senders)
	c := &swarm{T: t, r: r, next: make([]uint64, senders), victims: make([]atomic.Bool, senders)}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- c.receive(ctx) }()
	c.gap(100 * time.Millisecond)
	gaps, dead := c.strike(list)
	for i, m := range list {
		if dead[i] {
			continue
		}
		n, said := m.end(t)
		if said != "ok" {
			t.Errorf("sender %d: %s", i, said)
		}
		defer func() {
			if got := c.next[i]; got != n {
				t.Errorf("of sender %d %d messages came of %d", i, got, n)
			}
		}()
	}
	c.gap(300 * time.Millisecond)
	stop()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	slices.Sort(gaps)
	t.Logf("%d messages; nothing came of the others for %v", c.others.Load(), gaps)
	if s := receiverOf(r); s != nil {
		t.Logf("%d epochs, %d closed rings, %d bytes registered", s.now.number, len(s.closed), r.registered)
	}
	// How long it is depends on what else the machine does; that it ends does not.
	if middle := gaps[len(gaps)/2]; middle > 2*time.Second {
		t.Errorf("nothing came of the others for %v", gaps)
	}
	must(t, r.Close())
}

// strike stops members and has them go on later, and kills others. It gives how long
// nothing came after each.
func (c *swarm) strike(list []*member) (gaps []time.Duration, dead []bool) {
	c.Helper()
	seed := uint64(time.Now().UnixNano())
	c.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	dead = make([]bool, len(list))
	order := rnd.Perm(len(list))
	for i := range min(2**failTimes, len(list)/2) {
		victim := order[i]
		c.victims[victim].Store(true)
		kills := i%2 == 0
		signal := syscall.SIGSTOP
		if kills {
			signal, dead[victim] = syscall.SIGKILL, true
		}
		<-time.After(time.Duration(rnd.IntN(5000)) * time.Microsecond)
		must(c, list[victim].cmd.Process.Signal(signal))
		gaps = append(gaps, c.gap(150*time.Millisecond))
		if !kills {
			must(c, list[victim].cmd.Process.Signal(syscall.SIGCONT))
			c.victims[victim].Store(false)
		}
	}
	return gaps, dead
}
