package channel

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"heddle/verbs"
	"heddle/verbs/sim"
)

// casts are the kinds of many readers.
func casts() (list []*Kind) {
	for _, k := range Kinds() {
		if k.Readers {
			list = append(list, k)
		}
	}
	return list
}

// audience is a sender with readers.
type audience struct {
	*world
	kind    *Kind
	s       *Sender
	readers []*Receiver
	ctx     context.Context
	cancel  context.CancelFunc
}

func newAudience(t *testing.T, kind *Kind, cfg Config, net sim.Config, readers int) *audience {
	w := newWorld(t, net)
	a := &audience{world: w, kind: kind}
	a.ctx, a.cancel = context.WithCancel(t.Context())
	var err error
	if a.s, err = w.transport("s").NewSender(kind, cfg); err != nil {
		t.Fatal(err)
	}
	for range readers {
		a.join(cfg)
	}
	t.Cleanup(a.close)
	return a
}

func (a *audience) join(cfg Config) *Receiver {
	a.t.Helper()
	r, err := a.transport(fmt.Sprint("r", len(a.readers))).NewReceiver(a.kind, cfg)
	if err != nil {
		a.t.Fatal(err)
	}
	if err := Join(a.ctx, a.s, r); err != nil {
		a.t.Fatal(err)
	}
	a.readers = append(a.readers, r)
	return r
}

func (a *audience) close() {
	a.cancel()
	for _, r := range a.readers {
		_ = r.Close()
	}
	_ = a.s.Close()
}

// send sends messages that have their numbers all over.
func (a *audience) send(from, to uint64) {
	b := make([]byte, 200)
	for n := from; n < to; n++ {
		if err := a.s.Send(a.ctx, stamped(b, n)); err != nil {
			a.t.Errorf("message %d: %v", n, err)
			return
		}
	}
}

func stamped(b []byte, n uint64) []byte {
	b = b[:8*(1+n%uint64(len(b)/8))]
	for i := 0; i < len(b); i += 8 {
		binary.LittleEndian.PutUint64(b[i:], n)
	}
	return b
}

// stamp is the number that a message has all over.
func stamp(b []byte) (uint64, error) {
	if len(b) < 8 || len(b)%8 != 0 {
		return 0, fmt.Errorf("a message of %d bytes", len(b))
	}
	n := binary.LittleEndian.Uint64(b)
	for i := 0; i < len(b); i += 8 {
		if m := binary.LittleEndian.Uint64(b[i:]); m != n {
			return 0, fmt.Errorf("message %d has %d in it", n, m)
		}
	}
	return n, nil
}

// read receives messages by number; it gives the one that would have come next.
func (a *audience) read(r *Receiver, from, to uint64) (uint64, error) {
	for n := from; n < to; n++ {
		m, err := r.Receive(a.ctx)
		if err != nil {
			return n, err
		}
		got, err := stamp(m.Bytes())
		m.Release()
		if err == nil && got != n {
			err = fmt.Errorf("message %d, want %d", got, n)
		}
		if err != nil {
			return n, err
		}
	}
	return to, nil
}

// TestEvict: a reader that holds up the sender for longer than Evict is evicted:
// the others receive all, and the evicted one what it had fetched, nothing wrong,
// and then ErrLagged. A reader that goes on in time receives all as well.
func TestEvict(t *testing.T) {
	const messages, evict = 400, 50 * time.Millisecond
	for _, kind := range casts() {
		for _, c := range []struct {
			name    string
			readers int
			takes   uint64        // by the slow reader, before it stops
			rests   time.Duration // how long
			evicted bool
		}{
			{"never reads", 3, 0, time.Second, true},
			{"stops", 3, 30, time.Second, true},
			{"stops in time", 3, 30, evict / 2, false},
			{"one of 64", 64, 30, time.Second, true},
		} {
			t.Run(kind.Name+"/"+c.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					cfg := Config{Ring: 16 << 10, Slots: 32, Evict: evict}
					a := newAudience(t, kind, cfg, sim.Config{Clock: sim.Real}, c.readers)
					var all sync.WaitGroup
					for i, r := range a.readers[1:] {
						all.Go(func() {
							if n, err := a.read(r, 0, messages); err != nil {
								t.Errorf("reader %d: message %d: %v", i+1, n, err)
							}
						})
					}
					all.Go(func() { a.slow(c.takes, messages, c.rests, c.evicted) })
					a.send(0, messages)
					all.Wait()
					a.close() // before the bubble's goroutines are to be gone
					_ = a.net.Close()
				})
			})
		}
	}
}

// slow is a reader that stops for a while.
func (a *audience) slow(takes, messages uint64, rests time.Duration, evicted bool) {
	n, err := a.read(a.readers[0], 0, takes)
	if err != nil {
		a.t.Errorf("before it stopped, message %d: %v", n, err)
	}
	<-time.After(rests)
	switch n, err = a.read(a.readers[0], n, messages); {
	case !evicted && err != nil:
		a.t.Errorf("message %d: %v", n, err)
	case evicted && (!errors.Is(err, ErrLagged) || errors.Is(err, ErrPeerGone)):
		a.t.Errorf("after message %d: %v, want ErrLagged", n, err)
	}
	a.s.mu.Lock()
	defer a.s.mu.Unlock()
	if why := a.s.peers[0].gone; evicted != errors.Is(why, ErrLagged) {
		a.t.Errorf("the sender's word on the reader: %v", why)
	}
}

// TestEvictUnderRead: a READ that is under way when its reader is evicted brings
// nothing that was overwritten meanwhile, at whatever moment that is.
func TestEvictUnderRead(t *testing.T) {
	for _, kind := range casts() {
		t.Run(kind.Name, func(t *testing.T) {
			for steps := range 60 {
				a := newAudience(t, kind, Config{Ring: 4096, Slots: 16}, sim.Config{Seed: uint64(steps)}, 1)
				r := a.readers[0]
				_, _ = r.TryReceive() // it finds where it begins
				a.net.Settle(1000)
				n := uint64(0)
				for b := make([]byte, 200); ; n++ {
					l, err := a.s.TryReserve(len(stamped(b, n)))
					if errors.Is(err, ErrWouldBlock) {
						break
					}
					if err == nil {
						err = l.Commit(copy(l.Bytes(), stamped(b, n)))
					}
					if err != nil {
						t.Fatal(err)
					}
				}
				_, _ = r.TryReceive()
				for range steps {
					a.net.Step()
				}
				a.s.mu.Lock()
				evict(a.s)
				a.s.mu.Unlock()
				a.send(n, n+100)
				for next := uint64(1); ; { // the first was received above, or is lost
					m, err := r.TryReceive()
					if errors.Is(err, ErrWouldBlock) {
						a.net.Step()
						continue
					}
					if errors.Is(err, ErrLagged) {
						break
					}
					if err != nil {
						t.Fatalf("%d steps: %v", steps, err)
					}
					got, err := stamp(m.Bytes())
					if err != nil || got > next || got+1 < next {
						t.Fatalf("%d steps: message %d, want %d: %v", steps, got, next, err)
					}
					next = got + 1
				}
				a.close()
			}
		})
	}
}

// evict evicts the first reader.
func evict(s *Sender) {
	switch p := s.p.(type) {
	case *castBellSender:
		p.evict(p.shares[0], ErrLagged)
	case *castFlagSender:
		p.evict(p.shares[0], ErrLagged)
	case *castSendSender:
		p.evict(p.shares[0], ErrLagged)
	}
}

// TestLateReader: a reader that comes later receives what is sent from then on,
// and the ones that were there all.
func TestLateReader(t *testing.T) {
	for _, kind := range casts() {
		for _, before := range []uint64{0, 1, 7, 100, 250} {
			t.Run(fmt.Sprint(kind.Name, "/", before), func(t *testing.T) {
				cfg := Config{Ring: 8 << 10, Slots: 16}
				a := newAudience(t, kind, cfg, sim.Config{}, 1)
				a.exchange(0, before)
				late := a.join(cfg)
				a.exchange(before, before+300)
				if m, err := late.TryReceive(); !errors.Is(err, ErrWouldBlock) {
					t.Errorf("%d bytes more, %v", len(m.Bytes()), err)
				}
			})
		}
	}
}

// exchange sends messages, each of which all readers receive.
func (a *audience) exchange(from, to uint64) {
	a.t.Helper()
	for n := from; n < to; n++ {
		a.send(n, n+1)
		for i, r := range a.readers {
			if _, err := a.read(r, n, n+1); err != nil {
				a.t.Fatalf("reader %d: message %d: %v", i, n, err)
			}
		}
	}
}

// TestNoReaders: a sender without readers sends to nobody, and does not wait.
func TestNoReaders(t *testing.T) {
	for _, kind := range casts() {
		t.Run(kind.Name, func(t *testing.T) {
			a := newAudience(t, kind, Config{Ring: 4096, Slots: 4}, sim.Config{}, 1)
			a.exchange(0, 10)
			if err := a.s.peers[0].Close(); err != nil {
				t.Fatal(err)
			}
			a.send(10, 200)
			if _, err := a.read(a.readers[0], 10, 11); !errors.Is(err, ErrPeerGone) || errors.Is(err, ErrLagged) {
				t.Errorf("a reader whose sender left it: %v", err)
			}
		})
	}
}

// TestBatch: small messages that are there together take one READ of records.
func TestBatch(t *testing.T) {
	for name, want := range map[string]uint64{"cast-bell": 1, "cast-flag": 2, "cast-send": 1} {
		t.Run(name, func(t *testing.T) {
			kind, err := Find(name)
			if err != nil {
				t.Fatal(err)
			}
			b := newBench(t, kind)
			const messages = 12 // of 72 bytes
			before := b.posted("r")[verbs.OpRead]
			for range messages {
				b.send()
			}
			b.rest()
			for range messages {
				b.receive().Release()
			}
			if got := b.posted("r")[verbs.OpRead] - before; got != want {
				t.Errorf("%d READs for %d messages, want %d", got, messages, want)
			}
		})
	}
}

// TestHostileReport: a reader that says that it has given back what was never
// sent is lost, and one that goes backwards changes nothing; the others go on.
func TestHostileReport(t *testing.T) {
	for _, kind := range casts() {
		t.Run(kind.Name, func(t *testing.T) {
			a := newAudience(t, kind, Config{Ring: 4096, Slots: 8}, sim.Config{}, 2)
			a.exchange(0, 50)
			page := shareOf(a.s, 0).back.page.b
			salt := shareOf(a.s, 0).back.salt
			for i := range reportWords {
				store(page, reportsAt+8*i, seal(1, salt)) // long ago
			}
			a.exchange(50, 100)
			a.net.Settle(1000) // its own word would come later
			store(page, reportsAt, seal(uint32(1<<20), salt))
			a.readers = a.readers[1:]
			a.exchange(100, 200)
			if err := a.s.peers[0].Err(); !errors.Is(err, ErrInvalid) || !errors.Is(err, ErrPeerGone) {
				t.Errorf("the liar: %v", err)
			}
			if err := a.s.peers[1].Err(); err != nil {
				t.Errorf("the other one: %v", err)
			}
		})
	}
}

func shareOf(s *Sender, i int) *share {
	switch p := s.p.(type) {
	case *castBellSender:
		return p.shares[i]
	case *castFlagSender:
		return p.shares[i]
	case *castSendSender:
		return p.shares[i]
	}
	return nil
}
