//go:build linux && (amd64 || arm64)

package shm

import (
	"bytes"
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	"heddle/verbs"
)

// area is memory of a party that is lent, or is not.
func (p *party) area(t testing.TB, size int, access verbs.Access) verbs.MR {
	t.Helper()
	mem, err := verbs.NewMemory(size)
	if err != nil {
		t.Fatal(err)
	}
	mr, err := p.pd.RegisterMR(mem, access)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(mr.Close(), mem.Close()); err != nil {
			t.Error(err)
		}
	})
	return mr
}

// paint makes bytes that no other seed makes.
func paint(b []byte, seed byte) {
	for i := range b {
		b[i] = byte(i)*5 + byte(i>>9) + seed
	}
}

// completes waits for a completion of a QP.
func (p *party) completes(t testing.TB, q *pair) (wcs [1]verbs.WC) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for wcs[0].QPN != q.QPN() {
		if _, err := verbs.Await(ctx, p.cq, wcs[:]); err != nil {
			t.Fatal(err)
		}
	}
	return wcs
}

// sends sends from one party to the other, and compares what came.
func sends(t testing.TB, a, b *party, x, y *pair, to verbs.SGE, wr *verbs.SendWR) {
	t.Helper()
	if err := errors.Join(y.PostRecv(&verbs.RecvWR{ID: 1, SGEs: []verbs.SGE{to}}), x.PostSend(wr)); err != nil {
		t.Fatal(err)
	}
	if wc := b.completes(t, y)[0]; wc.Status != verbs.StatusOK || int(wc.ByteLen) != wr.Length() || wc.Imm != wr.Imm {
		t.Fatalf("%+v of %d bytes", wc, wr.Length())
	}
	if wc := a.completes(t, x)[0]; wc.Status != verbs.StatusOK {
		t.Fatalf("%+v", wc)
	}
	got, _ := y.host.regions.Local(b.pd.number, to, 0)
	for _, s := range wr.SGEs {
		want, _ := x.host.regions.Local(a.pd.number, s, 0)
		if !bytes.Equal(got[:len(want)], want) {
			t.Fatalf("%d of %d bytes came wrong", s.Length, wr.Length())
		}
		got = got[len(want):]
	}
}

// isLent tells whether a QP's peer has a region of its.
func isLent(q *pair, mr verbs.MR) bool {
	q.sending.Lock()
	defer q.doneSending()
	l := q.link.Load()
	for i := range l.loans {
		if l.loans[i].region == mr.(*region).Region && l.loans[i].taken {
			return true
		}
	}
	return false
}

// lent are two QPs, and a region that the second one reads.
func lent(t testing.TB, a, b *party) (x, y *pair, from, to verbs.MR) {
	t.Helper()
	x, y = a.newPair(t, verbs.RC), b.newPair(t, verbs.RC)
	joinPairs(t, x, y)
	from, to = a.area(t, 1<<20, verbs.LocalWrite|verbs.RemoteRead), b.area(t, 2<<20, verbs.LocalWrite)
	for start := time.Now(); !isLent(x, from); {
		if time.Since(start) > 20*time.Second {
			t.Fatal("the region is not lent")
		}
		sends(t, a, b, x, y, to.SGE(0, 2<<20), &verbs.SendWR{Op: verbs.OpSend, Flags: verbs.Signaled, SGEs: []verbs.SGE{from.SGE(0, lentSize)}})
	}
	return x, y, from, to
}

// TestLent: long messages come whole, from pieces that are lent and others.
func TestLent(t *testing.T) {
	a, b := newParty(t), newParty(t)
	x, y, from, to := lent(t, a, b)
	private := a.area(t, 1<<18, 0)
	paint(from.Memory().Bytes(), 1)
	paint(private.Memory().Bytes(), 99)
	for i, list := range [][]verbs.SGE{
		{from.SGE(0, lentSize-1)},
		{from.SGE(3, lentSize)},
		{from.SGE(77, lentPiece)},
		{from.SGE(5, lentPiece+1)},
		{from.SGE(0, 1<<20)},
		{private.SGE(1, 100_000), from.SGE(9, 300_001), private.SGE(0, 7), from.SGE(0, 8)},
		{from.SGE(1<<20-200_000, 200_000), private.SGE(0, 1<<18)},
		{private.SGE(0, 1<<18)},
	} {
		wr := &verbs.SendWR{Op: verbs.OpSendImm, Imm: uint32(i + 1), Flags: verbs.Signaled, SGEs: list}
		q, r := x, y
		if len(list) > 1 {
			q, r = manyPieces(t, a, b, from, to)
		}
		sends(t, a, b, q, r, to.SGE(1, 2<<20-1), wr)
	}
	if err := errors.Join(x.Close(), y.Close()); err != nil {
		t.Error(err)
	}
}

// manyPieces are QPs whose requests have several pieces; the region is lent.
func manyPieces(t testing.TB, a, b *party, from, to verbs.MR) (x, y *pair) {
	t.Helper()
	qp, err := a.pd.CreateQP(verbs.QPAttr{Type: verbs.RC, SendCQ: a.cq, RecvCQ: a.cq, SendSGE: 8})
	if err != nil {
		t.Fatal(err)
	}
	x, y = qp.(*pair), b.newPair(t, verbs.RC)
	joinPairs(t, x, y)
	t.Cleanup(func() { _ = errors.Join(x.Close(), y.Close()) })
	for !isLent(x, from) {
		sends(t, a, b, x, y, to.SGE(0, 1<<20), &verbs.SendWR{Op: verbs.OpSend, Flags: verbs.Signaled, SGEs: []verbs.SGE{from.SGE(0, lentSize)}})
	}
	return x, y
}

// TestLentOnce: what is lent is in no ring. It is read when the receiver takes it.
func TestLentOnce(t *testing.T) {
	a, b := newParty(t), newParty(t)
	x, y, from, to := lent(t, a, b)
	paint(from.Memory().Bytes(), 1)
	if err := x.PostSend(&verbs.SendWR{Op: verbs.OpSend, Flags: verbs.Signaled, SGEs: []verbs.SGE{from.SGE(0, 1<<20)}}); err != nil {
		t.Fatal(err)
	}
	paint(from.Memory().Bytes(), 2) // which nobody may do
	if err := y.PostRecv(&verbs.RecvWR{SGEs: []verbs.SGE{to.SGE(0, 1<<20)}}); err != nil {
		t.Fatal(err)
	}
	b.completes(t, y)
	if !bytes.Equal(to.Memory().Bytes()[:1<<20], from.Memory().Bytes()) {
		t.Error("what was sent is not what is there now")
	}
	if err := errors.Join(x.Close(), y.Close()); err != nil {
		t.Error(err)
	}
}

// TestLentTakenBack: when the sender has its memory again, nothing of it is
// delivered any more.
func TestLentTakenBack(t *testing.T) {
	for name, end := range map[string]func(*pair) error{
		"ERR":   func(q *pair) error { return q.Modify(verbs.Err) },
		"RESET": func(q *pair) error { return q.Modify(verbs.Reset) },
		"Close": (*pair).Close,
	} {
		t.Run(name, func(t *testing.T) {
			a, b := newParty(t), newParty(t)
			x, y, from, to := lent(t, a, b)
			if err := errors.Join(
				x.PostSend(&verbs.SendWR{Op: verbs.OpSend, SGEs: []verbs.SGE{from.SGE(0, lentSize)}}),
				x.PostSend(&verbs.SendWR{Op: verbs.OpSend, SGEs: []verbs.SGE{from.SGE(0, 8)}}),
				end(x),
				y.PostRecv(&verbs.RecvWR{SGEs: []verbs.SGE{to.SGE(0, lentSize)}}),
			); err != nil {
				t.Fatal(err)
			}
			y.look()
			var wcs [4]verbs.WC
			n, err := b.cq.Poll(wcs[:])
			if err != nil {
				t.Fatal(err)
			}
			for _, wc := range wcs[:n] {
				if wc.Status == verbs.StatusOK {
					t.Errorf("%+v", wc)
				}
			}
			if err := errors.Join(x.Close(), y.Close()); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestLentAndClosed: a region that its owner closes while it is sent from is the
// end of the connection, and no more.
func TestLentAndClosed(t *testing.T) {
	a, b := newParty(t), newParty(t)
	x, y, from, to := lent(t, a, b)
	if err := errors.Join(
		x.PostSend(&verbs.SendWR{Op: verbs.OpSend, SGEs: []verbs.SGE{from.SGE(0, lentSize)}}),
		from.Close(),
		y.PostRecv(&verbs.RecvWR{SGEs: []verbs.SGE{to.SGE(0, lentSize)}}),
	); err != nil {
		t.Fatal(err)
	}
	y.look()
	if wc := a.completes(t, x)[0]; wc.Status == verbs.StatusOK {
		t.Errorf("sent from a region that is closed: %+v", wc)
	}
	if wc := b.completes(t, y)[0]; wc.Status != verbs.StatusFlushed {
		t.Errorf("%+v", wc)
	}
	works(t, a, b)
	if err := errors.Join(x.Close(), y.Close()); err != nil {
		t.Error(err)
	}
}

// TestNotLent: a region is lent to those only who may READ it.
func TestNotLent(t *testing.T) {
	a, b := newParty(t), newParty(t)
	readable, private := a.area(t, 1<<18, verbs.RemoteRead), a.area(t, 1<<18, verbs.LocalWrite|verbs.RemoteWrite)
	to := b.area(t, 1<<18, verbs.LocalWrite)
	for name, test := range map[string]struct {
		service verbs.QPType
		access  verbs.Access
		from    verbs.MR
	}{
		"a region that may not be read": {verbs.RC, 0, private},
		"a QP that may not":             {verbs.RC, verbs.RemoteWrite, readable},
		"UC":                            {verbs.UC, 0, readable},
	} {
		qp, err := a.pd.CreateQP(verbs.QPAttr{Type: test.service, SendCQ: a.cq, RecvCQ: a.cq, Access: test.access})
		if err != nil {
			t.Fatal(err)
		}
		x, y := qp.(*pair), b.newPair(t, test.service)
		joinPairs(t, x, y)
		for range 4 {
			sends(t, a, b, x, y, to.SGE(0, 1<<18), &verbs.SendWR{Op: verbs.OpSend, Flags: verbs.Signaled, SGEs: []verbs.SGE{test.from.SGE(0, 1<<17)}})
		}
		if l := x.link.Load(); len(l.loans) > 0 {
			t.Errorf("%s: %+v", name, l.loans)
		}
		if err := errors.Join(x.Close(), y.Close()); err != nil {
			t.Error(err)
		}
	}
}

// TestManyLoans: a peer can have a bounded number of regions mapped, each for
// reading only.
func TestManyLoans(t *testing.T) {
	a, b := newParty(t), newParty(t)
	q := a.newPair(t, verbs.RC)
	in := intrude(t, q)
	before := openFiles(t)
	for i := range 2 * maxLoans {
		f, file := b.opened.present(b.mr.(*region).Region, verbs.RemoteRead)
		f.Kind, f.Key, f.Generation, f.From = offerFrame, uint32(i+1)<<16|0xffff, 0, endpoint{Type: verbs.RC}
		if err := errors.Join(send(in.conn, &f, file), file.Close()); err != nil {
			t.Fatal(err)
		}
		answer, files, err := receive(in.conn)
		if err != nil || len(files) != 0 || answer.Kind != takenFrame || answer.Key != f.Key {
			t.Fatalf("%+v, %d files, %v", answer, len(files), err)
		}
		if taken := answer.Status == verbs.StatusOK; taken != (i < maxLoans) {
			t.Errorf("loan %d: %v", i, answer.Status)
		}
	}
	if n := openFiles(t); n > before {
		t.Errorf("%d descriptors, %d before", n, before)
	}
	if err := errors.Join(q.Close(), in.close()); err != nil {
		t.Error(err)
	}
}

// TestCutOff: of an unreliable message whose end does not come, nothing is
// received, and its buffer is the next one's (IBTA 9.8.2.2).
func TestCutOff(t *testing.T) {
	for name, op := range map[string]verbs.Op{"SEND": verbs.OpSend, "WRITE_WITH_IMM": verbs.OpWriteImm} {
		t.Run(name, func(t *testing.T) {
			a, b := newParty(t), newParty(t)
			x, y := a.newPair(t, verbs.UC), b.newPair(t, verbs.UC)
			joinPairs(t, x, y)
			from, to := a.area(t, 1<<20, verbs.LocalWrite), b.area(t, 1<<20, verbs.LocalWrite)
			if err := errors.Join(
				y.PostRecv(&verbs.RecvWR{ID: 1, SGEs: []verbs.SGE{to.SGE(0, 1<<20)}}),
				x.PostSend(&verbs.SendWR{ID: 2, Op: verbs.OpSend, Flags: verbs.Signaled, SGEs: []verbs.SGE{from.SGE(0, 1<<20)}}),
				from.Close(),
			); err != nil {
				t.Fatal(err)
			}
			y.look() // begins, and makes room for the rest
			if wc := a.completes(t, x)[0]; wc.Status != verbs.StatusLocalProtection || x.now() != verbs.SQE {
				t.Fatalf("%+v, in %v", wc, x.now())
			}
			for start := time.Now(); x.Modify(verbs.RTS) != nil && time.Since(start) < 20*time.Second; {
				runtime.Gosched()
			}
			next := &verbs.SendWR{ID: 3, Op: op, Flags: verbs.Signaled, Imm: 5, SGEs: []verbs.SGE{a.mr.SGE(0, 8)}, RemoteAddr: b.mr.Addr(), RKey: b.mr.RKey()}
			for id := uint64(1); id < 4; id++ {
				paint(a.mem.Bytes()[:8], byte(id))
				if err := errors.Join(y.PostRecv(&verbs.RecvWR{ID: id + 1, SGEs: []verbs.SGE{to.SGE(0, 1<<20)}}), x.PostSend(next)); err != nil {
					t.Fatal(err)
				}
				wc, where := b.completes(t, y)[0], to.Memory().Bytes()
				if op == verbs.OpWriteImm {
					where = b.mem.Bytes()
				}
				if wc.Status != verbs.StatusOK || wc.ID != id || wc.ByteLen != 8 || !bytes.Equal(where[:8], a.mem.Bytes()[:8]) {
					t.Errorf("%+v", wc)
				}
				a.completes(t, x)
			}
			if err := errors.Join(x.Close(), y.Close()); err != nil {
				t.Error(err)
			}
		})
	}
}
