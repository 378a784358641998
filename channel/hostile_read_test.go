package channel

import (
	"errors"
	"testing"

	"heddle/verbs/sim"
)

// fetched are the kinds whose messages are READ.
func fetched() (list []*Kind) {
	for _, k := range Kinds() {
		if k.Family == ReadSlot || k.Family == ReadRing {
			list = append(list, k)
		}
	}
	return list
}

// spoiler writes to a sender's own memory what no sender writes, and what no
// reader reports.
type spoiler struct {
	s       *Sender
	regions []*region // that readers READ
	page    *region   // that they WRITE to
	salt    func() uint64
	next    func() (of *region, offset int) // the word that comes next
	notice  *notice
}

func newSpoiler(s *Sender) *spoiler {
	x := &spoiler{s: s}
	slots := func(p *fetchSender) {
		x.regions, x.page = append(x.regions, p.slots, p.slots), p.back.page
		x.salt = func() uint64 { return p.salt }
		x.next = func() (*region, int) {
			if p.words != nil {
				return p.words, int(8 * (p.sent % p.count))
			}
			return p.slots, int(p.sent % p.count * p.stride)
		}
		if p.words != nil {
			x.regions[0] = p.words
		}
	}
	ring := func(p *castSender) {
		x.regions, x.page = append(x.regions, p.ring), p.shares[0].back.page
		x.salt = func() uint64 { return saltAt(p.salt, p.pos) }
		x.next = func() (*region, int) { return p.ring, int(p.pos % p.length) }
	}
	switch p := s.p.(type) {
	case *fetchBellSender:
		slots(&p.fetchSender)
	case *fetchFlagSender:
		slots(&p.fetchSender)
	case *fetchSendSender:
		slots(&p.fetchSender)
		x.notice = &p.notice
	case *castBellSender:
		ring(&p.castSender)
	case *castFlagSender:
		ring(&p.castSender)
		x.regions = append(x.regions, p.flag)
	case *castSendSender:
		ring(&p.castSender)
		x.notice = &p.notice
	}
	return x
}

// act does one thing.
func (x *spoiler) act(s *script) {
	of, n := x.regions[int(s.next())%len(x.regions)], s.number()
	switch s.next() % 5 {
	case 0:
		store(of.b, int(8*(s.number()%uint64(len(of.b)/8))), n|s.number()<<32)
	case 1: // a word that fits, of a message that does not
		of, at := x.next()
		store(of.b, at, seal(uint32(n)<<(s.next()%16), x.salt()))
	case 2: // of any number
		store(of.b, 0, seal(uint32(n)<<(s.next()%16), x.salt()))
	case 3:
		store(x.page.b, reportsAt+int(8*(n%reportWords)), seal(uint32(s.number()), x.page0()))
	case 4:
		if p := x.s.peers[0]; x.notice != nil && p != nil {
			store(x.notice.words.b, 0, n|s.number()<<32)
			_ = x.notice.send(p, 0)
		}
	}
}

// page0 is the salt of reports.
func (x *spoiler) page0() uint64 {
	if c := shareOf(x.s, 0); c != nil {
		return c.back.salt
	}
	return x.salt()
}

// FuzzHostileMemory: who READs memory that a peer writes anything to at any
// moment gets messages that lie in its own memory, or learns that the peer is
// gone, or that it was evicted; and a sender bears any report.
func FuzzHostileMemory(f *testing.F) {
	for i := range byte(len(fetched())) {
		f.Add(i, uint64(i), []byte{1, 0, 255, 255, 255, 1, 8, 4, 1, 0, 3, 0, 0, 2, 4, 9, 1})
		f.Add(i, uint64(i), []byte{1, 1, 255, 0, 1, 2, 5, 9, 0, 0, 0, 255, 0, 4, 255, 255, 255, 15, 0, 0, 2, 0, 0, 3, 255, 255, 0, 9})
		f.Add(i, uint64(i), []byte{0, 0, 0, 0, 0, 0, 1, 0, 0, 255, 255, 255, 9, 0, 0, 1, 0, 0, 4, 2, 0, 0, 15})
	}
	f.Fuzz(hostileMemory)
}

func hostileMemory(t *testing.T, which byte, seed uint64, todo []byte) {
	allowed := func(err error) bool {
		return errors.Is(err, ErrWouldBlock) || errors.Is(err, ErrPeerGone) || errors.Is(err, ErrLagged)
	}
	kinds := fetched()
	w := newWorld(t, sim.Config{Seed: seed})
	cfg := Config{Ring: 4096, Slots: 3, Size: 100, Linger: 1}
	s, err := w.transport("s").NewSender(kinds[int(which)%len(kinds)], cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	r, err := w.transport("r").NewReceiver(s.kind, cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := Join(t.Context(), s, r); err != nil {
		t.Fatal(err)
	}
	x, sum := newSpoiler(s), byte(0)
	for todo := script(todo); len(todo) > 0; {
		if todo.next()%2 == 0 {
			l, err := s.TryReserve(int(todo.next()) % 100)
			if err == nil {
				err = l.Commit(len(l.Bytes()))
			}
			if err != nil && !allowed(err) {
				t.Fatal(err)
			}
		} else {
			x.act(&todo)
		}
		for range todo.next() % 32 {
			w.net.Step()
		}
		m, err := r.TryReceive()
		if err != nil && !allowed(err) {
			t.Fatal(err)
		}
		for _, b := range m.Bytes() {
			sum += b
		}
		m.Release()
	}
}
