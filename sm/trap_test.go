package sm_test

import (
	"context"
	"errors"
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"heddle/emu"
	"heddle/fabric"
	"heddle/fabric/topology"
	"heddle/mad"
	"heddle/sm"
	"heddle/umad"
)

// runWith is run with a manager of another configuration.
func runWith(t *testing.T, spec string, cfg emu.Config, change func(c *sm.Config), test func(t *testing.T, r running)) {
	t.Helper()
	f, err := topology.Generate(spec)
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		live, err := emu.Start(f, cfg)
		if err != nil {
			t.Fatal(err)
		}
		dev, err := live.Open("", 0)
		if err != nil {
			t.Fatal(err)
		}
		port, c := umad.NewPort(dev), config(t, 5)
		change(&c)
		m, err := sm.New(port, c)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- m.Run(ctx) }()
		time.Sleep(time.Second)
		test(t, running{managed: managed{m, live}})
		cancel()
		if err := errors.Join(<-ended, port.Close(), live.Close()); err != nil {
			t.Error(err)
		}
	})
}

// babble lets a port tell of errors.
func (r running) babble(t *testing.T, e fabric.End, interval time.Duration) {
	t.Helper()
	if err := r.live.Do(func(s *emu.Subnet) error { return s.Babble(e, interval) }); err != nil {
		t.Fatal(err)
	}
}

// TestUnhealthyPort: ten traps in a row, each soon after the last, make a port
// unhealthy, until it is quiet for a while; fewer, or rarer ones, do not.
func TestUnhealthyPort(t *testing.T) {
	run(t, "fat-tree:k=4", emu.Config{}, func(t *testing.T, r running) {
		sw := r.fabric(t).Switches()[0]
		at := fabric.End{Node: sw, Port: 1}
		one := func() sm.PortTraps {
			t.Helper()
			s := r.Status()
			if len(s.Ports) != 1 || s.Ports[0].GUID != r.fabric(t).Node(sw).GUID || s.Ports[0].Port != 1 {
				t.Fatalf("ports %+v", s.Ports)
			}
			return s.Ports[0]
		}
		r.babble(t, at, 6*time.Second) // rarer than a window
		time.Sleep(2 * time.Minute)
		if p := one(); p.Unhealthy || p.Repeats > 1 {
			t.Errorf("rare traps: %+v", p)
		}
		r.babble(t, at, time.Second)
		time.Sleep(7500 * time.Millisecond)
		if p := one(); p.Unhealthy {
			t.Errorf("a few traps: %+v", p)
		}
		time.Sleep(5 * time.Second)
		p := one()
		if !p.Unhealthy || p.Disabled || p.Node == "" || p.LID == 0 || p.Counts[mad.TrapLinkIntegrity] == 0 {
			t.Errorf("many traps: %+v", p)
		}
		if total := r.Status().Traps; total[mad.TrapLinkIntegrity] != p.Counts[mad.TrapLinkIntegrity] {
			t.Errorf("counted %v in all, %v of the port", total, p.Counts)
		}
		r.babble(t, at, 0)
		time.Sleep(10 * time.Second)
		if p := one(); p.Unhealthy || p.Repeats != 0 || p.Counts[mad.TrapLinkIntegrity] == 0 {
			t.Errorf("it is quiet again: %+v", p)
		}
	})
}

// TestBabblingPortIsDisabled at its switch, if that is asked for; the manager's
// own link is not.
func TestBabblingPortIsDisabled(t *testing.T) {
	for _, at := range []int{0, 250} {
		runWith(t, "fat-tree:k=4", emu.Config{}, func(c *sm.Config) { c.Traps.DisableAt = at }, func(t *testing.T, r running) {
			f := r.fabric(t)
			host := f.Adapters()[9]
			own, _ := f.Leaf(fabric.End{Node: f.Adapters()[0], Port: 1})
			r.babble(t, fabric.End{Node: host, Port: 1}, 100*time.Millisecond)
			r.babble(t, own, 100*time.Millisecond)
			time.Sleep(24 * time.Second)
			if down := r.status(t).Ports[mad.PortDown]; down != 0 {
				t.Errorf("limit %d: %d ports down after 240 traps", at, down)
			}
			time.Sleep(30 * time.Second)
			want := 0
			if at > 0 {
				want = 2 // both ends
			}
			if down := r.status(t).Ports[mad.PortDown]; down != want {
				t.Errorf("limit %d: %d ports down after 500 traps, want %d", at, down, want)
			}
			if s := r.Status(); at > 0 && s.Nodes != 35 {
				t.Errorf("%d nodes, want the babbler gone", s.Nodes)
			}
		})
	}
}

// TestTrapStorm: a storm of traps from many ports, and of links that flap, holds
// up neither joins nor sweeps, and all traps are answered.
func TestTrapStorm(t *testing.T) {
	run(t, "fat-tree:k=4", emu.Config{}, func(t *testing.T, r running) {
		f := r.fabric(t)
		for _, sw := range f.Switches() {
			for port := uint16(1); port <= 4; port++ {
				r.babble(t, fabric.End{Node: sw, Port: port}, 10*time.Millisecond)
			}
		}
		link := r.trunk(t)
		if err := r.live.Do(func(s *emu.Subnet) error {
			s.FlapLink(link, 100, 50*time.Millisecond, 50*time.Millisecond)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		sweeps := r.Status().Sweeps
		start := time.Now()
		for n := byte(1); n <= 10; n++ {
			r.join(t, mgid(n), 0, f.Adapters()[0], f.Adapters()[9])
		}
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("20 joins took %v", took)
		}
		time.Sleep(30 * time.Second)
		if n := r.Status().Sweeps - sweeps; n == 0 || n > 40 {
			t.Errorf("%d sweeps in half a minute", n)
		}
		for _, sw := range f.Switches() {
			for port := uint16(1); port <= 4; port++ {
				r.babble(t, fabric.End{Node: sw, Port: port}, 0)
			}
		}
		time.Sleep(30 * time.Second)
		r.well(t)
	})
}

// TestBadKeys are counted for the port that tells of them, and those of a LID
// that there is not for nobody.
func TestBadKeys(t *testing.T) {
	run(t, "fat-tree:k=4", emu.Config{}, func(t *testing.T, r running) {
		host := r.fabric(t).Node(r.fabric(t).Adapters()[5])
		info := r.info(t, host.ID)
		c := r.client(t, host.ID)
		for _, n := range []mad.Notice{
			mad.NewNotice(mad.TrapBadMKey, mad.ProducerCA, mad.BadMKeyDetails{LID: info.LID}),
			mad.NewNotice(mad.TrapBadPKey, mad.ProducerCA, mad.BadKeyDetails{LID1: info.LID}),
			mad.NewNotice(mad.TrapBadQKey, mad.ProducerCA, mad.BadKeyDetails{LID1: info.LID}),
			mad.NewNotice(mad.TrapSwitchBadPKey, mad.ProducerSwitch, mad.SwitchBadPKeyDetails{SwitchLID: 999}),
		} {
			n.IssuerLID = info.LID
			if n.Trap == mad.TrapSwitchBadPKey {
				n.IssuerLID = 999
			}
			msg := &umad.Message{Address: umad.ToSMA(r.Status().LID), Data: make([]byte, mad.Size)}
			d := msg.Datagram()
			d.SetHeader(mad.Header{Class: mad.ClassLID, ClassVersion: 1, Method: mad.MethodTrap, Attr: mad.AttrNotice})
			n.AppendTo(d.Data()[:0])
			if _, err := c.port.Call(t.Context(), msg, umad.CallOptions{}); err != nil {
				t.Errorf("trap %v: not answered: %v", n.Trap, err)
			}
		}
		time.Sleep(time.Second) // a trap is answered before it is looked at
		s := r.Status()
		want := map[mad.TrapNumber]uint64{mad.TrapBadMKey: 1, mad.TrapBadPKey: 1, mad.TrapBadQKey: 1}
		if len(s.Ports) != 1 || s.Ports[0].LID != info.LID || !maps.Equal(s.Ports[0].Counts, want) || s.Ports[0].Unhealthy {
			t.Errorf("ports %+v", s.Ports)
		}
		if s.Traps[mad.TrapSwitchBadPKey] != 1 {
			t.Errorf("traps %v", s.Traps)
		}
	})
}
