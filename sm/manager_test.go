package sm_test

import (
	"errors"
	"testing"
	"testing/synctest"

	"heddle/emu"
	"heddle/fabric"
	"heddle/fabric/topology"
	"heddle/mad"
	"heddle/route"
	trees "heddle/route/multicast"
	"heddle/route/unicast"
	"heddle/sm"
	"heddle/sm/multicast"
	"heddle/umad"
)

// engine is one of route/unicast, as a Manager takes it.
func engine(t *testing.T, name string) sm.Unicast {
	t.Helper()
	e, err := unicast.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	return sm.Unicast{Name: name, Route: func(g *route.Graph, h *route.Hops, lids *route.LIDs, workers int) (*route.LFTs, error) {
		return e.Route(g, h, lids, unicast.Options{Workers: workers, Connect: true})
	}}
}

// treeEngine is one of route/multicast.
func treeEngine(t *testing.T, name string) multicast.Engine {
	t.Helper()
	e, err := trees.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	return multicast.Engine{Name: name, New: func(g *route.Graph, h *route.Hops) route.Router {
		return e.New(g, h, trees.Options{})
	}}
}

func config(t *testing.T, priority uint8) sm.Config {
	t.Helper()
	return sm.Config{
		Unicast:   []sm.Unicast{engine(t, "updown"), engine(t, "minhop")},
		Multicast: []multicast.Engine{treeEngine(t, "weave"), treeEngine(t, "fulb")},
		Priority:  priority,
	}
}

// managed is an emulated subnet with a manager at its first adapter.
type managed struct {
	*sm.Manager
	live *emu.Live
}

func manage(t *testing.T, spec string, cfg emu.Config, test func(t *testing.T, m managed)) {
	t.Helper()
	manageOn(t, generate(t, spec), cfg, subject{}, test)
}

func manageWith(t *testing.T, spec string, cfg emu.Config, own sm.Config, test func(t *testing.T, m managed)) {
	t.Helper()
	change := func(c *sm.Config) { *c = own }
	manageOn(t, generate(t, spec), cfg, subject{change: change}, test)
}

// subject is the manager of a test where it is not the usual one.
type subject struct {
	change func(*sm.Config)              // of its configuration; nil for none
	wrap   func(umad.Device) umad.Device // what its port is on; nil for the subnet itself
}

func (s subject) make(t *testing.T, dev umad.Device) (*umad.Port, *sm.Manager) {
	t.Helper()
	if s.wrap != nil {
		dev = s.wrap(dev)
	}
	cfg := config(t, 5)
	if s.change != nil {
		s.change(&cfg)
	}
	port := umad.NewPort(dev)
	m, err := sm.New(port, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return port, m
}

func manageOn(t *testing.T, f *fabric.Fabric, cfg emu.Config, s subject, test func(t *testing.T, m managed)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		live, err := emu.Start(f, cfg)
		if err != nil {
			t.Fatal(err)
		}
		dev, err := live.Open("", 0)
		if err != nil {
			t.Fatal(err)
		}
		port, m := s.make(t, dev)
		test(t, managed{m, live})
		if err := errors.Join(port.Close(), live.Close()); err != nil {
			t.Error(err)
		}
	})
}

func generate(t *testing.T, spec string) *fabric.Fabric {
	t.Helper()
	f, err := topology.Generate(spec)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// sweep sweeps, and wants nothing to fail.
func (m managed) sweep(t *testing.T) *sm.Report {
	t.Helper()
	r, err := m.Sweep(t.Context())
	if err != nil || r.Failed > 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	return r
}

// status is what the subnet is like.
func (m managed) status(t *testing.T) (st emu.Status) {
	t.Helper()
	if err := m.live.Do(func(s *emu.Subnet) error { st = s.Status(); return nil }); err != nil {
		t.Fatal(err)
	}
	return st
}

func TestSweepBringsUp(t *testing.T) {
	for _, spec := range []string{"fat-tree:k=4", "torus:3x3x3,e=1", "dragonfly:a=4,p=2,h=2"} {
		manage(t, spec, emu.Config{}, func(t *testing.T, m managed) {
			r, err := m.Sweep(t.Context())
			if err != nil || r.Failed > 0 || r.Again {
				t.Fatalf("%s: %+v, %v", spec, r, err)
			}
			if ports := m.status(t).Ports; len(ports) != 1 || ports[mad.PortActive] == 0 {
				t.Errorf("%s: ports %v, want all active", spec, ports)
			}
			again, err := m.Sweep(t.Context())
			if err != nil || again.Sent > 0 {
				t.Errorf("%s: the second sweep sent %d SMPs, %v", spec, again.Sent, err)
			}
		})
	}
}
