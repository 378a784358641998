package engine_test

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"time"

	"pgregory.net/rapid"

	"heddle/ib"
	"heddle/packet"
	"heddle/verbs"
	"heddle/verbs/internal/queue"
	"heddle/verbs/soft/internal/engine"
)

// node is an engine with one QP, some memory and what it sent.
type node struct {
	e       *engine.Engine
	regions queue.Regions
	region  *queue.Region
	qp      *engine.QP
	done    []verbs.WC
	sent    [][]byte
	path    engine.Path
}

// Push and Forget make a node its own CQ.
func (n *node) Push(wc verbs.WC, _ bool)    { n.done = append(n.done, wc) }
func (n *node) Forget(func(*verbs.WC) bool) {}

func newNode(tb testing.TB, gid string, seed uint64) *node {
	tb.Helper()
	n := &node{path: engine.Path{Remote: ib.MustParseGID(gid)}}
	mem, err := verbs.NewMemory(1 << 16)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = mem.Close() })
	if n.region, err = n.regions.Register(mem, verbs.LocalWrite|verbs.RemoteRead|verbs.RemoteWrite|verbs.RemoteAtomic, 1); err != nil {
		tb.Fatal(err)
	}
	n.e = engine.New(engine.Config{
		Regions: &n.regions, MaxMTU: ib.MTU4096, Random: rand.New(rand.NewPCG(seed, 0)),
		Tell: func(verbs.EventType, *engine.QP) {},
		Send: func(batch []engine.Packet) {
			for _, p := range batch {
				n.sent = append(n.sent, bytes.Clone(p.Data))
			}
		},
	})
	n.qp = n.e.NewQP(verbs.QPAttr{
		Type: verbs.RC, SendWR: 64, RecvWR: 64, SendSGE: 1, RecvSGE: 1, Reads: 4, MTU: ib.MTU256, PKey: ib.DefaultPKey,
		Access: verbs.RemoteRead | verbs.RemoteWrite | verbs.RemoteAtomic, Timeout: time.Millisecond, RNRTimer: 10 * time.Microsecond,
	}, 1, n, n, &engine.Receives{Recvs: queue.NewRecvs(64, 1)})
	return n
}

func connected(tb testing.TB, seed uint64) (a, b *node) {
	a, b = newNode(tb, "fe80::1", seed), newNode(tb, "fe80::2", seed+1)
	for _, x := range [][2]*node{{a, b}, {b, a}} {
		x[0].qp.Connect(&engine.Peer{Path: x[1].path, QPN: x[1].qp.QPN(), PSN: x[1].qp.PSN(), MTU: ib.MTU256, Reads: 4})
	}
	return a, b
}

// carry takes what one node sent to the other, as far as keep lets it.
func carry(from, to *node, keep func() bool) {
	from.e.Flush()
	for _, b := range from.sent {
		if keep() {
			to.e.Receive([]engine.Packet{{Path: from.path, Data: b}})
		}
	}
	from.sent = from.sent[:0]
	to.e.Flush()
}

func (n *node) memory() []byte { return n.region.Mem.Bytes() }

func (n *node) sge(offset, length int) verbs.SGE {
	return verbs.SGE{Addr: n.region.Addr() + uint64(offset), Length: uint32(length), LKey: n.region.Key}
}

// TestAnyLoss: whatever gets lost, each request is executed once and in order.
func TestAnyLoss(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		a, b := connected(t, rapid.Uint64().Draw(rt, "seed"))
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "losses"), 0))
		loss := rapid.Float64Range(0, 0.3).Draw(rt, "loss")
		keep := func() bool { return random.Float64() >= loss }
		const words = 16
		var want uint64
		for i := range words {
			n := rapid.IntRange(1, 2000).Draw(rt, "length")
			for _, wr := range []verbs.SendWR{
				{Op: verbs.OpWrite, SGEs: []verbs.SGE{a.sge(4096*(i%4), n)}, RemoteAddr: b.region.Addr() + 8192, RKey: b.region.Key},
				{Op: verbs.OpFetchAdd, SGEs: []verbs.SGE{a.sge(32768+8*i, 8)}, RemoteAddr: b.region.Addr(), RKey: b.region.Key, Swap: uint64(i + 1)},
				{Op: verbs.OpRead, Flags: verbs.Signaled, SGEs: []verbs.SGE{a.sge(40000, n)}, RemoteAddr: b.region.Addr() + 8192, RKey: b.region.Key},
			} {
				wr.ID = uint64(i)
				if err := a.qp.PostSend(&wr); err != nil {
					rt.Fatal(err)
				}
			}
			want += uint64(i + 1)
		}
		a.qp.Pump()
		now := time.Duration(0)
		for round := 0; len(a.done) < words && round < 10000; round++ {
			now += 100 * time.Microsecond
			a.e.Advance(now)
			b.e.Advance(now)
			carry(a, b, keep)
			carry(b, a, keep)
		}
		if len(a.done) != words && a.done[len(a.done)-1].Status != verbs.StatusRetryExceeded {
			rt.Fatalf("%d completions %+v", len(a.done), a.done)
		}
		for i, wc := range a.done {
			if wc.Status == verbs.StatusOK && (wc.ID != uint64(i) || wc.Op != verbs.OpRead) {
				rt.Fatalf("completion %d: %+v", i, wc)
			}
		}
		if len(a.done) == words && a.done[words-1].Status == verbs.StatusOK {
			if got := word(b.memory()); got != want {
				rt.Fatalf("the sum is %d, want %d: an atomic was done twice, or not at all", got, want)
			}
		}
	})
}

// TestLateTimer: an answer that came while nobody had the time to look at it is no
// reason to send again.
func TestLateTimer(t *testing.T) {
	a, b := connected(t, 1)
	if err := a.qp.PostSend(&verbs.SendWR{Op: verbs.OpWrite, Flags: verbs.Signaled, SGEs: []verbs.SGE{a.sge(0, 700)}, RemoteAddr: b.region.Addr(), RKey: b.region.Key}); err != nil {
		t.Fatal(err)
	}
	a.qp.Pump()
	always := func() bool { return true }
	carry(a, b, always)
	a.e.Tell(time.Second)
	carry(b, a, always)
	a.e.Advance(time.Second)
	if len(a.done) != 1 || a.done[0].Status != verbs.StatusOK || a.e.Stats.Timeouts+a.e.Stats.Resent != 0 {
		t.Errorf("%+v, %+v", a.done, a.e.Stats)
	}
}

func word(b []byte) (v uint64) {
	for i := range 8 {
		v |= uint64(b[i]) << (8 * i)
	}
	return v
}

// FuzzReceive: no packet does harm, or changes memory that it has no key for.
func FuzzReceive(f *testing.F) {
	a, b := connected(f, 1)
	wr := verbs.SendWR{Op: verbs.OpWrite, SGEs: []verbs.SGE{a.sge(0, 700)}, RemoteAddr: b.region.Addr(), RKey: 1}
	if err := a.qp.PostSend(&wr); err != nil {
		f.Fatal(err)
	}
	a.qp.Pump()
	a.e.Flush()
	for _, p := range a.sent {
		f.Add(p)
	}
	for _, o := range []packet.Opcode{packet.ReadRequest, packet.FetchAdd, packet.Acknowledge, packet.SendOnly, packet.ReadResponseOnly, packet.AtomicAcknowledge} {
		f.Add((&packet.Headers{BTH: packet.BTH{Opcode: o, PKey: ib.DefaultPKey}, AETH: packet.AETH{Syndrome: packet.NAKSequence}}).AppendTo(nil))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		a, b := connected(t, 1)
		for range 2 {
			wr := verbs.SendWR{Op: verbs.OpRead, SGEs: []verbs.SGE{a.sge(0, 4096)}, RemoteAddr: b.region.Addr(), RKey: b.region.Key}
			if err := a.qp.PostSend(&wr); err != nil {
				t.Fatal(err)
			}
		}
		a.qp.Pump()
		_ = a.qp.PostRecv(&verbs.RecvWR{SGEs: []verbs.SGE{a.sge(0, 100)}})
		before := bytes.Clone(a.memory()[8192:])
		for range 3 {
			var h packet.Headers
			if _, err := h.Parse(data); err == nil && len(data) >= packet.BTHSize {
				data = bytes.Clone(data)
				copy(data, h.BTH.AppendTo(nil)[:4])
				for i := range 3 {
					data[5+i] = byte(a.qp.QPN() >> (16 - 8*i))
				}
			}
			a.e.Receive([]engine.Packet{{Path: b.path, Data: data}})
			a.e.Flush()
			a.e.Advance(time.Second)
		}
		if !bytes.Equal(before, a.memory()[8192:]) {
			t.Fatal("memory was changed by who had no key of it")
		}
	})
}
