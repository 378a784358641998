package queue_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"testing/synctest"

	"heddle/verbs"
	"heddle/verbs/internal/queue"

	"pgregory.net/rapid"
)

func memory(t *testing.T) *verbs.Memory {
	t.Helper()
	m, err := verbs.NewMemory(4096)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

// TestRegions: rights, bounds, foreign domains, and addresses that wrap (V9).
func TestRegions(t *testing.T) {
	var table queue.Regions
	m := memory(t)
	r, err := table.Register(m, verbs.LocalWrite|verbs.RemoteRead, 1)
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		pd, key uint32
		addr    uint64
		n       int
		need    verbs.Access
		want    verbs.Status
	}{
		"all":            {1, r.Key, r.Addr(), r.Len(), verbs.RemoteRead, verbs.StatusOK},
		"the last byte":  {1, r.Key, r.Addr() + 4095, 1, verbs.RemoteRead, verbs.StatusOK},
		"past the end":   {1, r.Key, r.Addr() + 4095, 2, verbs.RemoteRead, verbs.StatusRemoteAccess},
		"below":          {1, r.Key, r.Addr() - 1, 2, verbs.RemoteRead, verbs.StatusRemoteAccess},
		"wraps":          {1, r.Key, math.MaxUint64 - 1, 16, verbs.RemoteRead, verbs.StatusRemoteAccess},
		"wraps inside":   {1, r.Key, r.Addr() + 8, math.MaxInt, verbs.RemoteRead, verbs.StatusRemoteAccess},
		"no right":       {1, r.Key, r.Addr(), 1, verbs.RemoteWrite, verbs.StatusRemoteAccess},
		"other domain":   {2, r.Key, r.Addr(), 1, verbs.RemoteRead, verbs.StatusRemoteAccess},
		"another secret": {1, r.Key ^ 1<<20, r.Addr(), 1, verbs.RemoteRead, verbs.StatusRemoteAccess},
		"no such key":    {1, r.Key ^ 0xff00, r.Addr(), 1, verbs.RemoteRead, verbs.StatusRemoteAccess},
		"nothing (V6)":   {9, 12345, 0, 0, verbs.RemoteWrite, verbs.StatusOK},
	} {
		if b, got := table.Remote(test.pd, 7, test.key, test.addr, test.n, test.need); got != test.want || got == verbs.StatusOK && len(b) != test.n {
			t.Errorf("%s: %v and %d bytes, want %v", name, got, len(b), test.want)
		}
	}
	if _, got := table.Local(1, verbs.SGE{Addr: r.Addr(), Length: 4097, LKey: r.Key}, 0); got != verbs.StatusLocalProtection {
		t.Errorf("a long SGE: %v", got)
	}
	table.Remove(r)
	if _, got := table.Local(1, verbs.SGE{Addr: r.Addr(), Length: 1, LKey: r.Key}, 0); got != verbs.StatusLocalProtection {
		t.Errorf("a removed region: %v", got)
	}
	if _, err := table.Register(m, verbs.RemoteWrite, 1); !errors.Is(err, verbs.ErrInvalid) {
		t.Errorf("RemoteWrite alone: %v", err)
	}
}

// TestWindows: a window lets to its part only, through its QP, peers and nobody
// of its own side, until another key has its place.
func TestWindows(t *testing.T) {
	var table queue.Regions
	r, err := table.Register(memory(t), verbs.LocalWrite|verbs.WindowBind|verbs.RelaxedOrder, 1)
	if err != nil {
		t.Fatal(err)
	}
	empty, err := table.Window(1)
	if err != nil {
		t.Fatal(err)
	}
	key := queue.Renew(empty.Key)
	window := r.Part(r.Addr()+64, 64, verbs.RemoteWrite, key, 7)
	table.Put(empty, window)
	if window.Access&verbs.RelaxedOrder == 0 || r.Part(r.Addr()+4095, 2, 0, key, 0) != nil {
		t.Error("a part is not of its region")
	}
	for name, test := range map[string]struct {
		qpn, key uint32
		offset   uint64
		n        int
		need     verbs.Access
		want     verbs.Status
	}{
		"all of it":   {7, key, 64, 64, verbs.RemoteWrite, verbs.StatusOK},
		"another QP":  {8, key, 64, 64, verbs.RemoteWrite, verbs.StatusRemoteAccess},
		"another key": {7, empty.Key, 64, 64, verbs.RemoteWrite, verbs.StatusRemoteAccess},
		"a READ":      {7, key, 64, 64, verbs.RemoteRead, verbs.StatusRemoteAccess},
		"before it":   {7, key, 63, 2, verbs.RemoteWrite, verbs.StatusRemoteAccess},
		"behind it":   {7, key, 127, 2, verbs.RemoteWrite, verbs.StatusRemoteAccess},
		"its region":  {7, r.Key, 64, 64, verbs.RemoteWrite, verbs.StatusRemoteAccess},
	} {
		if _, got := table.Remote(1, test.qpn, test.key, r.Addr()+test.offset, test.n, test.need); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
	if _, got := table.Local(1, verbs.SGE{Addr: r.Addr() + 64, Length: 8, LKey: key}, 0); got != verbs.StatusLocalProtection {
		t.Errorf("a window's key in an SGE: %v", got)
	}
	shut := window.Closed(queue.Renew(key))
	table.Put(window, shut)
	if table.Find(key) != nil || table.Find(shut.Key) != shut {
		t.Error("the old key is still there")
	}
	table.Remove(shut)
	if table.Find(shut.Key) != nil {
		t.Error("the window is still there")
	}
}

// TestMemoryThatIsNotSeen: a device's memory, or a dmabuf, is nothing for others.
func TestMemoryThatIsNotSeen(t *testing.T) {
	var table queue.Regions
	if _, err := table.Register(verbs.NewDeviceMemory(64, nil), 0, 1); !errors.Is(err, verbs.ErrNotSupported) {
		t.Error(err)
	}
}

// TestManyRegions: keys stay those of their regions, whatever comes and goes.
func TestManyRegions(t *testing.T) {
	m := memory(t)
	rapid.Check(t, func(t *rapid.T) {
		var table queue.Regions
		var live []*queue.Region
		for range 200 {
			if len(live) > 0 && rapid.Bool().Draw(t, "remove") {
				i := rapid.IntRange(0, len(live)-1).Draw(t, "which")
				table.Remove(live[i])
				if table.Find(live[i].Key) != nil {
					t.Fatal("a removed region is found")
				}
				live = append(live[:i], live[i+1:]...)
				continue
			}
			r, err := table.Register(m, 0, 0)
			if err != nil {
				t.Fatal(err)
			}
			live = append(live, r)
			for _, r := range live {
				if table.Find(r.Key) != r {
					t.Fatal("a region is not found")
				}
			}
		}
	})
}

func newCQ(t *testing.T, depth int, failed func()) *queue.CQ {
	t.Helper()
	c, err := queue.NewCQ(verbs.CQAttr{Depth: depth}, 1024, failed)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestCQOverrun: what came before is still polled, then the error (case V4).
func TestCQOverrun(t *testing.T) {
	failed := 0
	c := newCQ(t, 2, func() { failed++ })
	for id := range uint64(4) {
		c.Push(verbs.WC{ID: id}, false)
	}
	into := make([]verbs.WC, 4)
	if n, err := c.Poll(into); n != 2 || err != nil || into[0].ID != 0 || into[1].ID != 1 {
		t.Errorf("%d, %v: %+v", n, err, into[:n])
	}
	if n, err := c.Poll(into); n != 0 || !errors.Is(err, verbs.ErrCQOverrun) || failed != 1 {
		t.Errorf("%d, %v, failed %d times", n, err, failed)
	}
}

// TestCQEvents: an event comes for what is pushed after Arm, once.
func TestCQEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCQ(t, 8, nil)
		c.Push(verbs.WC{}, true)
		waits := func(want bool) {
			t.Helper()
			ctx, cancel := context.WithCancel(t.Context())
			got := make(chan error)
			go func() { got <- c.Wait(ctx) }()
			synctest.Wait()
			cancel()
			if err := <-got; (err == nil) != want {
				t.Errorf("event: %v, want one: %v", err, want)
			}
		}
		waits(false)
		for _, test := range []struct {
			solicitedOnly, solicited bool
			status                   verbs.Status
			want                     bool
		}{
			{false, false, verbs.StatusOK, true},
			{true, false, verbs.StatusOK, false},
			{true, true, verbs.StatusOK, true},
			{true, false, verbs.StatusFlushed, true},
		} {
			if err := c.Arm(test.solicitedOnly); err != nil {
				t.Fatal(err)
			}
			c.Push(verbs.WC{Status: test.status}, test.solicited)
			waits(test.want)
			waits(false)
		}
		c.Use()
		if err := c.Close(); !errors.Is(err, verbs.ErrBusy) {
			t.Errorf("close of a used CQ: %v", err)
		}
		c.Unuse()
		if err := errors.Join(c.Close(), c.Close()); err != nil {
			t.Error(err)
		}
		if err := c.Wait(t.Context()); !errors.Is(err, verbs.ErrClosed) {
			t.Errorf("wait: %v", err)
		}
	})
}

func TestCQForgets(t *testing.T) {
	c := newCQ(t, 3, nil)
	into := make([]verbs.WC, 3)
	c.Push(verbs.WC{}, false)
	c.Poll(into) //nolint:errcheck // so that the ring wraps
	for id := range uint64(3) {
		c.Push(verbs.WC{ID: id}, false)
	}
	c.Forget(func(wc *verbs.WC) bool { return wc.ID == 1 })
	if n, err := c.Poll(into); n != 2 || err != nil || into[0].ID != 0 || into[1].ID != 2 {
		t.Errorf("%d, %v: %+v", n, err, into[:n])
	}
}

// TestNoAllocs: what happens for each message allocates nothing.
func TestNoAllocs(t *testing.T) {
	c := newCQ(t, 4, nil)
	sends := queue.NewSends(&verbs.QPAttr{SendWR: 2, SendSGE: 2, Inline: 8})
	recvs := queue.NewRecvs(2, 1)
	into := make([]verbs.WC, 1)
	swr := &verbs.SendWR{Op: verbs.OpSend, Flags: verbs.Inline, InlineData: make([]byte, 8), SGEs: make([]verbs.SGE, 2)}
	rwr := &verbs.RecvWR{SGEs: make([]verbs.SGE, 1)}
	if n := testing.AllocsPerRun(100, func() {
		if sends.Push(swr) != nil || recvs.Push(rwr) != nil || recvs.Front() == nil {
			t.Fatal("full")
		}
		sends.Pop()
		recvs.Pop()
		c.Push(verbs.WC{}, false)
		c.Poll(into) //nolint:errcheck // it is not closed
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestRings: requests come out as they went in, and are copies.
func TestRings(t *testing.T) {
	s := queue.NewSends(&verbs.QPAttr{SendWR: 2, SendSGE: 1, Inline: 4})
	wr := verbs.SendWR{Op: verbs.OpSend, Flags: verbs.Inline, InlineData: []byte("abcd")}
	for id := range uint64(5) {
		wr.ID = id
		if err := s.Push(&wr); err != nil {
			t.Fatal(err)
		}
		wr.InlineData[0]++
		if got := s.At(s.First()); got.ID != id || got.InlineData[0] != 'a'+byte(id) {
			t.Errorf("%+v", got)
		}
		s.Pop()
	}
	s.Push(&wr) //nolint:errcheck // there is room for two
	s.Push(&wr) //nolint:errcheck // as above
	if err := s.Push(&wr); !errors.Is(err, verbs.ErrQueueFull) || s.Len() != 2 {
		t.Errorf("%v, %d posted", err, s.Len())
	}
}

func TestStates(t *testing.T) {
	if !queue.Allowed(verbs.UD, verbs.SQE, verbs.RTS) || queue.Allowed(verbs.RC, verbs.SQE, verbs.RTS) {
		t.Error("SQE")
	}
	if queue.Allowed(verbs.RC, verbs.Reset, verbs.RTS) || queue.Allowed(verbs.RC, verbs.Err, verbs.Init) || !queue.Allowed(verbs.RC, verbs.Err, verbs.Reset) {
		t.Error("out of turn")
	}
	if queue.CanPostRecv(verbs.Reset) || !queue.CanPostRecv(verbs.Init) || queue.CanPostSend(verbs.RTR) || !queue.CanPostSend(verbs.Err) {
		t.Error("posts")
	}
	if err := queue.Refused(verbs.RC, verbs.Reset, verbs.RTS); !errors.Is(err, verbs.ErrState) {
		t.Error(err)
	}
}
