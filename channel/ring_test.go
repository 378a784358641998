package channel

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"heddle/verbs"
	"heddle/verbs/sim"
)

// rings are the kinds with a ring of one sender.
func rings() (list []*Kind) {
	for _, k := range Kinds() {
		if (k.Family == WriteRing || k.Family == CellRing) && !k.Senders {
			list = append(list, k)
		}
	}
	return list
}

// TestRing: whatever is sent, taken and given back in whichever order, messages
// come as they were sent; and a sender that has all of its ring back has room for
// the longest message.
func TestRing(t *testing.T) {
	for _, kind := range rings() {
		t.Run(kind.Name, func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				w := newWorld(t, sim.Config{Seed: rapid.Uint64().Draw(rt, "seed")})
				defer w.net.Close()
				m := &ringModel{t: rt, world: w}
				cfg := Config{Ring: 4096 * rapid.IntRange(1, 3).Draw(rt, "pages"), Slots: rapid.IntRange(1, 9).Draw(rt, "slots"), Linger: 1}
				m.open(kind, cfg)
				defer m.r.Close()
				defer m.s.Close()
				rt.Repeat(map[string]func(*rapid.T){
					"send": m.send, "receive": m.receive, "release": m.release, "step": func(*rapid.T) { w.step() }, "": func(*rapid.T) {},
				})
				m.end()
			})
		})
	}
}

// ringModel is a channel, and what must come out of it.
type ringModel struct {
	*world
	t    *rapid.T
	s    *Sender
	r    *Receiver
	sent [][]byte // and not received
	held []Message
	want [][]byte // of held
	last byte
}

func (m *ringModel) open(kind *Kind, cfg Config) {
	var err error
	if m.s, err = m.transport("s").NewSender(kind, cfg); err != nil {
		m.t.Fatal(err)
	}
	if m.r, err = m.transport("r").NewReceiver(kind, cfg); err != nil {
		m.t.Fatal(err)
	}
	if err = Join(m.world.t.Context(), m.s, m.r); err != nil {
		m.t.Fatal(err)
	}
}

// size is a length at the bounds of words, cells and the ring, or any other.
func (m *ringModel) size(t *rapid.T, what string, most int) int {
	n := rapid.OneOf(
		rapid.SampledFrom([]int{0, 1, 7, 8, 9, 47, 48, 49, 55, 56, 57, 64, 104, 105, most - 8, most - 1, most}),
		rapid.IntRange(0, most),
	).Draw(t, what)
	return max(0, min(n, most))
}

func (m *ringModel) send(t *rapid.T) {
	room := m.size(t, "room", m.s.MaxMessage())
	l, err := m.s.TryReserve(room)
	if errors.Is(err, ErrWouldBlock) {
		if len(m.sent)+len(m.held) == 0 {
			m.mustHave(room)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	if rapid.IntRange(0, 9).Draw(t, "abort") == 0 {
		l.Abort()
		return
	}
	n := m.size(t, "length", room)
	if rapid.Bool().Draw(t, "all") {
		n = room
	}
	for i := range l.Bytes() {
		m.last += 37
		l.Bytes()[i] = m.last
	}
	m.sent = append(m.sent, slices.Clone(l.Bytes()[:n]))
	commit := l.Commit
	if rapid.IntRange(0, 2).Draw(t, "more") == 0 {
		commit = l.CommitMore
	}
	if err := commit(n); err != nil {
		t.Fatal(err)
	}
}

// mustHave sees to it that there is room, as nothing is under way.
func (m *ringModel) mustHave(n int) {
	for range 10_000 {
		l, err := m.s.TryReserve(n)
		if err == nil {
			l.Abort()
			return
		}
		if !errors.Is(err, ErrWouldBlock) {
			m.t.Fatal(err)
		}
		m.net.Step()
	}
	m.t.Fatalf("no room for %d bytes, though nothing is under way", n)
}

func (m *ringModel) receive(t *rapid.T) {
	got, err := m.r.TryReceive()
	if errors.Is(err, ErrWouldBlock) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	if len(m.sent) == 0 {
		t.Fatalf("%d bytes that were not sent", len(got.Bytes()))
	}
	m.held, m.want = append(m.held, got), append(m.want, m.sent[0])
	m.sent = m.sent[1:]
}

// release gives one back, which must be the same until then.
func (m *ringModel) release(t *rapid.T) {
	if len(m.held) == 0 {
		return
	}
	i := rapid.IntRange(0, len(m.held)-1).Draw(t, "which")
	if !bytes.Equal(m.held[i].Bytes(), m.want[i]) {
		t.Fatalf("%d bytes, want these %d:\n%x\n%x", len(m.held[i].Bytes()), len(m.want[i]), m.held[i].Bytes(), m.want[i])
	}
	m.held[i].Release()
	m.held, m.want = slices.Delete(m.held, i, i+1), slices.Delete(m.want, i, i+1)
}

// end takes all that was sent.
func (m *ringModel) end() {
	for turns := 0; len(m.sent)+len(m.held) > 0; turns++ {
		if turns == 10_000 {
			m.t.Fatalf("%d messages do not come", len(m.sent))
		}
		m.flush()
		m.receive(m.t)
		for len(m.held) > 0 {
			m.release(m.t)
		}
		m.net.Step()
	}
	m.mustHave(m.s.MaxMessage())
}

// flush has what was committed together go, as Flush does, but does not wait.
func (m *ringModel) flush() {
	m.s.mu.Lock()
	defer m.s.mu.Unlock()
	if _, err := m.s.p.settled(); err != nil && !blocked(err) {
		m.t.Fatal(err)
	}
}

// TestCommitMore: messages that are committed together go with one request where
// the kind can do that, with the last one or with Flush, and come one by one.
func TestCommitMore(t *testing.T) {
	for _, kind := range Kinds() {
		for _, flush := range []bool{false, true} {
			b := newBench(t, kind)
			before, _ := b.counts()
			const count = 5
			for i := range byte(count) {
				l, err := b.s.Reserve(t.Context(), 9)
				if err != nil {
					t.Fatal(kind.Name, err)
				}
				copy(l.Bytes(), []byte{i, 8: i})
				commit := l.CommitMore
				if i == count-1 && !flush {
					commit = l.Commit
				}
				if err := commit(9); err != nil {
					t.Fatal(kind.Name, err)
				}
				if b.s.batch == nil {
					b.rest() // of some kinds one message only can be under way
					b.check(kind, i)
				}
			}
			if b.s.batch == nil {
				continue
			}
			if _, err := b.r.TryReceive(); !errors.Is(err, ErrWouldBlock) {
				t.Errorf("%s: before the last: %v", kind.Name, err)
			}
			if flush {
				if err := b.s.Flush(t.Context()); err != nil {
					t.Fatal(kind.Name, err)
				}
			}
			for i := range byte(count) {
				b.check(kind, i)
			}
			after, _ := b.counts()
			if n := after[verbs.OpWrite] - before[verbs.OpWrite]; n != 1 {
				t.Errorf("%s: %d WRITEs for %d messages", kind.Name, n, count)
			}
		}
	}
}

// check receives the message of a number.
func (b *bench) check(kind *Kind, number byte) {
	b.t.Helper()
	m := b.receive()
	if got := m.Bytes(); len(got) != 9 || got[0] != number || got[8] != number {
		b.t.Errorf("%s: message %d is %x", kind.Name, number, got)
	}
	m.Release()
}

// TestReleaseTwice: a message that was given back gives nothing of others back.
func TestReleaseTwice(t *testing.T) {
	for _, kind := range Kinds() {
		b := newBench(t, kind)
		b.send()
		first := b.receive()
		first.Release()
		b.rest()
		b.send()
		second := b.receive()
		first.Release()
		if b.r.users != 1 {
			t.Errorf("%s: %d messages are out, want the second one", kind.Name, b.r.users)
		}
		second.Release()
		if b.r.users != 0 {
			t.Errorf("%s: %d messages are out", kind.Name, b.r.users)
		}
	}
}

// TestRingLongest: the longest message goes; one byte more is refused at once.
func TestRingLongest(t *testing.T) {
	for _, kind := range rings() {
		for _, profile := range sim.Profiles() {
			caps := profile.Caps()
			if kind.Missing(&caps) != nil {
				continue
			}
			t.Run(kind.Name+"/"+profile.Name, func(t *testing.T) {
				w := newWorld(t, sim.Config{Profile: profile, Seed: 1})
				s, r := w.pair(kind, Config{Ring: 64 << 10, Linger: 1})
				longest := s.MaxMessage()
				var tooLong *LengthError
				if _, err := s.TryReserve(longest + 1); !errors.As(err, &tooLong) || *tooLong != (LengthError{longest + 1, longest}) {
					t.Errorf("%v, want a LengthError of %d", err, longest)
				}
				for i := range 12 {
					want := bytes.Repeat([]byte{byte(i)}, longest)
					if err := s.Send(t.Context(), want); err != nil {
						t.Fatal(err)
					}
					m, err := r.Receive(t.Context())
					if err != nil || !bytes.Equal(m.Bytes(), want) {
						t.Fatalf("message %d: %d bytes, %v", i, len(m.Bytes()), err)
					}
					m.Release()
				}
			})
		}
	}
}

// pair makes both ends of a channel.
func (w *world) pair(kind *Kind, cfg Config) (*Sender, *Receiver) {
	w.t.Helper()
	s, err := w.transport("s").NewSender(kind, cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	r, err := w.transport("r").NewReceiver(kind, cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		if err := errors.Join(s.Close(), r.Close()); err != nil {
			w.t.Error(err)
		}
	})
	if err := Join(w.t.Context(), s, r); err != nil {
		w.t.Fatal(err)
	}
	return s, r
}

// TestCell: a cell is there when each byte of it is, and holds any data.
func TestCell(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lap := rapid.Uint64Range(0, 5).Draw(t, "lap")
		var old, c cell
		var was, data, got [cellData]byte
		copy(was[:], rapid.SliceOfN(rapid.Byte(), cellData, cellData).Draw(t, "before"))
		copy(data[:], rapid.SliceOfN(rapid.Byte(), cellData, cellData).Draw(t, "data"))
		if lap > 0 {
			old.put(&was, lapBits(lap-1))
		}
		c.put(&data, lapBits(lap))
		torn := c
		// All bytes but one have come.
		missing := rapid.IntRange(0, cellSize-1).Draw(t, "missing")
		mask := uint64(0xff) << (missing % 8 * 8)
		torn[missing/8] = c[missing/8]&^mask | old[missing/8]&mask
		if torn.isThere(lapBits(lap)) || torn.get(&got, lapBits(lap)) {
			t.Fatalf("there without byte %d", missing)
		}
		if !c.isThere(lapBits(lap)) || !c.get(&got, lapBits(lap)) || got != data {
			t.Fatalf("%x, want %x", got, data)
		}
	})
}

// TestRingHello: what a receiver says of its ring is checked.
func TestRingHello(t *testing.T) {
	for _, kind := range rings() {
		w := newWorld(t, sim.Config{})
		r, err := w.transport("r").NewReceiver(kind, Config{})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		invited, err := r.Invite()
		if err != nil {
			t.Fatal(err)
		}
		for what, spoil := range map[string]func(*hello){
			"no regions":        func(h *hello) { h.regions = nil },
			"no head":           func(h *hello) { h.regions = h.regions[:1] },
			"a short head":      func(h *hello) { h.regions[1].length = 7 },
			"a short ring":      func(h *hello) { h.regions[0].length-- },
			"a long ring":       func(h *hello) { h.ring *= 2 },
			"no ring":           func(h *hello) { h.ring = 0 },
			"a ring of no page": func(h *hello) { h.ring -= 8 },
		} {
			h, err := parseHello(invited.Hello())
			if err != nil {
				t.Fatal(err)
			}
			spoil(h)
			s, err := w.transport(fmt.Sprint("s", what)).NewSender(kind, Config{Linger: 1})
			if err != nil {
				t.Fatal(err)
			}
			p, err := s.Invite()
			if err != nil {
				t.Fatal(err)
			}
			if err := p.Attach(t.Context(), h.bytes()); !errors.Is(err, ErrInvalid) {
				t.Errorf("%s: %s: %v, want ErrInvalid", kind.Name, what, err)
			}
			if err := s.Close(); err != nil {
				t.Errorf("%s: %s: close: %v", kind.Name, what, err)
			}
		}
	}
}
