package sim_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"heddle/verbs"
	"heddle/verbs/sim"
)

// TestHalfRoundTrips: what each operation costs by the measures of the seed
// paper: crossings until the data is there, and until it completes.
func TestHalfRoundTrips(t *testing.T) {
	for _, test := range []struct {
		p               sim.Profile
		op              verbs.Op
		arrives, ends   time.Duration
		packets, counts uint64 // of the initiator: packets, crossings
	}{
		{sim.InOrder(), verbs.OpSend, 1, 2, 1, 1},
		{sim.InOrder(), verbs.OpWrite, 1, 2, 1, 1},
		{sim.InOrder(), verbs.OpWriteImm, 1, 2, 1, 1},
		{sim.InOrder(), verbs.OpRead, 0, 2, 1, 1},
		{sim.InOrder(), verbs.OpFetchAdd, 1, 2, 1, 1},
		{sim.AdaptiveRouting(), verbs.OpWrite, 1, 2, 1, 1},
		{sim.EFA(), verbs.OpWrite, 1, 2, 1, 1},
		{sim.IWARP(), verbs.OpSend, 1, 2, 1, 1},
		{sim.OneRMA(), verbs.OpRead, 0, 2, 1, 1},
		{sim.OneRMA(), verbs.OpWrite, 3, 4, 2, 2},
	} {
		for seed := range uint64(20) {
			n := network(t, sim.Config{Profile: test.p, Seed: seed, Clock: sim.Crossings})
			x, y := pair(t, n, verbs.QPAttr{})
			x.mem.Bytes()[7] = 1
			wr := write(x, y, 0, 8, 0)
			wr.Op, wr.Swap = test.op, 1<<56|1
			y.recv(1, y.mr.SGE(0, 8))
			x.post(wr)
			if test.arrives > 0 {
				must(t, y.ctx.Await(t.Context(), func() bool { return y.mem.Bytes()[7] != 0 }))
				if now := n.Now(); now != test.arrives {
					t.Errorf("%s, %v: there after %d crossings, want %d", test.p.Name, test.op, now, test.arrives)
				}
			}
			x.ok()
			if now := n.Now(); now != test.ends {
				t.Errorf("%s, %v: complete after %d crossings, want %d", test.p.Name, test.op, now, test.ends)
			}
			s, dev := sim.StatsOf(x.qp), x.dev.Stats()
			if s.Packets != test.packets || s.Crossings != test.counts || s.Posted[test.op] != 1 || s.Requests() != 1 || dev != s {
				t.Errorf("%s, %v: %+v, device %+v", test.p.Name, test.op, s, dev)
			}
		}
	}
}

// TestLongHalfRoundTrips: a long message costs no more crossings.
func TestLongHalfRoundTrips(t *testing.T) {
	n := network(t, sim.Config{Clock: sim.Crossings})
	x, y := pair(t, n, verbs.QPAttr{})
	for i, op := range []verbs.Op{verbs.OpWrite, verbs.OpRead} {
		wr := write(x, y, 0, memorySize, 0)
		wr.Op = op
		x.post(wr)
		x.ok()
		if now := n.Now(); now != time.Duration(2*i+2) {
			t.Errorf("%v: %d crossings", op, now)
		}
	}
	if s := sim.StatsOf(x.qp); s.Packets != memorySize/4096+1 || s.Bytes != memorySize {
		t.Errorf("%+v", s)
	}
}

// flag is a byte that others write.
func (s *side) flag(at int) bool {
	word := (*uint64)(unsafe.Pointer(&s.mem.Bytes()[at&^7]))
	v := atomic.LoadUint64(word)
	return (*[8]byte)(unsafe.Pointer(&v))[at&7] != 0
}

// pingPong has two goroutines wait for each other's WRITEs and SENDs.
func pingPong(t *testing.T, x, y *side, rounds int) {
	var group sync.WaitGroup
	defer group.Wait()
	play := func(me, peer *side, first bool) {
		me.mem.Bytes()[memorySize-1] = 1
		for i := range rounds {
			if i%2 == 0 == first {
				if err := me.qp.PostSend(&verbs.SendWR{
					Op: verbs.OpWrite, SGEs: []verbs.SGE{me.mr.SGE(memorySize-1, 1)},
					RemoteAddr: peer.mr.Addr() + uint64(i), RKey: peer.mr.RKey(),
				}); err != nil {
					t.Error(err)
					return
				}
				if err := me.qp.PostSend(&verbs.SendWR{Op: verbs.OpSend, Flags: verbs.Signaled}); err != nil {
					t.Error(err)
					return
				}
			} else if err := me.ctx.Await(t.Context(), func() bool { return me.flag(i) }); err != nil {
				t.Error(err)
				return
			}
			into := make([]verbs.WC, 1)
			if n, err := verbs.Await(t.Context(), me.cq, into); err != nil || n != 1 || into[0].Status != verbs.StatusOK {
				t.Error(n, err, into[0])
				return
			}
		}
	}
	for i := range rounds {
		x.recv(uint64(i))
		y.recv(uint64(i))
	}
	group.Go(func() { play(x, y, true) })
	play(y, x, false)
}

// TestClocks: two goroutines that wait for each other, in virtual time, in real
// time, and in real time that is simulated.
func TestClocks(t *testing.T) {
	play := func(t *testing.T, c sim.Clock, check func(took time.Duration)) {
		n, err := sim.New(sim.Config{Clock: c})
		must(t, err)
		defer n.Close() //nolint:errcheck // of a test
		x, y := pair(t, n, verbs.QPAttr{RecvWR: 128})
		pingPong(t, x, y, 50)
		check(n.Now())
	}
	some := func(took time.Duration) {
		if took < 50*time.Microsecond {
			t.Errorf("50 messages took %v", took)
		}
	}
	t.Run("virtual", func(t *testing.T) { play(t, sim.Virtual, some) })
	t.Run("real", func(t *testing.T) { play(t, sim.Real, some) })
	t.Run("synctest", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			begin := time.Now()
			play(t, sim.Real, func(took time.Duration) {
				some(took)
				if d := time.Since(begin); took > time.Millisecond || d != took {
					t.Errorf("50 messages took %v of the network's time and %v of the clock's", took, d)
				}
			})
		})
	})
}

// TestDelayReal: a message is under way as long as it should be.
func TestDelayReal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, err := sim.New(sim.Config{Clock: sim.Real, Delay: time.Second, Faults: sim.Faults{Jitter: time.Second}})
		must(t, err)
		defer n.Close() //nolint:errcheck // of a test
		x, y := pair(t, n, verbs.QPAttr{Timeout: time.Minute})
		begin := time.Now()
		x.post(write(x, y, 0, 1, 0))
		x.ok()
		if d := time.Since(begin); d < 2*time.Second || d > 5*time.Second {
			t.Errorf("took %v", d)
		}
	})
}

// TestEndOfWait: a wait ends with its context, or when what it waits on closes.
func TestEndOfWait(t *testing.T) {
	for _, clock := range []sim.Clock{sim.Virtual, sim.Real} {
		synctest.Test(t, func(t *testing.T) {
			n, err := sim.New(sim.Config{Clock: clock})
			must(t, err)
			x := newSide(t, n, "x")
			cq := get[verbs.CQ](t)(x.ctx.CreateCQ(verbs.CQAttr{Depth: 1}))
			never := func() bool { return false }
			waits := map[string]func(ctx context.Context) error{
				"Await": func(ctx context.Context) error { return x.ctx.Await(ctx, never) },
				"Event": func(ctx context.Context) error { _, err := x.ctx.Event(ctx); return err },
				"Wait":  cq.Wait,
			}
			for name, wait := range waits {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				if err := wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("%s: %v, want the deadline", name, err)
				}
				cancel()
			}
			ended := make(chan error)
			go func() { ended <- cq.Wait(t.Context()) }()
			synctest.Wait()
			must(t, cq.Close())
			if err := <-ended; !errors.Is(err, verbs.ErrClosed) {
				t.Errorf("a closed CQ: %v", err)
			}
			for name, wait := range waits {
				if name == "Wait" {
					continue
				}
				go func() { ended <- wait(t.Context()) }()
			}
			synctest.Wait()
			must(t, n.Close())
			for range len(waits) - 1 {
				if err := <-ended; !errors.Is(err, verbs.ErrClosed) {
					t.Errorf("a closed network: %v", err)
				}
			}
			if _, err := n.Add("y"); !errors.Is(err, verbs.ErrClosed) {
				t.Errorf("a device of a closed network: %v", err)
			}
		})
	}
}
