package channel

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"heddle/verbs/sim"
)

// newPair is a sender and a receiver of a kind on a network of a profile.
func newPair(t *testing.T, kind *Kind, profile sim.Profile, cfg Config) *bench {
	t.Helper()
	w := newWorld(t, sim.Config{Profile: profile})
	cfg.Linger = 1
	r, err := w.transport("r").NewReceiver(kind, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() }) //nolint:errcheck // the peer may be gone
	return &bench{w, w.joined(kind, "s", r), r}
}

// joined is one more sender of a receiver.
func (w *world) joined(kind *Kind, name string, r *Receiver) *Sender {
	w.t.Helper()
	s, err := w.transport(name).NewSender(kind, Config{Linger: 1})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { s.Close() }) //nolint:errcheck // the peer may be gone
	if err := Join(w.t.Context(), s, r); err != nil {
		w.t.Fatal(err)
	}
	return s
}

// send sends a message by a sender that has room.
func send(t *testing.T, s *Sender, message string) {
	t.Helper()
	l, err := s.TryReserve(len(message))
	if err == nil {
		err = l.Commit(copy(l.Bytes(), message))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// slotKinds are those whose messages are of one size at most.
func slotKinds() (kinds []*Kind) {
	for _, k := range Kinds() {
		if k.Family == SendRecv || k.Family == WriteSlot {
			kinds = append(kinds, k)
		}
	}
	return kinds
}

// TestLengths: a message of no bytes, of one byte and of all bytes that there are;
// one byte more is refused, with what would fit.
func TestLengths(t *testing.T) {
	for _, kind := range slotKinds() {
		t.Run(kind.Name, func(t *testing.T) {
			b := newPair(t, kind, sim.InOrder(), Config{Slots: 4, Size: 1001})
			for i, n := range []int{0, 1, 7, 1001, 0, 8} {
				want := bytes.Repeat([]byte{byte(i + 1)}, n)
				if err := b.s.Send(t.Context(), want); err != nil {
					t.Fatal(err)
				}
				m := b.receive()
				if !bytes.Equal(m.Bytes(), want) {
					t.Errorf("%d bytes: got %x", n, m.Bytes())
				}
				m.Release()
			}
			var long *LengthError
			if _, err := b.s.TryReserve(1002); !errors.As(err, &long) || long.Limit != 1001 || b.s.MaxMessage() != 1001 {
				t.Errorf("1002 bytes: %v", err)
			}
		})
	}
}

// TestReserveWaits: where nobody receives it is Reserve that finds no room, never
// Commit, which no context ends.
func TestReserveWaits(t *testing.T) {
	for _, kind := range slotKinds() {
		t.Run(kind.Name, func(t *testing.T) {
			b := newPair(t, kind, sim.InOrder(), Config{Slots: 256, Size: 64})
			for range 1000 {
				l, err := b.s.TryReserve(8)
				if errors.Is(err, ErrWouldBlock) {
					return
				}
				if err == nil {
					err = l.Commit(8)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			t.Error("there is room without an end")
		})
	}
}

// TestCommitImm: a number beside the message comes with it, and the next message
// has none. Where the device has no immediates that is told, and the lease can
// still be sent without.
func TestCommitImm(t *testing.T) {
	for _, kind := range slotKinds() {
		if !kind.Immediate {
			continue
		}
		for _, profile := range sim.Profiles() {
			caps := profile.Caps()
			if kind.Missing(&caps) != nil {
				continue
			}
			t.Run(kind.Name+"/"+profile.Name, func(t *testing.T) {
				b := newPair(t, kind, profile, Config{})
				l, err := b.s.TryReserve(1)
				if err != nil {
					t.Fatal(err)
				}
				want := kind.missingImm(&caps) == nil
				err = l.CommitImm(1, 1<<31)
				if !want {
					var r *Refusal
					if !errors.As(err, &r) || r.Op != kind.Needs.Imm {
						t.Fatalf("%v, want a refusal", err)
					}
					err = l.Commit(1)
				}
				if err != nil {
					t.Fatal(err)
				}
				if imm, ok := b.receive().Imm(); ok != want || want && imm != 1<<31 {
					t.Errorf("%d, %v", imm, ok)
				}
				send(t, b.s, "x")
				if _, ok := b.receive().Imm(); ok {
					t.Error("a number that was not sent")
				}
			})
		}
	}
}

// TestCreditsOfOne: a receiver that keeps all messages but one, and gives that one
// back, does not stop its sender.
func TestCreditsOfOne(t *testing.T) {
	for _, kind := range slotKinds() {
		t.Run(kind.Name, func(t *testing.T) {
			const slots = 16
			b := newPair(t, kind, sim.InOrder(), Config{Slots: slots, Size: 64})
			var held []Message
			for range slots - 1 {
				send(t, b.s, "kept")
				held = append(held, b.receive())
			}
			for i := range 100 {
				want := fmt.Sprint("message ", i)
				for {
					l, err := b.s.TryReserve(len(want))
					if err == nil {
						if err := l.Commit(copy(l.Bytes(), want)); err != nil {
							t.Fatal(err)
						}
						break
					}
					if !errors.Is(err, ErrWouldBlock) || !b.net.Step() {
						t.Fatalf("message %d: %v, and nothing more happens", i, err)
					}
				}
				m := b.receive()
				if string(m.Bytes()) != want {
					t.Fatalf("%q, want %q", m.Bytes(), want)
				}
				m.Release()
			}
			for _, m := range held {
				if string(m.Bytes()) != "kept" {
					t.Fatalf("a message that was kept has become %q", m.Bytes())
				}
				m.Release()
			}
		})
	}
}

// TestSharedSenderLeaves: a sender that leaves between two packets of a message
// takes no buffer along, and what it sent before is received, as is what others
// send.
func TestSharedSenderLeaves(t *testing.T) {
	kind, err := Find("send-shared")
	if err != nil {
		t.Fatal(err)
	}
	const slots = 2
	b := newPair(t, kind, sim.IWARP(), Config{Slots: slots, Size: 3000, Peers: 2})
	for i := range 50 {
		leaving := b.joined(kind, fmt.Sprint("l", i), b.r)
		send(t, leaving, "whole")
		for range b.rnd.IntN(20) {
			b.net.Step()
		}
		l, err := leaving.TryReserve(3000)
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Commit(3000); err != nil {
			t.Fatal(err)
		}
		for range b.rnd.IntN(40) {
			b.net.Step()
		}
		if err := errors.Join(b.r.peers[1].Close(), leaving.Close()); err != nil {
			t.Fatal(err)
		}
		for m, err := b.r.TryReceive(); err == nil; m, err = b.r.TryReceive() {
			if m.Source() != 1 || len(m.Bytes()) != 5 && len(m.Bytes()) != 3000 {
				t.Fatalf("%d bytes of %d", len(m.Bytes()), m.Source())
			}
			m.Release()
		}
	}
	for range slots {
		send(t, b.s, "stays")
	}
	for range slots {
		if m := b.receive(); m.Source() != 0 || string(m.Bytes()) != "stays" {
			t.Errorf("%q of %d", m.Bytes(), m.Source())
		}
	}
}
