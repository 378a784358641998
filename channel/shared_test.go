package channel

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"heddle/verbs"
	"heddle/verbs/sim"
)

// sharedRings are the kinds with a ring of many senders.
func sharedRings() (list []*Kind) {
	for _, k := range Kinds() {
		if k.Senders && k.Memory == RingShared {
			list = append(list, k)
		}
	}
	return list
}

// senderOf and receiverOf are what the kinds share.
func senderOf(s *Sender) *sharedRingSender {
	switch p := s.p.(type) {
	case *sharedBellSender:
		return p.sharedRingSender
	case *sharedFlagSender:
		return p.sharedRingSender
	case *sharedImmSender:
		return p.sharedRingSender
	case *sharedCellSender:
		return p.sharedRingSender
	}
	return nil
}

func receiverOf(r *Receiver) *sharedRing {
	switch p := r.p.(type) {
	case *sharedBellReceiver:
		return p.sharedRing
	case *sharedFlagReceiver:
		return p.sharedRing
	case *sharedImmReceiver:
		return p.sharedRing
	case *sharedCellReceiver:
		return p.sharedRing
	}
	return nil
}

// reserveTry tries for a while to reserve.
func (w *world) reserveTry(s *Sender, n int) Lease {
	w.t.Helper()
	for range 1000 {
		l, err := s.TryReserve(n)
		if err == nil {
			return l
		}
		if !errors.Is(err, ErrWouldBlock) {
			w.t.Fatal(err)
		}
	}
	w.t.Fatal("no room")
	return Lease{}
}

func (w *world) nothingComes(r *Receiver, why string) {
	w.t.Helper()
	for range 200 {
		if m, err := r.TryReceive(); !errors.Is(err, ErrWouldBlock) {
			w.t.Fatalf("%q, %v: %s", m.Bytes(), err, why)
		}
		w.net.Step()
	}
}

// TestSharedOwed has a sender not send what it has a place for, in each way that
// there is: the others' messages come, in the order of their places.
func TestSharedOwed(t *testing.T) {
	for what, end := range map[string]func(*testing.T, *Sender, *Lease){
		"aborts":            func(_ *testing.T, _ *Sender, l *Lease) { l.Abort() },
		"closes with it":    func(t *testing.T, s *Sender, _ *Lease) { must(t, s.Close()) },
		"commits less":      func(t *testing.T, _ *Sender, l *Lease) { must(t, l.Commit(0)) },
		"tries no more":     nil,
		"needs more":        nil,
		"waits and is told": nil,
	} {
		for _, kind := range sharedRings() {
			t.Run(kind.Name+"/"+what, func(t *testing.T) {
				b := newPair(t, kind, sim.InOrder(), Config{Ring: 4096, Stall: time.Hour})
				b.s.cfg.Linger = 1e9
				other := b.joined(kind, "other", b.r)
				var lease Lease
				if end != nil {
					lease = b.reserveTry(b.s, 1000)
				} else if _, err := b.s.TryReserve(1000); !errors.Is(err, ErrWouldBlock) {
					t.Fatal(err)
				}
				must(t, b.reserveTry(other, 5).Commit(5))
				b.nothingComes(b.r, "it comes before one that has a place before it")
				switch what {
				case "tries no more":
					must(t, b.s.Flush(t.Context()))
				case "needs more":
					b.reserveTry(b.s, 1500).Abort()
				case "waits and is told":
					ctx, cancel := context.WithCancel(t.Context())
					cancel()
					b.s.forsake()
					b.s.forsake() // once is enough
					if _, err := b.s.Reserve(ctx, 1700); err != nil && !errors.Is(err, context.Canceled) {
						t.Fatal(err)
					}
					if b.s.leased >= 0 {
						Lease{s: b.s}.Abort()
					}
					b.waitPaid(b.s)
				default:
					end(t, b.s, &lease)
				}
				if what == "commits less" {
					b.receive().Release()
				}
				m := b.receive()
				if len(m.Bytes()) != 5 || m.Source() != 1 {
					t.Errorf("%d bytes of peer %d", len(m.Bytes()), m.Source())
				}
				m.Release()
				b.s.cfg.Linger = 1
				// All of the ring can be used.
				for range 8 {
					must(t, b.reserveTry(other, other.MaxMessage()).Commit(other.MaxMessage()))
					b.receive().Release()
				}
			})
		}
	}
}

// waitPaid waits for what is paid in the background, in real time.
func (w *world) waitPaid(s *Sender) {
	w.t.Helper()
	for start := time.Now(); ; w.net.Step() {
		s.mu.Lock()
		paying := senderOf(s).paying
		s.mu.Unlock()
		if !paying {
			return
		}
		if time.Since(start) > patience {
			w.t.Fatal("it is not paid")
		}
		runtime.Gosched()
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestSharedTooLong: what the ring cannot hold is refused before it has a place.
func TestSharedTooLong(t *testing.T) {
	for _, kind := range sharedRings() {
		b := newPair(t, kind, sim.InOrder(), Config{Ring: 4096})
		var tooLong *LengthError
		if _, err := b.s.TryReserve(b.s.MaxMessage() + 1); !errors.As(err, &tooLong) {
			t.Errorf("%s: %v, want a LengthError", kind.Name, err)
		}
		if n := b.posted("s")[verbs.OpFetchAdd]; n != 0 {
			t.Errorf("%s: %d FETCH_AND_ADDs for it", kind.Name, n)
		}
	}
}

// TestSharedSpoilt has a peer write a record that cannot be: the receiver says
// whose it is, and all others are told.
func TestSharedSpoilt(t *testing.T) {
	for _, kind := range sharedRings() {
		t.Run(kind.Name, func(t *testing.T) {
			b := newPair(t, kind, sim.InOrder(), Config{Ring: 4096})
			bad := b.joined(kind, "bad", b.r)
			b.reserveTry(bad, 100).Abort()
			l := b.reserveTry(bad, 100)
			claim := &senderOf(bad).claim
			claim.cells = 40 // more than half of the ring; what is before it was skipped
			must(t, l.Commit(100))
			var err error
			for range 1000 {
				if _, err = b.r.TryReceive(); !errors.Is(err, ErrWouldBlock) {
					break
				}
				b.net.Step()
			}
			if !errors.Is(err, ErrInvalid) || !errors.Is(err, ErrPeerGone) || !strings.Contains(err.Error(), "peer 1") {
				t.Errorf("%v, want ErrInvalid of peer 1", err)
			}
			for range 1000 {
				var l Lease
				if l, err = b.s.TryReserve(10); err == nil {
					err = l.Commit(10)
				}
				if errors.Is(err, ErrPeerGone) {
					return
				}
			}
			t.Errorf("the other sender goes on: %v", err)
		})
	}
}

// TestSharedTail has the tail be anything: a sender believes no place before its
// last one.
func TestSharedTail(t *testing.T) {
	for _, kind := range sharedRings() {
		t.Run(kind.Name, func(t *testing.T) {
			b := newPair(t, kind, sim.InOrder(), Config{Ring: 4096})
			b.reserveTry(b.s, 100).Abort()
			tail := receiverOf(b.r).tail
			store(tail.b, 0, 0)
			var err error
			for range 1000 {
				if _, err = b.s.TryReserve(10); !errors.Is(err, ErrWouldBlock) {
					break
				}
			}
			if !errors.Is(err, ErrInvalid) || !errors.Is(err, ErrPeerGone) {
				t.Errorf("%v, want ErrInvalid", err)
			}
		})
	}
}
