package verbstest

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"heddle/verbs"
	"heddle/verbs/sim"
)

// quick is the patience with broken devices.
const quick = 300 * time.Millisecond

// mutant is a device that is broken in one way, and the tests that must fail on
// it.
type mutant struct {
	name    string
	profile func() sim.Profile // sim.InOrder by default
	fault   fault
	tests   []string
}

func mutants() []mutant {
	all := [][]mutant{brokenData(), brokenOrder(), brokenCompletions(), brokenPosts(), brokenRights(), brokenEvents(), brokenWindows(), brokenDeviceMemory(), brokenDatagrams(), brokenLives()}
	return slices.Concat(all...)
}

func must(names ...string) []string { return names }

func brokenCompletions() []mutant {
	return []mutant{
		{name: "drops a completion", fault: poll(func(w *world, _ *verbs.WC) bool { return !w.every(10) }), tests: must("EachOnce", "SharedCQ", "Traffic", "V2Flush")},
		{name: "completes twice", fault: fault{poll: completeTwice}, tests: must("EachOnce", "Mixed", "V2Flush", "Unsignaled")},
		{name: "completes in another order", fault: fault{poll: completeLater}, tests: must("EachOnce", "V2Flush", "FlushByModify", "PollPart")},
		{name: "names another operation", fault: poll(func(_ *world, wc *verbs.WC) bool { wc.Op++; return true }), tests: must("EachOnce", "SizesSend", "Mixed")},
		{name: "names another request", fault: poll(func(_ *world, wc *verbs.WC) bool { wc.ID ^= 1; return true }), tests: must("EachOnce", "V2Flush")},
		{name: "names another QP", fault: poll(func(_ *world, wc *verbs.WC) bool { wc.QPN++; return true }), tests: must("EachOnce", "SharedCQ", "FlushByModify", "SizesSend")},
		{name: "completes what is not signalled", fault: post(func(_ *world, wr *verbs.SendWR) { wr.Flags |= verbs.Signaled }), tests: must("Unsignaled")},
		{name: "ignores SigAll", fault: fault{qp: func(a *verbs.QPAttr) { a.SigAll = false }}, tests: must("SigAll")},
		{name: "swallows a flush", fault: poll(func(w *world, wc *verbs.WC) bool { return wc.Status != verbs.StatusFlushed || !w.every(5) }), tests: must("V2Flush", "FlushByModify")},
		{name: "flushes with success", fault: status(verbs.StatusFlushed, verbs.StatusOK), tests: must("V2Flush", "FlushByModify", "V2PostInError")},
		{name: "swallows what failed and was not signalled", fault: poll(func(_ *world, wc *verbs.WC) bool { return wc.Status != verbs.StatusRemoteAccess }), tests: must("UnsignaledFails", "V2Flush")},
		{name: "has a CQ without end", fault: fault{cq: func(a *verbs.CQAttr) { a.Depth *= 100 }}, tests: must("V4")},
		{name: "has a CQ that is too short", fault: fault{cq: func(a *verbs.CQAttr) { a.Depth = (a.Depth + 3) / 4 }}, tests: must("Depth")},
		{name: "forgets that a CQ overran", fault: fault{poll: func(_ *brokenCQ, _ []verbs.WC, n int, _ error) (int, error) { return n, nil }}, tests: must("V4")},
		{name: "polls nothing without room", fault: fault{poll: func(_ *brokenCQ, into []verbs.WC, n int, err error) (int, error) {
			if len(into) == 0 {
				return 0, verbs.ErrInvalid
			}
			return n, err
		}}, tests: must("PollPart")},
		{name: "allocates when it polls", fault: fault{poll: func(c *brokenCQ, _ []verbs.WC, n int, err error) (int, error) {
			c.held = make([]verbs.WC, 1)
			return n, err
		}}, tests: must("NoAllocs")},
	}
}

func completeTwice(c *brokenCQ, into []verbs.WC, n int, err error) (int, error) {
	switch {
	case n > 0 && c.f.world.every(3):
		c.held = append(c.held, into[n-1])
	case n == 0 && len(into) > 0 && len(c.held) > 0:
		into[0], c.held = c.held[0], c.held[1:]
		return 1, nil
	}
	return n, err
}

// completeLater gives each second completion after the next one.
func completeLater(c *brokenCQ, into []verbs.WC, n int, err error) (int, error) {
	if n > 0 && len(c.held) == 0 {
		c.held = append(c.held, into[0])
		return copy(into, into[1:n]), err
	}
	if n > 0 && n < len(into) {
		into[n], c.held = c.held[0], nil
		return n + 1, err
	}
	return n, err
}

func brokenPosts() []mutant {
	return []mutant{
		{name: "allocates when it posts", fault: fault{send: func(q *brokenQP, wr *verbs.SendWR) error {
			changed := *wr
			q.held = append([]*verbs.SendWR{}, &changed)[:0]
			return q.QP.PostSend(&changed)
		}}, tests: must("NoAllocs")},
		{name: "keeps the caller's request", fault: fault{send: func(q *brokenQP, wr *verbs.SendWR) error {
			q.held = append(q.held, wr)
			return nil
		}}, tests: must("Reused")},
		{name: "keeps the caller's inline data", fault: fault{send: func(q *brokenQP, wr *verbs.SendWR) error {
			changed := *wr
			q.held = append(q.held, &changed)
			return nil
		}}, tests: must("V7")},
		{name: "cuts inline data", fault: post(func(_ *world, wr *verbs.SendWR) { wr.InlineData = wr.InlineData[:min(len(wr.InlineData), 256)] }), tests: must("V7")},
		{name: "cuts lists", fault: post(func(_ *world, wr *verbs.SendWR) { wr.SGEs = wr.SGEs[:min(len(wr.SGEs), 1)] }), tests: must("OneSGEMore", "ListsWrite")},
		{name: "does not name the limit", fault: fault{send: func(q *brokenQP, wr *verbs.SendWR) error {
			var op *verbs.OpError
			if err := q.QP.PostSend(wr); errors.As(err, &op) {
				return op.Err
			}
			return nil
		}}, tests: must("OneSGEMore", "V7")},
		{name: "counts what it did not post", fault: fault{sends: func(q *brokenQP, wrs []verbs.SendWR) (int, error) {
			n, err := q.QP.PostSends(wrs)
			if err != nil {
				n++
			}
			return n, err
		}}, tests: must("V3")},
		{name: "goes on after a bad request", fault: fault{sends: func(q *brokenQP, wrs []verbs.SendWR) (n int, err error) {
			n, err = q.QP.PostSends(wrs)
			if err != nil {
				for i := n + 1; i < len(wrs); i++ {
					q.QP.PostSend(&wrs[i]) //nolint:errcheck // it is what must not be
				}
			}
			return n, err
		}}, tests: must("V3")},
		{name: "has queues that are longer than it says", fault: fault{
			qp:   func(a *verbs.QPAttr) { a.SendWR, a.RecvWR = a.SendWR+1, a.RecvWR+1 },
			told: func(a verbs.QPAttr) verbs.QPAttr { a.SendWR, a.RecvWR = a.SendWR-1, a.RecvWR-1; return a },
		}, tests: must("SendQueueFull", "RecvQueueFull")},
		{name: "refuses posts in error", fault: fault{send: func(q *brokenQP, wr *verbs.SendWR) error {
			if s, _ := q.QP.State(); s == verbs.Err {
				return verbs.ErrState
			}
			return q.QP.PostSend(wr)
		}}, tests: must("V2PostInError")},
		{name: "refuses receives in INIT", fault: fault{recv: func(q *brokenQP, wr *verbs.RecvWR) error {
			if s, _ := q.QP.State(); s == verbs.Init {
				return verbs.ErrState
			}
			return q.QP.PostRecv(wr)
		}}, tests: must("V2Init")},
		{name: "wants SGEs for a WRITE_WITH_IMM", fault: fault{recv: func(q *brokenQP, wr *verbs.RecvWR) error {
			if len(wr.SGEs) == 0 {
				return verbs.ErrInvalid
			}
			return q.QP.PostRecv(wr)
		}}, tests: must("V5")},
		{name: "takes receives for longer than they are", fault: fault{recv: func(q *brokenQP, wr *verbs.RecvWR) error {
			changed := verbs.RecvWR{ID: wr.ID, SGEs: slices.Clone(wr.SGEs)}
			for i := range changed.SGEs {
				changed.SGEs[i].Length++
			}
			return q.QP.PostRecv(&changed)
		}}, tests: must("LongMessage", "V10Long")},
		{name: "sends without a connection", fault: fault{send: func(q *brokenQP, wr *verbs.SendWR) error {
			if s, _ := q.QP.State(); s == verbs.Init || s == verbs.Reset {
				return nil
			}
			return q.QP.PostSend(wr)
		}}, tests: must("States")},
	}
}

func brokenRights() []mutant {
	wr := func(change func(*world, *verbs.SendWR)) fault { return post(change) }
	return []mutant{
		{name: "ignores the remote key", fault: wr(func(w *world, wr *verbs.SendWR) {
			if mr := w.at(wr.RemoteAddr); mr != nil {
				wr.RKey = mr.RKey()
			}
		}), tests: must("AccessWrite", "AccessWriteImm", "AccessRead", "V8FetchAdd", "V8CompareSwap", "V2Flush")},
		{name: "ignores bounds", fault: wr(func(w *world, wr *verbs.SendWR) {
			if mr := w.of(wr.RKey); mr != nil && wr.Length() <= mr.Len() {
				if end := mr.Addr() + uint64(mr.Len()); wr.RemoteAddr < mr.Addr() || wr.RemoteAddr+uint64(wr.Length()) > end || wr.RemoteAddr > end {
					wr.RemoteAddr = mr.Addr()
				}
			}
		}), tests: must("AccessWrite", "AccessRead", "V9", "V8FetchAdd")},
		{name: "adds without a look for a wrap", fault: wr(func(w *world, wr *verbs.SendWR) {
			if mr := w.of(wr.RKey); mr != nil && wr.RemoteAddr+uint64(wr.Length()) < wr.RemoteAddr {
				wr.RemoteAddr = mr.Addr()
			}
		}), tests: must("V9", "AccessWrite", "AccessRead")},
		{name: "ignores the rights of an MR", fault: fault{access: func(verbs.Access) verbs.Access { return everything }}, tests: must("AccessWrite", "AccessRead", "V8FetchAdd", "ReadOnly", "InvalidRights")},
		{name: "ignores the rights of a QP", fault: fault{qp: func(a *verbs.QPAttr) { a.Access = 0 }}, tests: must("AccessWrite", "AccessWriteImm", "AccessRead", "V8FetchAdd", "V8CompareSwap")},
		{name: "aligns atomics", fault: wr(func(_ *world, wr *verbs.SendWR) {
			if wr.Op.Atomic() {
				wr.RemoteAddr &^= 7
			}
		}), tests: must("V8FetchAdd", "V8CompareSwap")},
		{name: "ignores the local key", fault: wr(func(w *world, wr *verbs.SendWR) {
			wr.SGEs = slices.Clone(wr.SGEs)
			for i := range wr.SGEs {
				if mr := w.at(wr.SGEs[i].Addr); mr != nil {
					wr.SGEs[i].LKey = mr.LKey()
				}
			}
		}), tests: must("LocalProtection")},
		{name: "calls an access error an operation error", fault: status(verbs.StatusRemoteAccess, verbs.StatusRemoteOperation), tests: must("AccessWrite", "AccessRead", "V9", "V2Flush", "ClosedMR")},
		{name: "calls a local error a length error", fault: status(verbs.StatusLocalProtection, verbs.StatusLocalLength), tests: must("LocalProtection", "ReadOnly", "BadBuffer")},
		{name: "stays in RTS after an error", fault: fault{state: func(s verbs.QPState) verbs.QPState {
			if s == verbs.Err {
				return verbs.RTS
			}
			return s
		}}, tests: must("AccessWrite", "V2Flush", "V4", "States", "V1NoReceive")},
		{name: "writes before it looks at the key", fault: fault{send: func(q *brokenQP, wr *verbs.SendWR) error {
			if q.f.world.of(wr.RKey) == nil {
				q.f.world.spoil(wr.RemoteAddr)
			}
			return q.QP.PostSend(wr)
		}}, tests: must("AccessWrite", "AccessRead")},
	}
}

func brokenEvents() []mutant {
	swallow := func(what verbs.EventType) fault {
		return fault{event: func(ev *verbs.Event) bool { return ev.Type == what }}
	}
	return []mutant{
		{name: "never makes an event", fault: fault{wait: func(ctx context.Context, _ *brokenCQ) error { <-ctx.Done(); return ctx.Err() }}, tests: must("Arm", "Solicited")},
		{name: "makes events at any time", fault: fault{wait: func(ctx context.Context, _ *brokenCQ) error { return ctx.Err() }}, tests: must("Arm", "Solicited", "WaitEnds")},
		{name: "makes events of unsolicited messages", fault: fault{arm: func(c *brokenCQ, _ bool) error { return c.CQ.Arm(false) }}, tests: must("Solicited")},
		{name: "makes no events of solicited messages", fault: post(func(_ *world, wr *verbs.SendWR) { wr.Flags &^= verbs.Solicited }), tests: must("Solicited")},
		{name: "makes events for what came before", fault: fault{
			arm: func(c *brokenCQ, s bool) error { c.armed = true; return c.CQ.Arm(s) },
			wait: func(ctx context.Context, c *brokenCQ) error {
				if c.armed && ctx.Err() == nil {
					c.armed = false
					return nil
				}
				return c.CQ.Wait(ctx)
			},
		}, tests: must("Arm", "Solicited")},
		{name: "ignores the context of a wait", fault: fault{wait: func(_ context.Context, _ *brokenCQ) error { return nil }}, tests: must("WaitEnds")},
		{name: "does not tell of an overrun", fault: swallow(verbs.EventCQ), tests: must("V4")},
		{name: "tells of another CQ", fault: fault{event: func(ev *verbs.Event) bool { ev.CQ = nil; return false }}, tests: must("V4")},
		{name: "does not tell of an SRQ's limit", fault: swallow(verbs.EventSRQLimit), tests: must("SRQLimit")},
		{name: "does not tell of a last buffer", fault: swallow(verbs.EventLastWQE), tests: must("SRQLastWQE")},
		{name: "does not tell of a drained queue", fault: swallow(verbs.EventSQDrained), tests: must("Drain")},
		{name: "loses a buffer of an SRQ", fault: fault{srqPosts: func(q verbs.SRQ, wr *verbs.RecvWR) error {
			if wr.ID == 3 {
				return nil
			}
			return q.PostRecv(wr)
		}}, tests: must("SRQShared")},
		{name: "awaits nothing", fault: fault{await: func(context.Context, verbs.Context, func() bool) error { return nil }}, tests: must("ContextEnds", "PlacementOrder")},
		{name: "ignores the context of Await", fault: fault{await: func(_ context.Context, dev verbs.Context, ready func() bool) error {
			ctx, cancel := context.WithTimeout(context.Background(), quick)
			defer cancel()
			return dev.Await(ctx, ready)
		}}, tests: must("ContextEnds")},
	}
}

// TestMutants: each broken device makes the tests fail that are to find its
// fault.
func TestMutants(t *testing.T) {
	for _, m := range mutants() {
		t.Run(m.name, func(t *testing.T) {
			for _, name := range m.tests {
				if faults := suiteOn(m.network(), m.fault).record(t, named(t, name)); len(faults) == 0 {
					t.Errorf("%s does not fail", name)
				} else {
					t.Logf("%s: %s", name, faults[0])
				}
			}
		})
	}
}

// TestGoodDevices: those tests pass on the same device, wrapped, without the
// fault.
func TestGoodDevices(t *testing.T) {
	for _, profile := range sim.Profiles() {
		suite := suiteOn(profile, fault{})
		suite.Patience = 20 * time.Second
		for _, test := range tests() {
			if faults := suite.record(t, &test); len(faults) > 0 {
				t.Errorf("%s: %s: %s", profile.Name, test.name, faults)
			}
		}
	}
}

// TestEachTestFindsSomething: a test that no broken device makes fail is of
// unknown worth.
func TestEachTestFindsSomething(t *testing.T) {
	found := map[string]bool{}
	for _, m := range mutants() {
		for _, name := range m.tests {
			found[name] = true
		}
	}
	for _, test := range tests() {
		if !found[test.name] {
			t.Errorf("no broken device is to fail %s", test.name)
		}
	}
}

func (m *mutant) network() sim.Profile {
	if m.profile == nil {
		return sim.InOrder()
	}
	return m.profile()
}

func named(t *testing.T, name string) *test {
	t.Helper()
	for _, test := range tests() {
		if test.name == name {
			return &test
		}
	}
	t.Fatalf("there is no test %s", name)
	return nil
}
