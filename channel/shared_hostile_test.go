package channel

import (
	"encoding/binary"
	"errors"
	"testing"
	"time"

	"heddle/verbs"
	"heddle/verbs/sim"
)

// forge writes what looks like a record, or a part of one, at some place of a ring
// that many share.
func (v *villain) forge(s *script) {
	h := v.theirs
	pos := uint64(s.next()) % (2 * h.ring / cellSize)
	at := pos % (h.ring / cellSize)
	to, offset := h.regions[0], at*cellSize
	n, cells := uint64(s.next())|uint64(s.next()&15)<<8, uint64(s.next()%40)
	f := uint64(factsOf(int(n), cells, uint64(s.next()%4)))
	wr := verbs.SendWR{Op: verbs.OpWrite}
	var word uint64
	switch s.next() % 8 {
	case 0: // the end of a record
		word, offset = f|bellByte, offset+8+(n+7)&^7
	case 1:
		word = seal(uint32(n), placeSalt(h.salt, pos))
	case 2:
		word = seal(buriedBit|uint32(cells), placeSalt(h.salt, pos))
	case 3:
		to, offset = h.regions[len(h.regions)-1], at*8%h.regions[len(h.regions)-1].length
		word = seal(uint32(cells), placeSalt(h.salt, pos))
	case 4:
		word, wr.Op, wr.Imm = f, verbs.OpWriteImm, uint32(at)
	case 5:
		word, wr.Op, wr.Imm = f|buriedFact, verbs.OpWriteImm, uint32(at)|uint32(s.next())<<immShift
	case 6:
		to, offset, wr.Op = h.regions[2], 0, verbs.OpFetchAdd
		wr.Swap, wr.SGEs = s.number()<<(s.next()%64), []verbs.SGE{v.mr.SGE(0, 8)}
	case 7: // a cell
		var data [cellData]byte
		binary.NativeEndian.PutUint64(data[:], f)
		binary.NativeEndian.PutUint64(data[8:], seal(uint32(cells), placeSalt(h.salt, pos)))
		var c cell
		c.put(&data, lapBits(pos/(h.ring/cellSize)))
		for _, w := range c[1:] {
			wr.RemoteAddr, wr.RKey = to.addr+offset, to.rkey
			v.post(wr, binary.NativeEndian.AppendUint64(nil, w))
			offset += 8
		}
		word, offset = c[0], offset-8*uint64(len(c)-1)
	}
	wr.RemoteAddr, wr.RKey = to.addr+offset, to.rkey
	if wr.Op == verbs.OpFetchAdd {
		wr.Flags = verbs.Signaled
		_ = v.qp.PostSend(&wr)
		return
	}
	v.post(wr, binary.NativeEndian.AppendUint64(nil, word))
}

// FuzzHostileShared: whatever one of the peers does to a ring that many share, the
// receiver goes on, or tells that the ring is spoilt, and so does the other sender.
func FuzzHostileShared(f *testing.F) {
	for i := range byte(len(sharedRings())) {
		f.Add(i, []byte{1, 0, 40, 0, 1, 1, 1, 3, 1, 1, 0, 40, 0, 1, 1, 0, 3, 1, 1, 0, 40, 0, 1, 1, 3, 3, 1})
		f.Add(i, []byte{1, 0, 40, 0, 1, 1, 4, 3, 1, 1, 0, 40, 0, 1, 1, 2, 3, 1, 1, 0, 40, 0, 1, 1, 7, 3, 1})
		f.Add(i, []byte{1, 0, 0, 0, 0, 0, 6, 255, 255, 0, 49, 3, 1, 0, 1, 8, 0, 0, 0, 9, 9})
	}
	f.Fuzz(func(t *testing.T, which byte, todo []byte) {
		kinds := sharedRings()
		kind := kinds[int(which)%len(kinds)]
		w := newWorld(t, sim.Config{Seed: uint64(len(todo))})
		r, err := w.transport("r").NewReceiver(kind, Config{Ring: 4096, Slots: 3, Stall: 10})
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
		honest := w.joined(kind, "honest", r)
		shared, now := receiverOf(r), time.Unix(1, 0)
		shared.clock = func() time.Time { return now }
		fine := func(err error) {
			if err != nil && !errors.Is(err, ErrWouldBlock) && !errors.Is(err, ErrPeerGone) {
				t.Fatal(err)
			}
		}
		sum := byte(0)
		for s := script(todo); len(s) > 0; {
			now = now.Add(time.Duration(s.next()))
			if s.next()%8 == 0 {
				now = now.Add(time.Second)
			}
			c := shared.now
			v.theirs.salt, v.theirs.regions = c.salt, []remote{c.ring.remote(), shared.directory.remote(), shared.tail.remote(), c.ring.remote()}
			if c.bells != nil {
				v.theirs.regions[3] = c.bells.remote()
			}
			switch s.next() % 4 {
			case 0:
				v.act(&s)
			case 1:
				v.forge(&s)
			default:
				l, err := honest.TryReserve(int(s.next()))
				if err == nil {
					err = l.Commit(len(l.Bytes()))
				}
				fine(err)
			}
			for range s.next() % 16 {
				w.net.Step()
			}
			m, err := r.TryReceive()
			fine(err)
			for _, b := range m.Bytes() {
				sum += b
			}
			if s.next()%4 != 0 {
				m.Release()
			} else {
				defer m.Release()
			}
		}
	})
}
