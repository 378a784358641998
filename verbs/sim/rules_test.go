package sim_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"heddle/ib"
	"heddle/verbs"
	"heddle/verbs/sim"
)

// statuses waits for so many completions, and gives their IDs and statuses.
func (s *side) statuses(count int) (ids []uint64, list []verbs.Status) {
	s.t.Helper()
	for _, wc := range s.completions(count) {
		ids, list = append(ids, wc.ID), append(list, wc.Status)
	}
	return ids, list
}

func (s *side) expect(want verbs.QPState) {
	s.t.Helper()
	if got, err := s.qp.State(); got != want || err != nil {
		s.t.Errorf("state %v, %v, want %v", got, err, want)
	}
}

// event takes the next asynchronous event.
func (s *side) event(want verbs.EventType) verbs.Event {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 10*time.Second)
	defer cancel()
	e, err := s.ctx.Event(ctx)
	if err != nil || e.Type != want {
		s.t.Fatalf("event %v, %v, want %v", e.Type, err, want)
	}
	return e
}

// TestNotReady is case V1: a SEND before its RECV is repeated after the peer's
// delay, so often and no more.
func TestNotReady(t *testing.T) {
	for retries := range 8 {
		n := network(t, sim.Config{})
		x, y := pair(t, n, verbs.QPAttr{RNRRetries: verbs.Times(retries), RNRTimer: time.Millisecond})
		x.post(verbs.SendWR{ID: 1, Op: verbs.OpSend, Flags: verbs.Signaled})
		x.post(verbs.SendWR{ID: 2, Op: verbs.OpSend})
		if retries == 7 {
			for n.Now() < 100*time.Millisecond {
				n.Step()
			}
			y.recv(1)
			x.ok()
			continue
		}
		ids, got := x.statuses(2)
		if got[0] != verbs.StatusRNRRetryExceeded || got[1] != verbs.StatusFlushed || ids[0] != 1 {
			t.Errorf("%d retries: %v", retries, got)
		}
		if now, least := n.Now(), time.Duration(retries)*time.Millisecond; now < least || now > least+time.Millisecond/2 {
			t.Errorf("%d retries took %v", retries, now)
		}
		x.expect(verbs.Err)
		y.expect(verbs.RTS)
	}
}

// TestReadyInTime: a receive that comes during the delay is found.
func TestReadyInTime(t *testing.T) {
	for _, op := range []verbs.Op{verbs.OpSend, verbs.OpWriteImm} {
		n := network(t, sim.Config{})
		x, y := pair(t, n, verbs.QPAttr{RNRRetries: verbs.Times(1)})
		fill(x.mem.Bytes()[:100], 1)
		wr := write(x, y, 0, 100, 0)
		wr.Op = op
		x.post(wr)
		for range 20 {
			x.post(write(x, y, 0, 100, 0)) // these wait behind it
		}
		for n.Now() < 10*time.Microsecond {
			n.Step()
		}
		y.recv(5, y.mr.SGE(0, 100))
		if wc := y.ok(); wc.ID != 5 || wc.ByteLen != 100 {
			t.Errorf("%v: %+v", op, wc)
		}
		x.completions(21)
	}
}

// TestFlush is case V2: receives from INIT on; in error all completes once, in
// order, and so does what is posted then.
func TestFlush(t *testing.T) {
	n := network(t, sim.Config{})
	x, y := newSide(t, n, "x"), newSide(t, n, "y")
	x.create(verbs.QPAttr{})
	y.create(verbs.QPAttr{})
	for id := range uint64(3) {
		x.recv(id)
	}
	if err := x.qp.PostSend(&verbs.SendWR{Op: verbs.OpSend}); !errors.Is(err, verbs.ErrState) {
		t.Errorf("a request in INIT: %v", err)
	}
	join(t, x, y)
	for id := range uint64(4) {
		x.post(verbs.SendWR{ID: 10 + id, Op: verbs.OpSend})
	}
	must(t, x.qp.Modify(verbs.Err))
	x.post(verbs.SendWR{ID: 14, Op: verbs.OpSend})
	x.recv(20)
	ids, got := x.statuses(9)
	for i, want := range []uint64{10, 11, 12, 13, 0, 1, 2, 14, 20} {
		if ids[i] != want || got[i] != verbs.StatusFlushed {
			t.Errorf("completion %d is %v of %d, want that of %d", i, got[i], ids[i], want)
		}
	}
	// And it can be used again.
	must(t, x.qp.Modify(verbs.Reset))
	must(t, y.qp.Modify(verbs.Reset))
	if err := x.qp.PostRecv(&verbs.RecvWR{}); !errors.Is(err, verbs.ErrState) {
		t.Errorf("a buffer in RESET: %v", err)
	}
	must(t, x.qp.Modify(verbs.Init))
	must(t, y.qp.Modify(verbs.Init))
	join(t, x, y)
	x.post(write(x, y, 0, 100, 0))
	x.ok()
}

// TestList is case V3: n requests before the bad one were posted.
func TestList(t *testing.T) {
	x, y := pair(t, network(t, sim.Config{}), verbs.QPAttr{})
	list := []verbs.SendWR{write(x, y, 0, 1, 0), {Op: verbs.OpRecv}, write(x, y, 0, 1, 0)}
	if n, err := x.qp.PostSends(list); n != 1 || !errors.Is(err, verbs.ErrNotSupported) {
		t.Errorf("%d, %v", n, err)
	}
	x.ok()
	buffers := []verbs.RecvWR{{ID: 1}, {ID: 2, SGEs: make([]verbs.SGE, 5)}, {ID: 3}}
	if n, err := x.qp.PostRecvs(buffers); n != 1 || !errors.Is(err, verbs.ErrTooManySGEs) {
		t.Errorf("%d, %v", n, err)
	}
}

// TestOverrun is case V4.
func TestOverrun(t *testing.T) {
	n := network(t, sim.Config{})
	x, y := newSide(t, n, "x"), newSide(t, n, "y")
	small := get[verbs.CQ](t)(x.ctx.CreateCQ(verbs.CQAttr{Depth: 2}))
	qp := get[verbs.QP](t)(x.pd.CreateQP(verbs.QPAttr{Type: verbs.RC, SendCQ: small, RecvCQ: x.cq}))
	x.qp = qp
	y.create(verbs.QPAttr{})
	join(t, x, y)
	for range 3 {
		x.post(write(x, y, 0, 1, 0))
	}
	n.Settle(1000)
	if e := x.event(verbs.EventCQ); e.CQ != small {
		t.Error("the event is of another CQ")
	}
	x.event(verbs.EventQPFatal)
	x.expect(verbs.Err)
	into := make([]verbs.WC, 4)
	if got, err := small.Poll(into); got != 2 || err != nil {
		t.Errorf("%d, %v", got, err)
	}
	if _, err := small.Poll(into); !errors.Is(err, verbs.ErrCQOverrun) {
		t.Errorf("%v", err)
	}
	must(t, qp.Close())
	must(t, small.Close())
}

// TestImmediate is case V5: a WRITE_WITH_IMM takes a receive without memory.
func TestImmediate(t *testing.T) {
	x, y := pair(t, network(t, sim.Config{}), verbs.QPAttr{})
	y.recv(3)
	wr := write(x, y, 0, 10000, 0)
	wr.Op, wr.Imm = verbs.OpWriteImm, math.MaxUint32
	x.post(wr)
	if wc := y.ok(); wc.Op != verbs.OpRecvWriteImm || wc.ByteLen != 10000 || wc.Imm != math.MaxUint32 || wc.ID != 3 {
		t.Errorf("%+v", wc)
	}
}

// TestNothing is case V6: of no bytes, neither key nor address is looked at.
func TestNothing(t *testing.T) {
	x, y := pair(t, network(t, sim.Config{}), verbs.QPAttr{})
	for _, sges := range [][]verbs.SGE{nil, {{}}, {{Addr: 1, LKey: 2}}} {
		for _, op := range []verbs.Op{verbs.OpWrite, verbs.OpRead} {
			x.post(verbs.SendWR{Op: op, Flags: verbs.Signaled, SGEs: sges, RemoteAddr: 3, RKey: 4})
			if wc := x.ok(); wc.ByteLen != 0 {
				t.Errorf("%v: %+v", op, wc)
			}
		}
	}
	y.expect(verbs.RTS)
}

// TestInline is case V7.
func TestInline(t *testing.T) {
	x, y := pair(t, network(t, sim.Config{}), verbs.QPAttr{Inline: 64, SendSGE: 2})
	data := make([]byte, 65)
	fill(data, 1)
	wr := verbs.SendWR{Op: verbs.OpWrite, Flags: verbs.Signaled | verbs.Inline, InlineData: data, RemoteAddr: y.mr.Addr(), RKey: y.mr.RKey()}
	var e *verbs.OpError
	if err := x.qp.PostSend(&wr); !errors.As(err, &e) || !errors.Is(err, verbs.ErrInlineLength) || e.Limit != 64 {
		t.Errorf("%v", err)
	}
	wr.InlineData = data[:64]
	x.post(wr)
	want := data[63]
	clear(data)
	x.ok()
	if y.mem.Bytes()[63] != want || y.mem.Bytes()[64] != 0 {
		t.Error("inline data is not what it was")
	}
}

// TestRefused: what a peer may not do ends both QPs, and touches nothing (V8, V9).
func TestRefused(t *testing.T) {
	change := func(f func(wr *verbs.SendWR, y *side)) func(*verbs.SendWR, *side) { return f }
	access, invalid := verbs.StatusRemoteAccess, verbs.StatusRemoteInvalidRequest
	for name, test := range map[string]struct {
		op     verbs.Op
		access verbs.Access
		change func(wr *verbs.SendWR, y *side)
		want   verbs.Status
	}{
		"another key":          {verbs.OpWrite, 0, change(func(wr *verbs.SendWR, _ *side) { wr.RKey ^= 1 << 20 }), access},
		"past the end":         {verbs.OpWrite, 0, change(func(wr *verbs.SendWR, y *side) { wr.RemoteAddr = y.mr.Addr() + memorySize - 7 }), access},
		"long past the end":    {verbs.OpWriteImm, 0, change(func(wr *verbs.SendWR, y *side) { wr.RemoteAddr = y.mr.Addr() + memorySize - 7 }), access},
		"below":                {verbs.OpRead, 0, change(func(wr *verbs.SendWR, _ *side) { wr.RemoteAddr-- }), access},
		"wraps (V9)":           {verbs.OpWrite, 0, change(func(wr *verbs.SendWR, _ *side) { wr.RemoteAddr = math.MaxUint64 - 3 }), access},
		"WRITE not allowed":    {verbs.OpWrite, verbs.RemoteRead, change(func(*verbs.SendWR, *side) {}), access},
		"READ not allowed":     {verbs.OpRead, verbs.NoAccess, change(func(*verbs.SendWR, *side) {}), access},
		"atomic not allowed":   {verbs.OpFetchAdd, verbs.RemoteRead | verbs.RemoteWrite, change(func(*verbs.SendWR, *side) {}), access},
		"unaligned (V8)":       {verbs.OpFetchAdd, 0, change(func(wr *verbs.SendWR, _ *side) { wr.RemoteAddr += 4 }), invalid},
		"unaligned swap":       {verbs.OpCompareSwap, 0, change(func(wr *verbs.SendWR, _ *side) { wr.RemoteAddr++ }), invalid},
		"atomic, another key":  {verbs.OpCompareSwap, 0, change(func(wr *verbs.SendWR, _ *side) { wr.RKey++ }), access},
		"SEND beyond the room": {verbs.OpSend, 0, change(func(*verbs.SendWR, *side) {}), invalid},
	} {
		for _, p := range []sim.Profile{sim.InOrder(), sim.AdaptiveRouting(), sim.RelaxedDMA()} {
			n := network(t, sim.Config{Profile: p})
			x, y := newSide(t, n, "x"), newSide(t, n, "y")
			x.create(verbs.QPAttr{})
			y.create(verbs.QPAttr{Access: test.access})
			join(t, x, y)
			fill(x.mem.Bytes(), 1)
			wr := write(x, y, 0, 8, 0)
			if wr.Op = test.op; wr.Op == verbs.OpWriteImm {
				wr.SGEs[0].Length = 9000
			}
			wr.Swap = 1
			test.change(&wr, y)
			y.recv(1, y.mr.SGE(0, 7))
			want := []verbs.Status{verbs.StatusOK, test.want, verbs.StatusFlushed}
			if test.access == 0 {
				x.post(write(x, y, 0, 1, 1000))
			} else {
				want = want[1:]
			}
			x.post(wr)
			x.post(write(x, y, 0, 1, 2000))
			if _, got := x.statuses(len(want)); !slices.Equal(got, want) {
				t.Errorf("%s, %s: %v, want %v", p.Name, name, got, test.want)
			}
			x.expect(verbs.Err)
			y.expect(verbs.Err)
			status, event := verbs.StatusFlushed, verbs.EventQPAccess
			if test.op == verbs.OpSend {
				status = verbs.StatusLocalLength
			}
			if test.want == invalid {
				event = verbs.EventQPRequest
			}
			if _, got := y.statuses(1); got[0] != status {
				t.Errorf("%s, %s: the receive is %v", p.Name, name, got)
			}
			y.event(event)
			for at, b := range y.mem.Bytes() {
				if b != 0 && at != 1000 && (at != 2000 || p.Placement) {
					t.Fatalf("%s, %s: byte %d was written", p.Name, name, at)
				}
			}
		}
	}
}

// TestLocalErrors: a request whose own memory is wrong.
func TestLocalErrors(t *testing.T) {
	for name, test := range map[string]struct {
		change func(wr *verbs.SendWR, read verbs.MR)
		want   verbs.Status
	}{
		"no such key":        {func(wr *verbs.SendWR, _ verbs.MR) { wr.SGEs[0].LKey++ }, verbs.StatusLocalProtection},
		"past the end":       {func(wr *verbs.SendWR, _ verbs.MR) { wr.SGEs[0].Length = memorySize + 1 }, verbs.StatusLocalProtection},
		"result not allowed": {func(wr *verbs.SendWR, r verbs.MR) { wr.Op, wr.SGEs[0] = verbs.OpRead, r.SGE(0, 8) }, verbs.StatusLocalProtection},
		"atomic of 4 bytes":  {func(wr *verbs.SendWR, _ verbs.MR) { wr.Op, wr.SGEs[0].Length = verbs.OpFetchAdd, 4 }, verbs.StatusLocalLength},
	} {
		x, y := pair(t, network(t, sim.Config{}), verbs.QPAttr{})
		read := get[verbs.MR](t)(x.pd.RegisterMR(x.mem, 0))
		x.post(write(x, y, 0, 1, 0))
		wr := write(x, y, 0, 8, 0)
		wr.ID = 1
		test.change(&wr, read)
		x.post(wr)
		x.post(write(x, y, 0, 1, 0))
		ids, got := x.statuses(3)
		if got[0] != verbs.StatusOK || got[1] != test.want || got[2] != verbs.StatusFlushed || ids[1] != 1 {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
		x.expect(verbs.Err)
		y.expect(verbs.RTS)
		must(t, read.Close())
	}
}

// TestBadBuffer: a receive whose memory is wrong is an error at both ends.
func TestBadBuffer(t *testing.T) {
	x, y := pair(t, network(t, sim.Config{}), verbs.QPAttr{})
	bad := y.mr.SGE(0, 100)
	bad.LKey++
	y.recv(1, bad)
	x.post(verbs.SendWR{Op: verbs.OpSend, SGEs: []verbs.SGE{x.mr.SGE(0, 8)}})
	if _, got := x.statuses(1); got[0] != verbs.StatusRemoteOperation {
		t.Errorf("%v at the sender", got)
	}
	if _, got := y.statuses(1); got[0] != verbs.StatusLocalProtection {
		t.Errorf("%v at the receiver", got)
	}
}

// TestSilentPeer: a peer that does not answer.
func TestSilentPeer(t *testing.T) {
	for retries := range 3 {
		n := network(t, sim.Config{})
		x, y := pair(t, n, verbs.QPAttr{Retries: verbs.Times(retries), Timeout: 10 * time.Millisecond})
		must(t, y.qp.Modify(verbs.Err))
		x.post(write(x, y, 0, 1, 0))
		x.post(write(x, y, 0, 1, 0))
		if _, got := x.statuses(2); got[0] != verbs.StatusRetryExceeded || got[1] != verbs.StatusFlushed {
			t.Errorf("%v", got)
		}
		if now, want := n.Now(), time.Duration(retries+1)*10*time.Millisecond; now < want || now > want+time.Millisecond {
			t.Errorf("%d retries took %v, want about %v", retries, now, want)
		}
	}
}

// TestSRQ: QPs share it; the limit makes one event; QPs in error say so.
func TestSRQ(t *testing.T) {
	n := network(t, sim.Config{})
	y := newSide(t, n, "y")
	srq := get[verbs.SRQ](t)(y.pd.CreateSRQ(verbs.SRQAttr{WR: 8}))
	var qps []verbs.QP
	var peers []*side
	for i := range 3 {
		x := newSide(t, n, string(rune('a'+i)))
		x.create(verbs.QPAttr{})
		qp := get[verbs.QP](t)(y.pd.CreateQP(verbs.QPAttr{Type: verbs.RC, SendCQ: y.cq, RecvCQ: y.cq, SRQ: srq}))
		must(t, qp.Connect(t.Context(), x.qp.Endpoint()))
		must(t, x.qp.Connect(t.Context(), qp.Endpoint()))
		qps, peers = append(qps, qp), append(peers, x)
	}
	if err := qps[0].PostRecv(&verbs.RecvWR{}); !errors.Is(err, verbs.ErrInvalid) {
		t.Errorf("a receive of its own: %v", err)
	}
	for id := range uint64(4) {
		must(t, srq.PostRecv(&verbs.RecvWR{ID: id, SGEs: []verbs.SGE{y.mr.SGE(int(id)*8, 8)}}))
	}
	must(t, srq.Limit(3))
	for i, x := range peers {
		x.mem.Bytes()[0] = byte(i + 1)
		x.post(verbs.SendWR{Op: verbs.OpSend, SGEs: []verbs.SGE{x.mr.SGE(0, 8)}})
		wc := y.ok()
		if wc.QPN != qps[i].QPN() || wc.ID != uint64(i) || y.mem.Bytes()[8*i] != byte(i+1) {
			t.Errorf("%+v of QP %d", wc, i)
		}
	}
	if e := y.event(verbs.EventSRQLimit); e.SRQ != srq {
		t.Error("of another SRQ")
	}
	if err := srq.Close(); !errors.Is(err, verbs.ErrBusy) {
		t.Errorf("closed in use: %v", err)
	}
	must(t, qps[1].Modify(verbs.Err))
	if e := y.event(verbs.EventLastWQE); e.QP != qps[1] {
		t.Error("of another QP")
	}
	for _, qp := range qps {
		must(t, qp.Close())
	}
	must(t, srq.Close())
}

// TestQueueFull: requests without a completion keep their places until a later
// one has one, as on a device.
func TestQueueFull(t *testing.T) {
	n := network(t, sim.Config{})
	x, y := pair(t, n, verbs.QPAttr{SendWR: 4, RecvWR: 2})
	quiet := write(x, y, 0, 1, 0)
	quiet.Flags = 0
	for range 4 {
		x.post(quiet)
	}
	n.Settle(1000)
	if err := x.qp.PostSend(&quiet); !errors.Is(err, verbs.ErrQueueFull) {
		t.Errorf("a fifth request: %v", err)
	}
	must(t, x.qp.Modify(verbs.Reset))
	y.recv(1)
	y.recv(2)
	if err := y.qp.PostRecv(&verbs.RecvWR{}); !errors.Is(err, verbs.ErrQueueFull) {
		t.Errorf("a third receive: %v", err)
	}
}

// TestUnsignaled: a completion frees the places of all before it.
func TestUnsignaled(t *testing.T) {
	x, y := pair(t, network(t, sim.Config{}), verbs.QPAttr{SendWR: 4})
	for i := range uint64(100) {
		wr := write(x, y, 0, 1, 0)
		if wr.ID = i; i%4 != 3 {
			wr.Flags = 0
		}
		x.post(wr)
		if i%4 == 3 {
			if wc := x.ok(); wc.ID != i {
				t.Errorf("%d completed, want %d", wc.ID, i)
			}
		}
	}
}

// TestSolicited: who waits for solicited completions is not woken by others.
func TestSolicited(t *testing.T) {
	n := network(t, sim.Config{})
	x, y := pair(t, n, verbs.QPAttr{})
	must(t, y.cq.Arm(true))
	for i := range 2 {
		y.recv(uint64(i))
		flags := verbs.SendFlags(0)
		if i == 1 {
			flags = verbs.Solicited
		}
		x.post(verbs.SendWR{Op: verbs.OpSend, Flags: flags})
		n.Settle(1000)
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*time.Minute+time.Nanosecond)
		if err := y.cq.Wait(ctx); (err == nil) != (i == 1) {
			t.Errorf("message %d: %v", i, err)
		}
		cancel()
	}
}

// TestDrain: in SQD what began is done, and the rest waits.
func TestDrain(t *testing.T) {
	n := network(t, sim.Config{})
	x, y := pair(t, n, verbs.QPAttr{})
	x.post(write(x, y, 0, 1, 0))
	must(t, x.qp.Modify(verbs.SQD))
	x.post(write(x, y, 0, 1, 0))
	x.event(verbs.EventSQDrained)
	n.Settle(1000)
	x.completions(1)
	if got, err := x.cq.Poll(make([]verbs.WC, 1)); got != 0 || err != nil {
		t.Errorf("%d, %v", got, err)
	}
	must(t, x.qp.Modify(verbs.RTS))
	x.ok()
}

// TestReadLimit: so many READs are under way, and no more.
func TestReadLimit(t *testing.T) {
	n := network(t, sim.Config{Clock: sim.Crossings})
	x, y := pair(t, n, verbs.QPAttr{Reads: 2})
	for range 6 {
		wr := write(x, y, 0, 8, 0)
		wr.Op = verbs.OpRead
		x.post(wr)
	}
	x.completions(6)
	if now := n.Now(); now != 6 {
		t.Errorf("6 READs, 2 at a time, took %d crossings, want 6", now)
	}
}

// TestUC: what is lost is lost with its whole message, and nobody waits.
func TestUC(t *testing.T) {
	n := network(t, sim.Config{})
	x, y := pair(t, n, verbs.QPAttr{Type: verbs.UC})
	fill(x.mem.Bytes(), 1)
	send := func(size int) {
		x.post(verbs.SendWR{Op: verbs.OpSend, Flags: verbs.Signaled, SGEs: []verbs.SGE{x.mr.SGE(0, size)}})
		x.ok()
		n.Settle(1000)
	}
	send(10) // no receive
	y.recv(1, y.mr.SGE(0, 30000))
	must(t, n.Inject(x.qp, 2, sim.Drop))
	send(20000) // without its second packet
	send(30001) // too long
	if got, _ := y.cq.Poll(make([]verbs.WC, 1)); got != 0 {
		t.Error("a broken message completed")
	}
	send(300)
	if wc := y.ok(); wc.ID != 1 || wc.ByteLen != 300 {
		t.Errorf("%+v", wc)
	}
	must(t, n.Impair(sim.Faults{Loss: 1}))
	send(8)
	must(t, n.Impair(sim.Faults{}))
	wr := write(x, y, 0, memorySize, 0)
	x.post(wr)
	x.ok()
	n.Settle(10000)
	if string(y.mem.Bytes()) != string(x.mem.Bytes()) {
		t.Error("a WRITE of many packets did not come")
	}
	wr.RKey++
	x.post(wr)
	x.ok()
	n.Settle(10000)
	y.expect(verbs.RTS)
}

// TestKill: the death of a device is seen at once where Caps says so, and else by
// who waits for an answer.
func TestKill(t *testing.T) {
	for _, seen := range []bool{true, false} {
		p := sim.InOrder()
		p.PeerGone = seen
		n := network(t, sim.Config{Profile: p})
		x, y := pair(t, n, verbs.QPAttr{})
		y.recv(1)
		y.dev.Kill()
		y.event(verbs.EventDeviceFatal)
		if _, got := y.statuses(1); got[0] != verbs.StatusFlushed {
			t.Errorf("%v", got)
		}
		if list, err := n.Devices(); len(list) != 1 || err != nil {
			t.Errorf("%d devices, %v", len(list), err)
		}
		if _, err := y.dev.Open(); !errors.Is(err, verbs.ErrNoDevice) {
			t.Errorf("opened a dead device: %v", err)
		}
		x.post(write(x, y, 0, 1, 0))
		if seen {
			x.event(verbs.EventPeerGone)
		}
		if _, got := x.statuses(1); got[0] != verbs.StatusRetryExceeded {
			t.Errorf("%v", got)
		}
		if late := n.Now() > time.Millisecond; late == seen {
			t.Errorf("seen after %v, though PeerGone is %v", n.Now(), seen)
		}
		x.expect(verbs.Err)
	}
}

// TestInject: each fault at a chosen packet.
func TestInject(t *testing.T) {
	for _, what := range []sim.Fault{sim.Drop, sim.Corrupt, sim.FailQP, sim.FailDevice} {
		n := network(t, sim.Config{})
		x, y := pair(t, n, verbs.QPAttr{})
		must(t, n.Inject(x.qp, 3, what))
		for range 5 {
			x.post(write(x, y, 0, 1, 0))
		}
		_, got := x.statuses(5)
		if what <= sim.Corrupt {
			if got[4] != verbs.StatusOK {
				t.Errorf("fault %d: %v", what, got)
			}
			continue
		}
		if got[0] != verbs.StatusFlushed && got[0] != verbs.StatusOK || got[4] != verbs.StatusFlushed {
			t.Errorf("fault %d: %v", what, got)
		}
		x.expect(verbs.Err)
	}
	n := network(t, sim.Config{})
	x, _ := pair(t, n, verbs.QPAttr{})
	if err := n.Inject(x.qp, 0, sim.Drop); !errors.Is(err, verbs.ErrInvalid) {
		t.Errorf("packet 0: %v", err)
	}
	if err := n.Impair(sim.Faults{Loss: 2}); !errors.Is(err, verbs.ErrInvalid) {
		t.Errorf("a loss of 2: %v", err)
	}
}

// TestPathMTU is case V12: the smaller one of both ends counts.
func TestPathMTU(t *testing.T) {
	n := network(t, sim.Config{})
	x, y := newSide(t, n, "x"), newSide(t, n, "y")
	must(t, y.dev.LimitMTU(ib.MTU512))
	x.create(verbs.QPAttr{MTU: ib.MTU2048})
	y.create(verbs.QPAttr{})
	join(t, x, y)
	x.post(write(x, y, 0, 5*512, 0))
	x.ok()
	if s := sim.StatsOf(x.qp); s.Packets != 5 || s.Bytes != 5*512 {
		t.Errorf("%+v", s)
	}
	if p, err := y.ctx.Port(1); p.ActiveMTU != ib.MTU512 || p.MaxMTU != ib.MTU4096 || err != nil {
		t.Errorf("%+v, %v", p, err)
	}
}

// TestAddresses is case V11: what is wrong with an address, and why.
func TestAddresses(t *testing.T) {
	n := network(t, sim.Config{})
	x, y := newSide(t, n, "x"), newSide(t, n, "y")
	mine, other := get[verbs.GIDEntry](t)(x.ctx.GID(1, 0)), get[verbs.GIDEntry](t)(y.ctx.GID(1, 0))
	for name, test := range map[string]struct {
		a    verbs.AHAttr
		want error
	}{
		"good":            {verbs.AHAttr{GID: other.GID, Source: mine.GID}, nil},
		"by LID":          {verbs.AHAttr{LID: 2}, nil},
		"another's GID":   {verbs.AHAttr{GID: other.GID, Source: other.GID}, verbs.ErrNotFound},
		"another type":    {verbs.AHAttr{GID: other.GID, Type: verbs.GIDRoCEv2}, verbs.ErrNotFound},
		"nobody's GID":    {verbs.AHAttr{GID: ib.MustParseGID("fe80::99")}, verbs.ErrNotFound},
		"nobody's LID":    {verbs.AHAttr{LID: 9}, verbs.ErrNotFound},
		"no such port":    {verbs.AHAttr{Port: 2, LID: 2}, verbs.ErrInvalid},
		"a group's GID":   {verbs.AHAttr{GID: ib.MustParseGID("ff12::1")}, nil},
		"nothing at all":  {verbs.AHAttr{}, verbs.ErrNotFound},
		"port by default": {verbs.AHAttr{Port: 1, LID: 1}, nil},
	} {
		ah, err := x.pd.CreateAH(test.a)
		if !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
		if err == nil {
			must(t, ah.Close())
		}
	}
	if _, err := x.ctx.GID(1, 1); !errors.Is(err, verbs.ErrNotFound) {
		t.Errorf("GID 1: %v", err)
	}
	if _, err := x.ctx.Port(2); !errors.Is(err, verbs.ErrNotFound) {
		t.Errorf("port 2: %v", err)
	}
}

// TestConnectErrors: a peer's words that make no sense leave the QP as it was.
func TestConnectErrors(t *testing.T) {
	n, foreign := network(t, sim.Config{}), network(t, sim.Config{})
	x, y := newSide(t, n, "x"), newSide(t, n, "y")
	x.create(verbs.QPAttr{})
	y.create(verbs.QPAttr{})
	z := newSide(t, foreign, "z")
	z.create(verbs.QPAttr{})
	good := y.qp.Endpoint()
	change := func(at int, by byte) []byte {
		b := append([]byte(nil), good...)
		b[at] ^= by
		return b
	}
	for name, test := range map[string]struct {
		peer []byte
		want error
	}{
		"nothing": {nil, verbs.ErrInvalid}, "short": {good[1:], verbs.ErrInvalid}, "long": {append(change(0, 0), 0), verbs.ErrInvalid},
		"another network": {z.qp.Endpoint(), verbs.ErrInvalid}, "no such device": {change(8, 1), verbs.ErrInvalid},
		"no such QP": {change(13, 1), verbs.ErrPeerGone}, "UC": {change(20, 3), verbs.ErrInvalid}, "no service": {change(20, 8), verbs.ErrInvalid},
		"MTU": {change(21, 64), verbs.ErrInvalid},
	} {
		if err := x.qp.Connect(t.Context(), test.peer); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
		x.expect(verbs.Init)
	}
	must(t, x.qp.Connect(t.Context(), good))
	if err := x.qp.Connect(t.Context(), good); !errors.Is(err, verbs.ErrState) {
		t.Errorf("twice: %v", err)
	}
}

// TestClose: what is in use stays; what is closed says so.
func TestClose(t *testing.T) {
	n := network(t, sim.Config{})
	x, y := pair(t, n, verbs.QPAttr{})
	for name, c := range map[string]interface{ Close() error }{"context": x.ctx, "PD": x.pd, "CQ": x.cq} {
		if err := c.Close(); !errors.Is(err, verbs.ErrBusy) {
			t.Errorf("%s: %v, want ErrBusy", name, err)
		}
	}
	x.post(write(x, y, 0, 60000, 0))
	n.Step()
	must(t, y.mr.Close()) // with pieces under way
	n.Settle(1000)
	if _, got := x.statuses(1); got[0] != verbs.StatusRemoteAccess {
		t.Errorf("%v", got)
	}
	qp := x.qp
	must(t, qp.Close())
	must(t, qp.Close())
	_, stateErr := qp.State()
	for name, err := range map[string]error{
		"post": qp.PostSend(&verbs.SendWR{Op: verbs.OpSend}), "receive": qp.PostRecv(&verbs.RecvWR{}), "modify": qp.Modify(verbs.Err),
		"connect": qp.Connect(t.Context(), y.qp.Endpoint()), "attach": qp.Attach(ib.MustParseMGID("ff12::1"), 0), "state": stateErr,
	} {
		if !errors.Is(err, verbs.ErrClosed) {
			t.Errorf("%s: %v, want ErrClosed", name, err)
		}
	}
}
