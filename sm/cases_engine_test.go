package sm_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"heddle/emu"
	"heddle/fabric"
	"heddle/mad"
	"heddle/route"
	"heddle/sa"
	"heddle/sm"
	"heddle/sm/multicast"
)

// whimsical is a unicast engine that does what a test tells it.
type whimsical struct {
	good sm.Unicast
	does atomic.Pointer[func() (*route.LFTs, error)] // nil to route
}

func (w *whimsical) do(f func() (*route.LFTs, error)) { w.does.Store(&f) }

func (w *whimsical) engine(name string) sm.Unicast {
	return sm.Unicast{Name: name, Route: func(g *route.Graph, h *route.Hops, lids *route.LIDs, workers int) (*route.LFTs, error) {
		if f := w.does.Load(); f != nil {
			return (*f)()
		}
		return w.good.Route(g, h, lids, workers)
	}}
}

// TestS2UnicastEngine: whatever an engine does, the next one routes, and the log
// says which engine failed and why.
func TestS2UnicastEngine(t *testing.T) {
	for _, c := range []struct {
		name, says string
		does       func() (*route.LFTs, error)
	}{
		{"fails", "cannot do tori", func() (*route.LFTs, error) { return nil, errors.New("cannot do tori") }},
		{"panics", "panic: index 7", func() (*route.LFTs, error) { panic("index 7") }},
		{"panics at work", "panic: strange", func() (*route.LFTs, error) {
			route.Parallel(2, func() { panic("strange") })
			return nil, nil
		}},
		{"gives nothing", "no tables", func() (*route.LFTs, error) { return nil, nil }},
		{"never returns", "did not return within 20s", nil},
	} {
		t.Run(c.name, func(t *testing.T) { fallsBack(t, c.says, c.does) })
	}
}

func fallsBack(t *testing.T, says string, does func() (*route.LFTs, error)) {
	w := &whimsical{good: engine(t, "updown")}
	var log bytes.Buffer
	change := func(c *sm.Config) {
		c.Unicast = []sm.Unicast{w.engine("whimsical"), engine(t, "minhop")}
		c.Log, c.RouteLimit = slog.New(slog.NewTextHandler(&log, nil)), 20*time.Second
	}
	runOn(t, generate(t, "fat-tree:k=4"), emu.Config{}, subject{change: change}, func(t *testing.T, r running) {
		if e := r.Status().Last.Engine; e != "whimsical" {
			t.Errorf("routed by %q at first", e)
		}
		over := make(chan struct{})
		defer close(over)
		w.do(func() (*route.LFTs, error) {
			if does == nil {
				<-over
				return nil, nil
			}
			return does()
		})
		link := r.trunk(t)
		r.change(t, func(s *emu.Subnet) { s.CutLink(link) })
		if e := r.Status().Last.Engine; e != "minhop" {
			t.Errorf("routed by %q, want minhop", e)
		}
		r.well(t)
		r.change(t, func(s *emu.Subnet) { s.RestoreLink(link) })
		r.well(t)
		r.stop()
		if l := log.String(); !strings.Contains(l, "unicast engine whimsical: ") || !strings.Contains(l, says) {
			t.Errorf("the log does not name engine and reason %q:\n%s", says, l)
		}
	})
}

// TestS2NoEngineLeft: where no engine routes, the old tables stay, the manager
// says so, answers, and routes as soon as one can.
func TestS2NoEngineLeft(t *testing.T) {
	w := &whimsical{good: engine(t, "updown")}
	change := func(c *sm.Config) { c.Unicast = []sm.Unicast{w.engine("whimsical")} }
	runOn(t, generate(t, "fat-tree:k=4"), emu.Config{}, subject{change: change}, func(t *testing.T, r running) {
		before := r.written(t)
		w.do(func() (*route.LFTs, error) { panic("strange fabric") })
		r.Resweep("the test")
		time.Sleep(20 * time.Second)
		last := r.Status().Last
		if last.Err == nil || !strings.Contains(last.Err.Error(), "whimsical: panic: strange fabric") {
			t.Errorf("the last sweep: %v", last.Err)
		}
		if now := r.written(t); fmt.Sprint(now) != fmt.Sprint(before) {
			t.Error("the tables are not the old ones")
		}
		hosts := r.fabric(t).Adapters()
		mlid := r.join(t, mgid(1), 0, hosts[0], hosts[7]) // answered, and routed, all the same
		time.Sleep(time.Second)
		r.wantSpread(t, mlid, []fabric.NodeID{hosts[0], hosts[7]})
		w.does.Store(nil)
		time.Sleep(20 * time.Second)
		if last := r.Status().Last; last.Err != nil {
			t.Errorf("the engine works again: %v", last.Err)
		}
		r.well(t)
	})
}

// TestS2StuckEngine: while an engine does not return, subnet administration
// answers, and the manager is asked to end in vain for no longer than the limit.
func TestS2StuckEngine(t *testing.T) {
	w := &whimsical{good: engine(t, "updown")}
	change := func(c *sm.Config) {
		c.Unicast, c.RouteLimit = []sm.Unicast{w.engine("whimsical")}, 40*time.Second
	}
	runOn(t, generate(t, "fat-tree:k=4"), emu.Config{}, subject{change: change}, func(t *testing.T, r running) {
		over := make(chan struct{})
		w.do(func() (*route.LFTs, error) { <-over; return nil, nil })
		r.Resweep("the test")
		time.Sleep(time.Second)
		r.at(t, r.fabric(t).Adapters()[5], func(c client) {
			start := time.Now()
			nodes, err := sa.Query(t.Context(), c.Client, mad.NodeRecord{}, 0)
			if err != nil || len(nodes) != 36 || time.Since(start) > time.Second {
				t.Errorf("%d nodes, %v, after %v", len(nodes), err, time.Since(start))
			}
		})
		start := time.Now()
		r.stop()
		if took := time.Since(start); took > 45*time.Second {
			t.Errorf("the manager ended after %v", took)
		}
		close(over)
	})
}

// capricious is an engine of trees that panics, lays none, or does not return
// before the test is over, when it is told to.
type capricious struct {
	route.Router
	does *atomic.Int32
	over chan struct{}
}

func (c capricious) Route(s *route.State, leaves []int32, at route.Centers) route.Tree {
	switch c.does.Load() {
	case 1:
		return route.Tree{Root: -1}
	case 2:
		panic("strange group")
	case 3:
		<-c.over
		return route.Tree{Root: -1}
	default:
		return c.Router.Route(s, leaves, at)
	}
}

// TestS2MulticastEngine: the trees of an engine that fails, panics or never
// returns stay, those to come are laid by the next one, and log and warnings say
// why.
func TestS2MulticastEngine(t *testing.T) {
	for does, says := range map[int32]string{1: "is no tree of the group", 2: "panic: strange group", 3: "did not return within 20s"} {
		var how atomic.Int32
		var over chan struct{}
		var log bytes.Buffer
		good := treeEngine(t, "weave")
		bad := multicast.Engine{Name: "capricious", New: func(g *route.Graph, h *route.Hops) route.Router {
			return capricious{good.New(g, h), &how, over}
		}}
		change := func(c *sm.Config) {
			c.Multicast = []multicast.Engine{bad, treeEngine(t, "fulb")}
			c.Log, c.RouteLimit = slog.New(slog.NewTextHandler(&log, nil)), 20*time.Second
			over = make(chan struct{})
		}
		runOn(t, generate(t, "fat-tree:k=4"), emu.Config{}, subject{change: change}, func(t *testing.T, r running) {
			defer close(over)
			hosts := r.fabric(t).Adapters()
			old, members := r.join(t, mgid(1), 0, hosts[0], hosts[9]), []fabric.NodeID{hosts[3], hosts[6], hosts[14]}
			time.Sleep(time.Second)
			how.Store(does)
			mlid := r.join(t, mgid(2), 0, members...)
			time.Sleep(25 * time.Second)
			r.wantSpread(t, mlid, members)
			r.wantSpread(t, old, []fabric.NodeID{hosts[0], hosts[9]})
			spine := r.fabric(t).Switches()[17]
			r.change(t, func(s *emu.Subnet) { s.KillNode(spine) })
			r.wantSpread(t, mlid, members)
			r.wantSpread(t, old, []fabric.NodeID{hosts[0], hosts[9]})
			r.warned(t, sm.EngineFailed)
			r.stop()
			if l := log.String(); !strings.Contains(l, "multicast engine capricious") || !strings.Contains(l, says) {
				t.Errorf("the log does not name engine and reason %q:\n%s", says, l)
			}
		})
	}
}
