//go:build linux && (amd64 || arm64)

package soft_test

import (
	"context"
	"fmt"
	"testing"

	"heddle/verbs"
	"heddle/verbs/soft"
)

// side is a QP with its memory.
type side struct {
	ctx verbs.Context
	pd  verbs.PD
	cq  verbs.CQ
	mr  verbs.MR
	qp  verbs.QP
}

func newSide(tb testing.TB, d verbs.Device, size int) *side {
	tb.Helper()
	s := &side{ctx: open(tb, d)}
	s.pd = get[verbs.PD](tb)(s.ctx.AllocPD())
	s.cq = get[verbs.CQ](tb)(s.ctx.CreateCQ(verbs.CQAttr{Depth: 1024}))
	mem := get[*verbs.Memory](tb)(verbs.NewMemory(size))
	s.mr = get[verbs.MR](tb)(s.pd.RegisterMR(mem, verbs.LocalWrite|verbs.RemoteRead|verbs.RemoteWrite|verbs.RemoteAtomic))
	s.qp = get[verbs.QP](tb)(s.pd.CreateQP(verbs.QPAttr{Type: verbs.RC, SendCQ: s.cq, RecvCQ: s.cq, SendWR: 256, RecvWR: 256}))
	tb.Cleanup(func() {
		for _, c := range []func() error{s.qp.Close, s.cq.Close, s.mr.Close, s.pd.Close, s.ctx.Close, mem.Close} {
			if err := c(); err != nil {
				tb.Error(err)
			}
		}
	})
	return s
}

func get[T any](tb testing.TB) func(T, error) T {
	return func(v T, err error) T {
		tb.Helper()
		if err != nil {
			tb.Fatal(err)
		}
		return v
	}
}

func pair(tb testing.TB, near, far verbs.Device, size int) (a, b *side) {
	tb.Helper()
	a, b = newSide(tb, near, size), newSide(tb, far, size)
	get[any](tb)(nil, a.qp.Connect(tb.Context(), b.qp.Endpoint()))
	get[any](tb)(nil, b.qp.Connect(tb.Context(), a.qp.Endpoint()))
	return a, b
}

// BenchmarkStream has so many requests under way, over the loopback.
func BenchmarkStream(b *testing.B) {
	for _, test := range []struct {
		op   verbs.Op
		size int
		deep int
	}{
		{verbs.OpWrite, 64 << 10, 16},
		{verbs.OpWrite, 1 << 20, 4},
		{verbs.OpSend, 4096, 64},
		{verbs.OpSend, 64 << 10, 16},
		{verbs.OpRead, 64 << 10, 16},
		{verbs.OpWrite, 8, 64},
	} {
		b.Run(fmt.Sprintf("%v/%d", test.op, test.size), func(b *testing.B) {
			dev := soft.OnAddress(loopback(3))
			x, y := pair(b, dev, soft.OnAddress(loopback(4)), test.size)
			go y.refill(b.Context(), test.op, test.size)
			wr := verbs.SendWR{Op: test.op, Flags: verbs.Signaled, SGEs: []verbs.SGE{x.mr.SGE(0, test.size)}, RemoteAddr: y.mr.Addr(), RKey: y.mr.RKey()}
			wcs := make([]verbs.WC, 16)
			b.SetBytes(int64(test.size))
			under := 0
			for b.Loop() {
				if under == test.deep {
					n := get[int](b)(verbs.Await(b.Context(), x.cq, wcs))
					under -= n
				}
				get[any](b)(nil, x.qp.PostSend(&wr))
				under++
			}
			for under > 0 {
				under -= get[int](b)(verbs.Await(b.Context(), x.cq, wcs))
			}
			s := dev.Stats()
			b.ReportMetric(float64(s.Resent), "resent")
			b.ReportMetric(float64(s.Timeouts), "timeouts")
			b.ReportMetric(float64(s.Gaps), "gaps")
		})
	}
}

// refill posts receives as they are used.
func (s *side) refill(ctx context.Context, op verbs.Op, size int) {
	if !op.Receives() {
		return
	}
	wr := verbs.RecvWR{SGEs: []verbs.SGE{s.mr.SGE(0, size)}}
	for range 256 {
		if s.qp.PostRecv(&wr) != nil {
			return
		}
	}
	wcs := make([]verbs.WC, 64)
	for {
		n, err := verbs.Await(ctx, s.cq, wcs)
		if err != nil {
			return
		}
		for range n {
			if s.qp.PostRecv(&wr) != nil {
				return
			}
		}
	}
}

// BenchmarkPingPong is half a round trip of SENDs.
func BenchmarkPingPong(b *testing.B) {
	x, y := pair(b, soft.OnAddress(loopback(3)), soft.OnAddress(loopback(4)), 4096)
	echo := func(s *side, first bool, rounds int) {
		recv := verbs.RecvWR{SGEs: []verbs.SGE{s.mr.SGE(0, 64)}}
		wr := verbs.SendWR{Op: verbs.OpSend, SGEs: []verbs.SGE{s.mr.SGE(64, 8)}}
		wcs := make([]verbs.WC, 1)
		for i := range rounds {
			if wr.Flags = 0; i%64 == 63 {
				wr.Flags = verbs.Signaled
			}
			if first && s.qp.PostSend(&wr) != nil {
				return
			}
			for got := false; !got; {
				n, err := verbs.Await(b.Context(), s.cq, wcs)
				if err != nil {
					return
				}
				got = n == 1 && wcs[0].Op == verbs.OpRecv
			}
			if s.qp.PostRecv(&recv) != nil || !first && s.qp.PostSend(&wr) != nil {
				return
			}
		}
	}
	for _, s := range []*side{x, y} {
		for range 4 {
			get[any](b)(nil, s.qp.PostRecv(&verbs.RecvWR{SGEs: []verbs.SGE{s.mr.SGE(0, 64)}}))
		}
	}
	go echo(y, false, b.N)
	b.ResetTimer()
	echo(x, true, b.N)
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(2*b.N), "ns/oneway")
}
