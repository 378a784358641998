package sim_test

import (
	"testing"

	"heddle/verbs"
	"heddle/verbs/sim"
)

// exchange makes one operation after the other, and takes what they complete.
func exchange(tb testing.TB, x, y *side, op verbs.Op, size int) func() {
	tb.Helper()
	wr := verbs.SendWR{
		Op: op, Flags: verbs.Signaled, SGEs: []verbs.SGE{x.mr.SGE(0, size)}, RemoteAddr: y.mr.Addr(), RKey: y.mr.RKey(),
	}
	recv := verbs.RecvWR{SGEs: []verbs.SGE{y.mr.SGE(0, size)}}
	into := make([]verbs.WC, 4)
	take := func(s *side) {
		for {
			if n, err := s.cq.Poll(into); err != nil || n > 0 && into[0].Status != verbs.StatusOK {
				tb.Fatal(err, into[0])
			} else if n > 0 {
				return
			}
		}
	}
	return func() {
		if op == verbs.OpSend {
			if err := y.qp.PostRecv(&recv); err != nil {
				tb.Fatal(err)
			}
		}
		if err := x.qp.PostSend(&wr); err != nil {
			tb.Fatal(err)
		}
		take(x)
		if op == verbs.OpSend {
			take(y)
		}
	}
}

var small = []verbs.Op{verbs.OpSend, verbs.OpWrite, verbs.OpRead, verbs.OpFetchAdd}

// BenchmarkMessage is a message of 8 bytes and its completion.
func BenchmarkMessage(b *testing.B) {
	for _, p := range sim.Profiles() {
		for _, op := range small {
			if !p.Ops[verbs.RC].Has(op) {
				continue
			}
			b.Run(p.Name+"/"+op.String(), func(b *testing.B) {
				x, y := pair(b, network(b, sim.Config{Profile: p}), verbs.QPAttr{})
				do := exchange(b, x, y, op, 8)
				b.ReportAllocs()
				for b.Loop() {
					do()
				}
			})
		}
	}
}

// BenchmarkBulk is a WRITE of 64 KiB.
func BenchmarkBulk(b *testing.B) {
	for _, p := range []sim.Profile{sim.InOrder(), sim.AdaptiveRouting()} {
		b.Run(p.Name, func(b *testing.B) {
			x, y := pair(b, network(b, sim.Config{Profile: p}), verbs.QPAttr{})
			do := exchange(b, x, y, verbs.OpWrite, memorySize)
			b.SetBytes(memorySize)
			for b.Loop() {
				do()
			}
		})
	}
}

// TestNoAllocations: posting, simulating and polling allocate nothing.
func TestNoAllocations(t *testing.T) {
	for _, p := range sim.Profiles() {
		for _, op := range small {
			if !p.Ops[verbs.RC].Has(op) {
				continue
			}
			x, y := pair(t, network(t, sim.Config{Profile: p}), verbs.QPAttr{})
			do := exchange(t, x, y, op, 8)
			for range 1000 {
				do()
			}
			if n := testing.AllocsPerRun(200, do); n != 0 {
				t.Errorf("%s: %v allocates %v times", p.Name, op, n)
			}
		}
	}
}
