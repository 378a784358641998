package channel

import (
	"encoding/binary"
	"errors"
	"testing"
	"unsafe"

	"heddle/verbs"
	"heddle/verbs/sim"
)

// TestSlotMemory: messages come to the caller's memory, those without a bell to the
// beginning of a slot, and what is behind them stays as it was.
func TestSlotMemory(t *testing.T) {
	for _, kind := range slotKinds() {
		t.Run(kind.Name, func(t *testing.T) {
			const slots, size = 4, 512
			mem, err := verbs.NewMemory(slots * (size + 8))
			if err != nil {
				t.Fatal(err)
			}
			for i := range mem.Bytes() {
				mem.Bytes()[i] = 0xee
			}
			b := newPair(t, kind, sim.InOrder(), Config{Slots: slots, Size: size, Memory: mem})
			send(t, b.s, "in place")
			got := b.receive().Bytes()
			at := uintptr(unsafe.Pointer(&got[0])) - uintptr(mem.Addr())
			if at >= uintptr(mem.Size()) || string(mem.Bytes()[at:at+8]) != "in place" {
				t.Fatalf("%q, %d bytes from the memory's begin", got, at)
			}
			if kind.Name != "slot-bell" && (at%size != 0 || mem.Bytes()[at+8] != 0xee) {
				t.Errorf("it is at %d, with %#x behind it", at, mem.Bytes()[at+8])
			}
			var small *Receiver
			if small, err = b.r.t.NewReceiver(kind, Config{Slots: 64, Size: size, Memory: mem}); !errors.Is(err, ErrInvalid) {
				t.Errorf("too little memory: %v, %v", small, err)
			}
		})
	}
}

// TestHostileSlots: what no sender says has the peer be gone, as ErrInvalid.
func TestHostileSlots(t *testing.T) {
	note := func(x slotNotice) []byte {
		b := make([]byte, noteSize)
		x.put(b)
		return b
	}
	bell := func(w uint64) []byte { return binary.NativeEndian.AppendUint64(nil, w) }
	const size = 64
	for _, test := range []struct {
		what, kind string
		wr         verbs.SendWR
		region     int
		offset     uint64
		data       []byte
		times      int
	}{
		{"a length", "slot-bell", verbs.SendWR{Op: verbs.OpWrite}, 0, size, bell(trailer(size+1, 0)), 1},
		{"a number", "slot-bell", verbs.SendWR{Op: verbs.OpWrite}, 0, size, bell(trailer(1, 1)), 1},
		{"a number", "slot-imm", verbs.SendWR{Op: verbs.OpWriteImm, Imm: 2}, 0, 0, bell(0), 1},
		{"one before", "slot-imm", verbs.SendWR{Op: verbs.OpWriteImm, Imm: 1<<32 - 1}, 0, 0, bell(0), 1},
		{"twice the same", "slot-imm", verbs.SendWR{Op: verbs.OpWriteImm, Imm: 1}, 0, 0, bell(0), 2},
		{"a length", "slot-imm", verbs.SendWR{Op: verbs.OpWriteImm}, 0, 0, make([]byte, size+1), 1},
		{"a SEND", "slot-imm", verbs.SendWR{Op: verbs.OpSend}, 0, 0, nil, 1},
		{"a number", "slot-send", verbs.SendWR{Op: verbs.OpSend}, 0, 0, note(slotNotice{number: 2}), 1},
		{"a length", "slot-send", verbs.SendWR{Op: verbs.OpSend}, 0, 0, note(slotNotice{length: size + 1}), 1},
		{"twice the same", "slot-send", verbs.SendWR{Op: verbs.OpSend}, 0, 0, note(slotNotice{number: 1}), 2},
		{"a short note", "slot-send", verbs.SendWR{Op: verbs.OpSend}, 0, 0, note(slotNotice{})[:8], 1},
		{"an immediate", "slot-send", verbs.SendWR{Op: verbs.OpWriteImm}, 0, 0, bell(0), 1},
	} {
		t.Run(test.kind+"/"+test.what, func(t *testing.T) {
			r, v := hostilePair(t, test.kind, 1)
			to := v.theirs.regions[test.region]
			test.wr.RemoteAddr, test.wr.RKey = to.addr+test.offset, to.rkey
			for range test.times {
				v.post(test.wr, test.data)
			}
			v.net.Settle(1000)
			if _, err := r.TryReceive(); !errors.Is(err, ErrInvalid) || !errors.Is(err, ErrPeerGone) {
				t.Error(err)
			}
		})
	}
	t.Run("slot-flag/a length", func(t *testing.T) {
		r, v := hostilePair(t, "slot-flag", 1)
		to := v.theirs.regions[2]
		v.post(verbs.SendWR{Op: verbs.OpWrite, RemoteAddr: to.addr, RKey: to.rkey}, bell(seal(size+1, saltOf(0, v.theirs.salt))))
		v.net.Settle(1000)
		if _, err := r.TryReceive(); !errors.Is(err, ErrInvalid) {
			t.Error(err)
		}
	})
}

// hostilePair is a receiver of two slots of 64 bytes, with a villain for a sender.
func hostilePair(t *testing.T, name string, seed uint64) (*Receiver, *villain) {
	t.Helper()
	kind, err := Find(name)
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, sim.Config{Seed: seed})
	r, err := w.transport("r").NewReceiver(kind, Config{Slots: 2, Size: 64})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() }) //nolint:errcheck // the network may be closed
	p, err := r.Invite()
	if err != nil {
		t.Fatal(err)
	}
	v := newVillain(w)
	v.meet(p, hello{sends: true})
	return r, v
}

// FuzzHostileSlotSender: a receiver of slots takes whatever a peer writes, sends or
// tells for messages of its own memory, or says that the peer is gone.
func FuzzHostileSlotSender(f *testing.F) {
	for i := range byte(len(slotKinds())) {
		f.Add(i, uint64(i), []byte("\x00\x00\x00\x00\x01\x08\x00\x00\x00\x02\x00\x00\x00\x01\x01\x00\x00\x00\x02\x01"))
		f.Add(i, uint64(i), []byte{2, 0, 0, 0, 0, 4, 0, 0, 0, 2, 0, 0, 0, 0, 1, 255, 255, 0, 0, 2})
	}
	f.Fuzz(func(t *testing.T, which byte, seed uint64, todo []byte) {
		kinds := slotKinds()
		r, v := hostilePair(t, kinds[int(which)%len(kinds)].Name, seed)
		var held []Message
		for s := script(todo); len(s) > 0; {
			if len(v.theirs.regions) > 0 {
				v.act(&s)
			} else {
				v.post(verbs.SendWR{Op: verbs.OpSend}, make([]byte, s.next()%80))
			}
			for range s.next() % 16 {
				v.net.Step()
			}
			m, err := r.TryReceive()
			switch {
			case err == nil && len(m.Bytes()) > 64:
				t.Fatalf("%d bytes of a slot of 64", len(m.Bytes()))
			case err == nil:
				held = append(held, m)
			case !errors.Is(err, ErrWouldBlock) && !errors.Is(err, ErrPeerGone):
				t.Fatal(err)
			}
			if n := len(held); n > 0 && s.next()%2 == 0 {
				held[n-1].Release()
				held = held[:n-1]
			}
		}
	})
}

// FuzzHostileSlotReceiver: a sender whose peer gives back any slots, or any number of
// buffers, goes on, waits, or says that the peer is gone.
func FuzzHostileSlotReceiver(f *testing.F) {
	for i := range byte(len(slotKinds())) {
		f.Add(i, []byte{0, 0, 0, 200, 1, 1, 0, 200, 0, 1, 0, 200, 2, 3, 4, 200})
		f.Add(i, []byte{0, 5, 9, 200, 0, 5, 9, 200, 0, 5, 9, 200})
	}
	f.Fuzz(func(t *testing.T, which byte, todo []byte) {
		kinds := slotKinds()
		w := newWorld(t, sim.Config{Seed: uint64(which)})
		s, err := w.transport("s").NewSender(kinds[int(which)%len(kinds)], Config{Linger: 1})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close() //nolint:errcheck // the peer is a villain
		p, err := s.Invite()
		if err != nil {
			t.Fatal(err)
		}
		v := newVillain(w)
		list := remote{v.mr.Addr(), 8192, v.mr.RKey()}
		v.meet(p, hello{slots: 2, size: 64, ring: 4096, salt: 5, regions: []remote{list, list, list}})
		for x := script(todo); len(x) > 0; {
			entry, slot, lap := int(x.next()%8), uint32(x.next()), uint64(x.next()%2)
			binary.NativeEndian.PutUint64(v.mem.Bytes()[8*entry:], seal(listed(slot, 512*lap, 512), 5))
			v.post(verbs.SendWR{Op: verbs.OpSend}, binary.NativeEndian.AppendUint64(nil, uint64(slot)))
			l, err := s.TryReserve(int(slot) % 65)
			if err == nil {
				err = l.Commit(len(l.Bytes()))
			}
			if err != nil && !errors.Is(err, ErrWouldBlock) && !errors.Is(err, ErrPeerGone) {
				t.Fatal(err)
			}
			for range x.next() % 64 {
				w.net.Step()
			}
		}
	})
}
