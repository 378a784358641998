//go:build linux && (amd64 || arm64)

package shm_test

import (
	"context"
	"encoding/gob"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"heddle/verbs"
)

// word is a word of a node's memory.
func (n *node) word(offset int) *uint64 {
	return (*uint64)(unsafe.Pointer(&n.mem.Bytes()[offset]))
}

const (
	bellAt = 1 << 20 // where bounce is written to
	dataAt = 2 << 20 // where it writes from
)

// bounce answers each WRITE to its memory by one: the word at the end of a
// message counts them. The first word is the size of the messages.
func bounce(n *node, peer hello, in *gob.Decoder) error {
	var size int
	if err := in.Decode(&size); err != nil {
		return err
	}
	at := n.word(bellAt + size - 8)
	out := n.word(dataAt + size - 8)
	wr := verbs.SendWR{Op: verbs.OpWrite, SGEs: []verbs.SGE{n.mr.SGE(dataAt, size)}, RemoteAddr: peer.Addr + bellAt, RKey: peer.RKey}
	var next uint64
	ready := func() bool { return atomic.LoadUint64(at) > next }
	for {
		if err := n.ctx.Await(context.Background(), ready); err != nil {
			return err
		}
		next = atomic.LoadUint64(at)
		if next == 1<<63 {
			return nil
		}
		atomic.StoreUint64(out, next)
		if err := n.qp.PostSend(&wr); err != nil {
			return err
		}
	}
}

func BenchmarkWriteLatency(b *testing.B) {
	for _, size := range []int{8, 64, 1024, 4096} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			a := made(b, verbs.QPAttr{Type: verbs.RC}, 4<<20, all)
			c := spawn(b, "bounce")
			peer := c.meet(b, a)
			if err := c.in.Encode(size); err != nil {
				b.Fatal(err)
			}
			at, out := a.word(bellAt+size-8), a.word(dataAt+size-8)
			wr := verbs.SendWR{Op: verbs.OpWrite, SGEs: []verbs.SGE{a.mr.SGE(dataAt, size)}, RemoteAddr: peer.Addr + bellAt, RKey: peer.RKey}
			var next uint64
			ready := func() bool { return atomic.LoadUint64(at) >= next }
			round := func() {
				next++
				atomic.StoreUint64(out, next)
				if err := a.qp.PostSend(&wr); err != nil {
					b.Fatal(err)
				}
				if err := a.ctx.Await(b.Context(), ready); err != nil {
					b.Fatal(err)
				}
			}
			round()
			measure(b, round)
			atomic.StoreUint64(out, 1<<63)
			post(b, a.qp, &wr)
		})
	}
}

func BenchmarkSendLatency(b *testing.B) {
	for _, size := range []int{8, 64, 1024, 4096, 65536} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			a := made(b, verbs.QPAttr{Type: verbs.RC}, 4<<20, all)
			spawn(b, "echo").meet(b, a)
			wr := verbs.SendWR{Op: verbs.OpSend, SGEs: []verbs.SGE{a.mr.SGE(0, size)}}
			buffer := verbs.RecvWR{SGEs: []verbs.SGE{a.mr.SGE(1<<20, size)}}
			wcs := make([]verbs.WC, 4)
			round := func() {
				if a.qp.PostRecv(&buffer) != nil || a.qp.PostSend(&wr) != nil {
					b.Fatal("posts")
				}
				n, err := verbs.Await(b.Context(), a.cq, wcs)
				if n != 1 || err != nil || wcs[0].Status != verbs.StatusOK {
					b.Fatal(n, err, wcs[0])
				}
			}
			round()
			measure(b, round)
		})
	}
}

// measure runs rounds of there and back. Beside the mean it reports the time of
// one way in the best and in the middle one of the batches: somebody else may
// have a CPU for a while.
func measure(b *testing.B, round func()) {
	const batch = 64
	var took []time.Duration
	b.ReportAllocs()
	start, n := time.Now(), 0
	took = make([]time.Duration, 0, 1<<20)
	for b.Loop() {
		round()
		if n++; n%batch == 0 && len(took) < cap(took) {
			now := time.Now()
			took = append(took, now.Sub(start))
			start = now
		}
	}
	if len(took) == 0 {
		return
	}
	slices.Sort(took)
	way := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / batch / 2 }
	b.ReportMetric(way(took[0]), "min-ns/way")
	b.ReportMetric(way(took[len(took)/10]), "p10-ns/way")
	b.ReportMetric(way(took[len(took)/2]), "p50-ns/way")
}

// sink takes messages, and sends one when it has as many as it was told.
func sink(n *node, _ hello, in *gob.Decoder) error {
	var size, count int
	if err := in.Decode(&size); err != nil {
		return err
	}
	const most = 1024
	bufs := make([]verbs.RecvWR, most)
	for i := range bufs {
		bufs[i] = verbs.RecvWR{SGEs: []verbs.SGE{n.mr.SGE(0, size)}}
	}
	if _, err := n.qp.PostRecvs(bufs); err != nil {
		return err
	}
	for {
		got, err := verbs.Await(context.Background(), n.cq, n.wcs)
		if err != nil {
			return err
		}
		for _, wc := range n.wcs[:got] {
			if wc.Status != verbs.StatusOK {
				return nil // the peer is gone
			}
			count++
			if wc.Flags&verbs.WithImm != 0 {
				if err := n.qp.PostSend(&verbs.SendWR{Op: verbs.OpSend}); err != nil {
					return err
				}
			}
		}
		if _, err := n.qp.PostRecvs(bufs[:got]); err != nil {
			return err
		}
	}
}

// BenchmarkSendRate: SENDs as fast as they go, the last one is answered.
func BenchmarkSendRate(b *testing.B) {
	for _, size := range []int{8, 64, 1024, 65536, 1 << 20} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			a := made(b, verbs.QPAttr{Type: verbs.RC, SendWR: 256}, 4<<20, all)
			c := spawn(b, "sink")
			c.meet(b, a)
			if err := c.in.Encode(size); err != nil {
				b.Fatal(err)
			}
			wrs := make([]verbs.SendWR, 32)
			for i := range wrs {
				wrs[i] = verbs.SendWR{Op: verbs.OpSend, SGEs: []verbs.SGE{a.mr.SGE(0, size)}}
			}
			wrs[31].Flags = verbs.Signaled
			postRecv(b, a.qp, 1, a.mr.SGE(0, 8))
			b.SetBytes(int64(size) * 32)
			b.ReportAllocs()
			posted := 0
			poll := func() {
				n, err := a.cq.Poll(a.wcs)
				if err != nil {
					b.Fatal(err)
				}
				posted -= 32 * n
			}
			for b.Loop() {
				for posted > 128 {
					poll()
				}
				if _, err := a.qp.PostSends(wrs); err != nil {
					b.Fatal(err)
				}
				posted += 32
			}
			for posted > 0 {
				poll()
			}
			post(b, a.qp, &verbs.SendWR{Op: verbs.OpSendImm})
			a.want(b, 1, verbs.StatusOK)
			b.ReportMetric(float64(b.N)*32/b.Elapsed().Seconds()/1e6, "Mmsg/s")
		})
	}
}

// BenchmarkWriteRate: WRITEs as fast as they go.
func BenchmarkWriteRate(b *testing.B) {
	for _, size := range []int{8, 64, 65536, 1 << 20} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			a := made(b, verbs.QPAttr{Type: verbs.RC}, 4<<20, all)
			peer := spawn(b, "passive").meet(b, a)
			wr := verbs.SendWR{Op: verbs.OpWrite, Flags: verbs.Signaled, SGEs: []verbs.SGE{a.mr.SGE(0, size)}, RemoteAddr: peer.Addr, RKey: peer.RKey}
			post(b, a.qp, &wr)
			a.want(b, 1, verbs.StatusOK)
			wr.Flags = 0
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				if err := a.qp.PostSend(&wr); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkCost is the time that a CPU needs for both ends of a SEND, with all
// completions, in turn.
func BenchmarkCost(b *testing.B) {
	const batch = 16
	for _, size := range []int{8, 64} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			x, y := joined(b, verbs.QPAttr{Type: verbs.RC, RecvWR: batch})
			wrs, bufs := make([]verbs.SendWR, batch), make([]verbs.RecvWR, batch)
			for i := range batch {
				wrs[i] = verbs.SendWR{Op: verbs.OpSend, Flags: verbs.Signaled, SGEs: []verbs.SGE{x.mr.SGE(0, size)}}
				bufs[i] = verbs.RecvWR{SGEs: []verbs.SGE{y.mr.SGE(0, size)}}
			}
			b.ReportAllocs()
			for b.Loop() {
				if n, err := y.qp.PostRecvs(bufs); n != batch || err != nil {
					b.Fatal(n, err)
				}
				if n, err := x.qp.PostSends(wrs); n != batch || err != nil {
					b.Fatal(n, err)
				}
				if n, err := y.cq.Poll(y.wcs); n != batch || err != nil {
					b.Fatal(n, err)
				}
				if n, err := x.cq.Poll(x.wcs); n != batch || err != nil {
					b.Fatal(n, err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/batch, "ns/msg")
		})
	}
}
