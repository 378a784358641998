package channel

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"heddle/verbs"
	"heddle/verbs/sim"
)

// talk is two sides that both send, of one goroutine.
type talk struct {
	*world
	s    [2]*Sender
	r    [2]*Receiver
	sent [2]uint64
	came [2]uint64 // by who received
	held [2][]Message
}

// newTalk makes a duplex, or two channels that know nothing of each other.
func newTalk(w *world, kind *Kind, cfg Config, duplex bool) *talk {
	w.t.Helper()
	x := &talk{world: w}
	for i, name := range []string{"a", "b"} {
		tr := w.transport(name)
		var err error
		if duplex {
			var d *Duplex
			if d, err = tr.NewDuplex(kind, cfg); err == nil {
				x.s[i], x.r[i] = d.Sender(), d.Receiver()
			}
		} else if x.s[i], err = tr.NewSender(kind, cfg); err == nil {
			x.r[i], err = tr.NewReceiver(kind, cfg)
		}
		if err != nil {
			w.t.Fatal(err)
		}
		w.t.Cleanup(func() { _ = x.s[i].Close(); _ = x.r[i].Close() })
	}
	for i := range 2 {
		if err := Join(w.t.Context(), x.s[i], x.r[1-i]); err != nil {
			w.t.Fatal(err)
		}
	}
	return x
}

// send sends the next message of a side, if there is room.
func (x *talk) send(i, n int) bool {
	x.t.Helper()
	l, err := x.s[i].TryReserve(n)
	if errors.Is(err, ErrWouldBlock) {
		return false
	}
	if err != nil {
		x.t.Fatal(err)
	}
	b := l.Bytes()
	for j := range b {
		b[j] = byte(x.sent[i]) + byte(j)
	}
	binary.LittleEndian.PutUint64(b, x.sent[i])
	if err := l.Commit(n); err != nil {
		x.t.Fatal(err)
	}
	x.sent[i]++
	return true
}

// receive takes the next message of a side.
func (x *talk) receive(i int) bool {
	x.t.Helper()
	m, err := x.r[i].TryReceive()
	if errors.Is(err, ErrWouldBlock) {
		return false
	}
	if err != nil {
		x.t.Fatal(err)
	}
	b := m.Bytes()
	if len(b) < 8 || binary.LittleEndian.Uint64(b) != x.came[i] {
		x.t.Fatalf("side %d: %d bytes that begin with %x, want message %d", i, len(b), b[:min(8, len(b))], x.came[i])
	}
	for j := 8; j < len(b); j++ {
		if b[j] != byte(x.came[i])+byte(j) {
			x.t.Fatalf("side %d, message %d: byte %d is wrong", i, x.came[i], j)
		}
	}
	x.came[i]++
	x.held[i] = append(x.held[i], m)
	return true
}

func (x *talk) release(i int) {
	if n := len(x.held[i]); n > 0 {
		j := x.rnd.IntN(n)
		x.held[i][j].Release()
		x.held[i] = append(x.held[i][:j], x.held[i][j+1:]...)
	}
}

// TestDuplex has both sides send and receive on each network that has the kind, in
// an order that the seed decides: all comes, in order.
func TestDuplex(t *testing.T) {
	const count = 100
	for _, kind := range overLinks() {
		for _, profile := range sim.Profiles() {
			caps := profile.Caps()
			if kind.Missing(&caps) != nil || kind.AsDelivered && !caps.DeliveryOrder.Holds {
				continue
			}
			t.Run(kind.Name+"/"+profile.Name, func(t *testing.T) {
				for seed := range uint64(2) {
					w := newWorld(t, sim.Config{Profile: profile, Seed: seed, Faults: sim.Faults{Loss: 0.02 * float64(seed)}})
					size := min(2*profile.MTU.Bytes(), caps.MaxMessage) - 64
					x := newTalk(w, kind, Config{Slots: 6, Size: size, Ring: 8 * profile.MTU.Bytes(), Linger: 1}, true)
					size = min(size, x.s[0].MaxMessage())
					for turns := 0; x.came != [2]uint64{count, count}; turns++ {
						if turns == 1_000_000 {
							t.Fatalf("seed %d: sent %d, came %d, and nothing more happens", seed, x.sent, x.came)
						}
						i := w.rnd.IntN(2)
						switch w.rnd.IntN(4) {
						case 0:
							if x.sent[i] < count {
								x.send(i, 8+w.rnd.IntN(size-7))
							}
						case 1:
							x.receive(i)
						case 2:
							x.release(i)
						default:
							w.step()
						}
					}
				}
			})
		}
	}
}

// TestDuplexSaves counts requests of two sides that answer each other: a duplex
// posts one for each message, or the receive that it takes, and none for room.
func TestDuplexSaves(t *testing.T) {
	for _, kind := range overLinks() {
		x := newTalk(newWorld(t, sim.Config{Clock: sim.Crossings}), kind, roomy, true)
		if x.s[0].twin == nil {
			continue
		}
		t.Run(kind.Name, func(t *testing.T) {
			apart := newTalk(newWorld(t, sim.Config{Clock: sim.Crossings}), kind, roomy, false).exchange()
			together := x.exchange()
			want := float64(kind.SendRequests + kind.RecvRequests)
			if together != want || apart <= want {
				t.Errorf("%.3f requests a message apart, %.3f together, want more than %.3f and that", apart, together, want)
			}
			if s, r := x.s[0].Stats(), x.r[0].Stats(); s.Credits+r.Credits != 0 || s.Carried == 0 {
				t.Errorf("the sender counts %+v, the receiver %+v", s, r)
			}
			documented(t, fmt.Sprintf("| %s | %.3f | %.3f |", kind.Name, apart, together))
		})
	}
}

// roomy is small, so that what goes for room shows.
var roomy = Config{Slots: 64, Ring: 64 << 10, Linger: 1}

// exchange is how many requests both sides post for a message, of 512 bytes, when
// they take turns.
func (x *talk) exchange() float64 {
	const rounds = 2000
	round := func() {
		for i := range 2 {
			for !x.send(i, 512) {
				x.net.Step()
			}
			for !x.receive(1 - i) {
				x.net.Step()
			}
			x.release(1 - i)
		}
	}
	for range 4 {
		round()
	}
	b := &bench{world: x.world}
	before := [2][verbs.OpRecvWriteImm + 1]uint64{b.posted("a"), b.posted("b")}
	for range rounds {
		round()
	}
	return float64(sum(b.posted("a"), before[0])+sum(b.posted("b"), before[1])) / (2 * rounds)
}

// documented sees to it that docs/channels.md has a line.
func documented(t *testing.T, line string) {
	t.Helper()
	text, err := os.ReadFile("../docs/channels.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), line+"\n") {
		t.Errorf("docs/channels.md does not have the line\n%s", line)
	}
}

// TestRoom counts who posts what for room: the side that is passive for messages is
// so for room too, where the device has what that takes.
func TestRoom(t *testing.T) {
	for _, kind := range Kinds() {
		for _, network := range []string{"ib", "efa-2023"} {
			profile := profileOf(t, network)
			caps := profile.Caps()
			if kind.Missing(&caps) != nil {
				continue
			}
			t.Run(kind.Name+"/"+network, func(t *testing.T) {
				room := kind.Room(&caps)
				s, r := roomOf(t, kind, profile)
				ops := map[Room][2]verbs.Op{
					RoomSent: {0, verbs.OpSend}, RoomRead: {verbs.OpRead, 0}, RoomListed: {verbs.OpRead, 0}, RoomWritten: {0, verbs.OpWrite},
				}[room]
				for i, n := range [][verbs.OpRecvWriteImm + 1]float64{s, r} {
					if op := ops[i]; op != 0 && n[op] == 0 {
						t.Errorf("%v: side %d posts no %v", room, i, op)
					}
				}
				if passive := room != RoomRead && room != RoomListed; kind.PassiveSender && passive && total(s) > 0 {
					t.Errorf("%v: the sender, which is passive, posts %v", room, s)
				}
				if kind.PassiveReceiver && total(r) > 0 {
					t.Errorf("%v: the receiver, which is passive, posts %v", room, r)
				}
				documented(t, fmt.Sprintf("| %s | %s | %s | %.3f | %.3f |", kind.Name, network, room, s[ops[0]]*set(ops[0]), r[ops[1]]*set(ops[1])))
			})
		}
	}
}

// set is 1 for an operation, 0 for none.
func set(op verbs.Op) float64 { return float64(min(op, 1)) }

func total(n [verbs.OpRecvWriteImm + 1]float64) (sum float64) {
	for _, x := range n {
		sum += x
	}
	return sum
}

func profileOf(t *testing.T, name string) sim.Profile {
	for _, p := range sim.Profiles() {
		if p.Name == name {
			return p
		}
	}
	t.Fatalf("no profile %s", name)
	return sim.Profile{}
}

// roomOf is what each side posts for a message of a stream of 512 bytes each, one of
// which is sent before the one before it is taken; READs of messages are
// not counted, which a kind declares, nor those that find nothing.
func roomOf(t *testing.T, kind *Kind, profile sim.Profile) (s, r [verbs.OpRecvWriteImm + 1]float64) {
	const messages = 2000
	w := newWorld(t, sim.Config{Clock: sim.Crossings, Profile: profile})
	cfg := roomy
	cfg.Size = 512
	sender, receiver := w.pair(kind, cfg)
	b := &bench{w, sender, receiver}
	s0, r0 := b.counts()
	for range messages {
		l, err := sender.TryReserve(512)
		for errors.Is(err, ErrWouldBlock) {
			w.net.Step()
			l, err = sender.TryReserve(512)
		}
		if err == nil {
			err = l.Commit(512)
		}
		if err != nil {
			t.Fatal(err)
		}
		b.receive().Release()
	}
	s1, r1 := b.counts()
	for op := range s {
		s[op] = float64(s1[op]-s0[op]) / messages
		r[op] = float64(r1[op]-r0[op]) / messages
	}
	return s, r
}

// TestDuplexMisfits: a duplex has a duplex at the other side.
func TestDuplexMisfits(t *testing.T) {
	a, b := liveTransport(t), liveTransport(t)
	d, err := a.NewDuplex(&ringBell, Config{Linger: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	r, err := b.NewReceiver(&ringBell, Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := Join(t.Context(), d.Sender(), r); !errors.Is(err, ErrInvalid) {
		t.Errorf("%v, want ErrInvalid", err)
	}
	if _, err := a.NewDuplex(&castBell, Config{}); !errors.Is(err, ErrInvalid) {
		t.Errorf("of a kind for many: %v, want ErrInvalid", err)
	}
}

// TestDuplexHostile has a peer tell of more than was sent to it, and tell nothing.
func TestDuplexHostile(t *testing.T) {
	for _, kind := range []*Kind{&ringBell, &sendRecv} {
		t.Run(kind.Name, func(t *testing.T) {
			x := newTalk(newWorld(t, sim.Config{}), kind, Config{Linger: 1}, true)
			x.s[1].twin.back.Store(1 << 20)
			x.send(1, 64)
			for !x.receive(0) {
				x.net.Step()
			}
			if _, err := x.s[0].TryReserve(8); !errors.Is(err, ErrPeerGone) || !errors.Is(err, ErrInvalid) {
				t.Errorf("told of too much: %v", err)
			}
			x = newTalk(newWorld(t, sim.Config{}), kind, Config{Linger: 1}, true)
			x.s[1].twin, x.s[1].beside = nil, 0
			if err := x.s[1].Send(t.Context(), []byte("short")); err != nil {
				t.Fatal(err)
			}
			_, err := x.r[0].TryReceive()
			for errors.Is(err, ErrWouldBlock) {
				x.net.Step()
				_, err = x.r[0].TryReceive()
			}
			if !errors.Is(err, ErrInvalid) {
				t.Errorf("told nothing: %v", err)
			}
		})
	}
}
