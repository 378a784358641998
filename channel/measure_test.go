package channel

import (
	"errors"
	"fmt"
	"testing"

	"heddle/verbs"
	"heddle/verbs/sim"
)

// TestFeatures measures what each kind declares, on a network where a packet's
// way costs 1 and all else nothing.
func TestFeatures(t *testing.T) {
	for _, kind := range Kinds() {
		t.Run(kind.Name, func(t *testing.T) {
			got, want := measure(t, kind), declared(kind)
			if got != want {
				t.Errorf("measured %+v\ndeclared %+v", got, want)
			}
		})
	}
}

// measured is what can be measured of Features.
type measured struct {
	HRT, SendRequests, RecvRequests int
	Blocking                        bool
	PassiveSender, PassiveReceiver  bool
	CopyRecv                        bool // the message is copied after it came
	MemoryShared                    bool // more senders need no more of the receiver's memory
}

func declared(k *Kind) measured {
	return measured{
		HRT: k.HRT, SendRequests: k.SendRequests, RecvRequests: k.RecvRequests, Blocking: k.Blocking,
		PassiveSender: k.PassiveSender, PassiveReceiver: k.PassiveReceiver,
		CopyRecv: k.CopyRecv == Copies && k.Copying, MemoryShared: k.Senders,
	}
}

// bench is one channel with one peer, whose devices' requests are counted.
type bench struct {
	*world
	s *Sender
	r *Receiver
}

func newBench(t *testing.T, kind *Kind) *bench {
	w := newWorld(t, sim.Config{Clock: sim.Crossings})
	cfg := Config{Linger: 1}
	s, err := w.transport("s").NewSender(kind, cfg)
	if err != nil {
		t.Fatal(err)
	}
	r, err := w.transport("r").NewReceiver(kind, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close(); _ = r.Close() })
	if err := Join(t.Context(), s, r); err != nil {
		t.Fatal(err)
	}
	b := &bench{w, s, r}
	for range 4 { // what is done for the first messages only
		b.send()
		b.receive().Release()
		b.rest()
	}
	return b
}

func (b *bench) send() {
	b.t.Helper()
	if err := b.s.Send(b.t.Context(), make([]byte, 64)); err != nil {
		b.t.Fatal(err)
	}
}

// receive looks for a message between the network's steps.
func (b *bench) receive() Message {
	b.t.Helper()
	for range 1000 {
		m, err := b.r.TryReceive()
		if err == nil {
			return m
		}
		if !errors.Is(err, ErrWouldBlock) {
			b.t.Fatal(err)
		}
		b.net.Step()
	}
	b.t.Fatal("no message comes")
	return Message{}
}

// rest lets all that is under way come to its end, with nobody looking for
// messages.
func (b *bench) rest() { b.net.Settle(10_000) }

// counts are the requests of both sides.
func (b *bench) counts() (s, r [verbs.OpRecvWriteImm + 1]uint64) {
	return b.posted("s"), b.posted("r")
}

func (b *bench) posted(name string) [verbs.OpRecvWriteImm + 1]uint64 {
	devices, err := b.net.Devices()
	if err != nil {
		b.t.Fatal(err)
	}
	for _, d := range devices {
		if d.Name() == name {
			return d.(*sim.Device).Stats().Posted
		}
	}
	b.t.Fatalf("no device %s", name)
	return [verbs.OpRecvWriteImm + 1]uint64{}
}

func sum(after, before [verbs.OpRecvWriteImm + 1]uint64) (n int) {
	for op := range after {
		n += int(after[op] - before[op])
	}
	return n
}

func measure(t *testing.T, kind *Kind) (m measured) {
	b := newBench(t, kind)
	began := b.net.Now()
	b.send()
	b.receive().Release()
	m.HRT = int(b.net.Now() - began)

	// Requests of a message that is there when the receiver looks for it.
	b = newBench(t, kind)
	s0, r0 := b.counts()
	b.send()
	b.rest()
	b.receive().Release()
	b.rest()
	s1, r1 := b.counts()
	m.SendRequests, m.RecvRequests = sum(s1, s0), sum(r1, r0)
	m.PassiveSender = m.SendRequests == 0
	m.Blocking = b.r.p.watch().cq == b.r.recvs && b.r.recvs != nil
	m.PassiveReceiver = m.RecvRequests == 0 && !m.Blocking
	m.CopyRecv = b.r.copied > 0
	m.MemoryShared = kind.Senders && memoryFor(t, kind, 1) == memoryFor(t, kind, 16)
	return m
}

// memoryFor is how much memory receivers of N senders register.
func memoryFor(t *testing.T, kind *Kind, senders int) int {
	w := newWorld(t, sim.Config{})
	tr := w.transport("r")
	r, err := tr.NewReceiver(kind, Config{Peers: 16})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for i := range senders {
		s, err := w.transport(fmt.Sprint("s", i)).NewSender(kind, Config{Linger: 1})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if err := Join(t.Context(), s, r); err != nil {
			t.Fatal(err)
		}
	}
	return r.registered
}

// TestNoAllocs: a message allocates nothing.
func TestNoAllocs(t *testing.T) {
	for _, kind := range Kinds() {
		t.Run(kind.Name, func(t *testing.T) {
			b := newBench(t, kind)
			round := func() {
				l, err := b.s.Reserve(t.Context(), 64)
				if err == nil && kind.Immediate {
					err = l.CommitImm(64, 7)
				} else if err == nil {
					err = l.Commit(64)
				}
				if err != nil {
					t.Fatal(err)
				}
				b.receive().Release()
				b.rest()
			}
			for range 512 {
				round()
			}
			// What others in the process allocate, such as cleanups of earlier tests,
			// is counted as well: what each of several runs has is the message's.
			least := testing.AllocsPerRun(200, round)
			for range 9 {
				least = min(least, testing.AllocsPerRun(200, round))
			}
			if least > 0 {
				t.Errorf("%v allocations a message", least)
			}
		})
	}
}
