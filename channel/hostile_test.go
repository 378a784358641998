package channel

import (
	"encoding/binary"
	"errors"
	"testing"

	"heddle/verbs"
	"heddle/verbs/sim"
)

// villain is a peer that keeps to no protocol: it has a queue pair, the other
// side's hello, and does with both what a script says.
type villain struct {
	*world
	pd     verbs.PD
	cq     verbs.CQ
	qp     verbs.QP
	mem    *verbs.Memory
	mr     verbs.MR
	theirs *hello
}

func newVillain(w *world) *villain {
	w.t.Helper()
	tr := w.transport("villain")
	v := &villain{world: w, pd: tr.pd}
	must := func(err error) {
		if err != nil {
			w.t.Fatal(err)
		}
	}
	var err error
	v.mem = v.ring()
	v.cq, err = tr.dev.CreateCQ(verbs.CQAttr{Depth: 4096})
	must(err)
	v.mr, err = tr.pd.RegisterMR(v.mem, verbs.LocalWrite|verbs.RemoteWrite|verbs.RemoteRead)
	must(err)
	v.qp, err = tr.pd.CreateQP(verbs.QPAttr{Type: verbs.RC, SendCQ: v.cq, RecvCQ: v.cq, SendWR: 256, RecvWR: 256})
	must(err)
	return v
}

// ring makes memory.
func (v *villain) ring() *verbs.Memory {
	v.t.Helper()
	mem, err := verbs.NewRing(4096)
	if err != nil {
		v.t.Fatal(err)
	}
	v.t.Cleanup(func() {
		if err := mem.Close(); err != nil {
			v.t.Error(err)
		}
	})
	return mem
}

// meet connects it to an end.
func (v *villain) meet(p *Peer, mine hello) {
	v.t.Helper()
	mine.kind, mine.endpoint = uint16(p.end.kind.Number), v.qp.Endpoint()
	var err error
	if v.theirs, err = parseHello(p.Hello()); err != nil {
		v.t.Fatal(err)
	}
	if err = v.qp.Connect(v.t.Context(), v.theirs.endpoint); err != nil {
		v.t.Fatal(err)
	}
	if err = p.Attach(v.t.Context(), mine.bytes()); err != nil {
		v.t.Fatal(err)
	}
}

// script reads numbers off bytes; it ends in zeroes.
type script []byte

func (s *script) next() byte {
	if len(*s) == 0 {
		return 0
	}
	b := (*s)[0]
	*s = (*s)[1:]
	return b
}

func (s *script) number() uint64 {
	return uint64(s.next()) | uint64(s.next())<<8 | uint64(s.next())<<16
}

// post sends something; what the device refuses does not matter.
func (v *villain) post(wr verbs.SendWR, data []byte) {
	wr.Flags, wr.InlineData = verbs.Inline|verbs.Signaled, data
	if len(data) > v.qp.Attr().Inline {
		copy(v.mem.Bytes(), data)
		wr.Flags, wr.InlineData, wr.SGEs = verbs.Signaled, nil, []verbs.SGE{v.mr.SGE(0, len(data))}
	}
	_ = v.qp.PostSend(&wr)
	_, _ = v.cq.Poll(make([]verbs.WC, 16))
}

// word is one as the kinds have them: a number, sealed or not, a bell, or both.
func (v *villain) word(s *script) []byte {
	n := s.number()
	switch s.next() % 6 {
	case 0:
		n = seal(uint32(n), v.theirs.salt)
	case 1:
		n |= bellByte
	case 2:
		n |= bellByte | s.number()<<32
	case 3:
		n |= s.number() << 32
	case 4:
		n = -n
	}
	return binary.NativeEndian.AppendUint64(nil, n)
}

// act does one thing.
func (v *villain) act(s *script) {
	if len(v.theirs.regions) == 0 {
		return
	}
	to := v.theirs.regions[int(s.next())%len(v.theirs.regions)]
	wr := verbs.SendWR{Op: verbs.OpWrite, RKey: to.rkey, RemoteAddr: to.addr + 8*(s.number()%max(1, to.length/8))}
	var data []byte
	switch s.next() % 5 {
	case 0, 1:
		data = v.word(s)
	case 2:
		for range s.next() {
			data = append(data, s.next())
		}
	case 3: // a cell
		var content [cellData]byte
		binary.NativeEndian.PutUint64(content[:], s.number()>>(s.next()%24))
		var c cell
		c.put(&content, lapBits(uint64(s.next())))
		for _, w := range c {
			data = binary.NativeEndian.AppendUint64(data, w)
		}
		wr.RemoteAddr &^= cellSize - 1
	case 4:
		data = make([]byte, s.number()%4096)
	}
	switch s.next() % 4 {
	case 0:
		wr.Op, wr.Imm = verbs.OpWriteImm, uint32(s.next()>>5)
	case 1:
		wr.Op = verbs.OpSend
	}
	v.post(wr, data)
}

// FuzzHostileSender: a receiver takes whatever a peer writes, sends or tells at any
// moment for messages of bytes that are its own, or says that the peer is gone.
func FuzzHostileSender(f *testing.F) {
	for i := range byte(len(rings())) {
		f.Add(i, uint64(i), []byte("\x00\x00\x00\x00\x01\x08\x00\x00\x00\x02\x00\x00\x00\x01\x01\x00\x00\x00\x02\x01"))
		f.Add(i, uint64(i), []byte{0, 0, 0, 0, 3, 8, 0, 0, 0, 0, 2, 0, 0, 0, 0, 3, 255, 255, 255, 0, 0, 2})
		f.Add(i, uint64(i), []byte{2, 0, 0, 0, 0, 4, 0, 0, 0, 2, 0, 0, 0, 0, 1, 255, 255, 0, 0, 2})
	}
	f.Fuzz(func(t *testing.T, which byte, seed uint64, todo []byte) {
		kinds := rings()
		kind := kinds[int(which)%len(kinds)]
		w := newWorld(t, sim.Config{Seed: seed})
		r, err := w.transport("r").NewReceiver(kind, Config{Ring: 4096, Slots: 3})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		p, err := r.Invite()
		if err != nil {
			t.Fatal(err)
		}
		v := newVillain(w)
		v.meet(p, hello{sends: true})
		var held []Message
		sum := byte(0)
		for s := script(todo); len(s) > 0; {
			v.act(&s)
			for range s.next() % 16 {
				w.net.Step()
			}
			m, err := r.TryReceive()
			switch {
			case err == nil:
				if len(m.Bytes()) > 4096 {
					t.Fatalf("%d bytes of a ring of 4096", len(m.Bytes()))
				}
				for _, b := range m.Bytes() {
					sum += b
				}
				held = append(held, m)
			case !errors.Is(err, ErrWouldBlock) && !errors.Is(err, ErrPeerGone):
				t.Fatal(err)
			}
			if n := len(held); n > 0 && s.next()%2 == 0 {
				i := int(s.next()) % n
				held[i].Release()
				held = append(held[:i], held[i+1:]...)
			}
		}
		for _, m := range held {
			m.Release()
		}
		// A ring may go on to be full of bells; where it is not, the peer is gone.
		p.Lost(nil)
		w.net.Settle(1000)
		for range 1024 {
			if m, err := r.TryReceive(); err == nil {
				m.Release()
			} else if !errors.Is(err, ErrPeerGone) {
				t.Fatal(err)
			}
		}
	})
}

// FuzzHostileReceiver: a sender whose peer says anything of how far it is goes on,
// waits, or says that the peer is gone; it writes within the ring.
func FuzzHostileReceiver(f *testing.F) {
	for i := range byte(len(rings())) {
		f.Add(i, []byte{1, 0, 0, 0, 0, 200, 0, 0, 0, 2, 255, 0, 0, 0, 0, 255, 255})
		f.Add(i, []byte{0, 1, 0, 0, 0, 255, 255, 255, 0, 1, 0, 0, 0})
	}
	f.Fuzz(func(t *testing.T, which byte, todo []byte) {
		kinds := rings()
		kind := kinds[int(which)%len(kinds)]
		w := newWorld(t, sim.Config{Seed: uint64(which)})
		s, err := w.transport("s").NewSender(kind, Config{Linger: 1})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		p, err := s.Invite()
		if err != nil {
			t.Fatal(err)
		}
		v := newVillain(w)
		word := remote{v.mr.Addr(), 8, v.mr.RKey()}
		mr, err := v.pd.RegisterMR(v.ring(), verbs.LocalWrite|verbs.RemoteWrite)
		if err != nil {
			t.Fatal(err)
		}
		v.meet(p, hello{slots: 2, ring: 4096, salt: 5, regions: []remote{{mr.Addr(), 8192, mr.RKey()}, word, {mr.Addr(), 8, mr.RKey()}}})
		v.theirs.salt = 5
		for x := script(todo); len(x) > 0; {
			copy(v.mem.Bytes(), v.word(&x))
			l, err := s.TryReserve(int(x.number()) % (s.MaxMessage() + 1))
			if err == nil {
				err = l.Commit(len(l.Bytes()))
			}
			if err != nil && !errors.Is(err, ErrWouldBlock) && !errors.Is(err, ErrPeerGone) {
				t.Fatal(err)
			}
			for range x.next() % 16 {
				w.net.Step()
			}
		}
	})
}
