package sim_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"testing"
	"time"

	"heddle/verbs"
	"heddle/verbs/sim"
)

// side is one of two ends: a device with all that a program needs of it.
type side struct {
	t   testing.TB
	dev *sim.Device
	ctx verbs.Context
	pd  verbs.PD
	cq  verbs.CQ
	mem *verbs.Memory
	mr  verbs.MR
	qp  verbs.QP
}

const memorySize = 1 << 16

func network(t testing.TB, c sim.Config) *sim.Network {
	t.Helper()
	n, err := sim.New(c)
	must(t, err)
	t.Cleanup(func() { must(t, n.Close()) })
	return n
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func get[T any](t testing.TB) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		must(t, err)
		return v
	}
}

// newSide opens a new device, with memory of which anything may be done.
func newSide(t testing.TB, n *sim.Network, name string) *side {
	t.Helper()
	s := &side{t: t}
	s.dev = get[*sim.Device](t)(n.Add(name))
	s.ctx = get[verbs.Context](t)(s.dev.Open())
	s.pd = get[verbs.PD](t)(s.ctx.AllocPD())
	s.cq = get[verbs.CQ](t)(s.ctx.CreateCQ(verbs.CQAttr{Depth: 1024}))
	s.mem = get[*verbs.Memory](t)(verbs.NewMemory(memorySize))
	s.mr = get[verbs.MR](t)(s.pd.RegisterMR(s.mem, verbs.LocalWrite|verbs.RemoteRead|verbs.RemoteWrite|verbs.RemoteAtomic))
	t.Cleanup(func() {
		if s.qp != nil {
			must(t, s.qp.Close())
		}
		for _, c := range []interface{ Close() error }{s.mr, s.pd, s.cq, s.ctx, s.mem} {
			must(t, c.Close())
		}
	})
	return s
}

// create makes the side's QP.
func (s *side) create(a verbs.QPAttr) {
	s.t.Helper()
	a.SendCQ, a.RecvCQ = s.cq, s.cq
	if a.Type == 0 {
		a.Type = verbs.RC
	}
	s.qp = get[verbs.QP](s.t)(s.pd.CreateQP(a))
}

// pair is two sides whose QPs are joined.
func pair(t testing.TB, n *sim.Network, a verbs.QPAttr) (x, y *side) {
	t.Helper()
	x, y = newSide(t, n, "x"), newSide(t, n, "y")
	x.create(a)
	y.create(a)
	join(t, x, y)
	return x, y
}

func join(t testing.TB, x, y *side) {
	t.Helper()
	must(t, x.qp.Connect(t.Context(), y.qp.Endpoint()))
	must(t, y.qp.Connect(t.Context(), x.qp.Endpoint()))
}

// completions waits for so many.
func (s *side) completions(count int) (list []verbs.WC) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 20*time.Second)
	defer cancel()
	into := make([]verbs.WC, count)
	for len(list) < count {
		n, err := verbs.Await(ctx, s.cq, into[:count-len(list)])
		if err != nil {
			s.t.Fatalf("%d of %d completions: %v", len(list), count, err)
		}
		list = append(list, into[:n]...)
	}
	return list
}

// ok waits for a completion that must be a success.
func (s *side) ok() verbs.WC {
	s.t.Helper()
	wc := s.completions(1)[0]
	if err := wc.Err(); err != nil {
		s.t.Fatal(err)
	}
	return wc
}

func (s *side) post(wr verbs.SendWR) {
	s.t.Helper()
	must(s.t, s.qp.PostSend(&wr))
}

func (s *side) recv(id uint64, sges ...verbs.SGE) {
	s.t.Helper()
	must(s.t, s.qp.PostRecv(&verbs.RecvWR{ID: id, SGEs: sges}))
}

// fill writes a pattern, so that zero bytes are few.
func fill(b []byte, seed byte) {
	for i := range b {
		b[i] = byte(i*7) + seed | 1
	}
}

// TestOperations: each operation that a profile has, with sizes around what a
// packet carries; what it has not is refused.
func TestOperations(t *testing.T) {
	for _, p := range sim.Profiles() {
		t.Run(p.Name, func(t *testing.T) {
			n := network(t, sim.Config{Profile: p, Seed: 1})
			x, y := pair(t, n, verbs.QPAttr{})
			caps := x.ctx.Caps()
			mtu := p.MTU.Bytes()
			for _, size := range []int{0, 1, 8, 63, 100, mtu - 1, mtu, mtu + 1, 5*mtu + 3} {
				if size > caps.MaxMessage {
					continue
				}
				for op := verbs.OpSend; op <= verbs.OpCompareSwap; op++ {
					operation(t, x, y, op, size, caps.Can(verbs.RC, op))
				}
			}
		})
	}
}

func operation(t *testing.T, x, y *side, op verbs.Op, size int, can bool) {
	t.Helper()
	atomic := op == verbs.OpFetchAdd || op == verbs.OpCompareSwap
	if atomic {
		size = 8
	}
	const half = memorySize / 2
	clear(x.mem.Bytes())
	clear(y.mem.Bytes())
	fill(x.mem.Bytes()[:size], 1)
	fill(y.mem.Bytes()[half:half+size], 2)
	wr := verbs.SendWR{
		ID: 7, Op: op, Flags: verbs.Signaled, SGEs: []verbs.SGE{x.mr.SGE(0, size)}, Imm: 0x8000_0001,
		RemoteAddr: y.mr.Addr() + half, RKey: y.mr.RKey(), Swap: 5, Compare: binary.NativeEndian.Uint64(y.mem.Bytes()[half:]),
	}
	if !can {
		if err := x.qp.PostSend(&wr); !errors.Is(err, verbs.ErrNotSupported) {
			t.Errorf("%v: %v, want ErrNotSupported", op, err)
		}
		return
	}
	receives := op == verbs.OpSend || op == verbs.OpSendImm || op == verbs.OpWriteImm
	if receives {
		y.recv(9, y.mr.SGE(0, half))
	}
	before := bytes.Clone(y.mem.Bytes()[half : half+size])
	x.post(wr)
	if wc := x.ok(); wc.ID != 7 || wc.Op != op || wc.QPN != x.qp.QPN() {
		t.Errorf("%v of %d: completion %+v", op, size, wc)
	}
	at, want := y.mem.Bytes()[half:half+size], x.mem.Bytes()[:size]
	if receives {
		wc := y.ok()
		imm := op != verbs.OpSend
		if wc.ID != 9 || wc.ByteLen != uint32(size) || imm != (wc.Flags&verbs.WithImm != 0) || imm && wc.Imm != 0x8000_0001 {
			t.Errorf("%v of %d: completion %+v at the receiver", op, size, wc)
		}
		if op != verbs.OpWriteImm {
			at = y.mem.Bytes()[:size]
		}
	}
	if op == verbs.OpFetchAdd {
		want = binary.NativeEndian.AppendUint64(nil, binary.NativeEndian.Uint64(before)+5)
	} else if op == verbs.OpCompareSwap {
		want = binary.NativeEndian.AppendUint64(nil, 5)
	}
	if atomic && !bytes.Equal(x.mem.Bytes()[:8], before) {
		t.Errorf("%v: %x, want %x", op, x.mem.Bytes()[:8], before)
	}
	if !bytes.Equal(at, want) {
		t.Errorf("%v of %d bytes: the data differs", op, size)
	}
}
