package sm_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"heddle/emu"
	"heddle/fabric"
	"heddle/mad"
	"heddle/umad"
)

// running is a managed subnet whose manager runs.
type running struct {
	managed
	stop func() // a second time does nothing
}

func run(t *testing.T, spec string, cfg emu.Config, test func(t *testing.T, m running)) {
	t.Helper()
	runOn(t, generate(t, spec), cfg, subject{}, test)
}

func runOn(t *testing.T, f *fabric.Fabric, cfg emu.Config, s subject, test func(t *testing.T, m running)) {
	t.Helper()
	manageOn(t, f, cfg, s, func(t *testing.T, m managed) {
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- m.Run(ctx) }()
		r := running{managed: m, stop: sync.OnceFunc(func() {
			cancel()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})}
		time.Sleep(time.Second)
		test(t, r)
		r.stop()
	})
}

// change does something to the subnet, and gives the manager time.
func (r running) change(t *testing.T, f func(s *emu.Subnet)) {
	t.Helper()
	if err := r.live.Do(func(s *emu.Subnet) error { f(s); return nil }); err != nil {
		t.Fatal(err)
	}
	time.Sleep(30 * time.Second)
}

// reach asks every node, by its LID and through the switches' tables, who it is.
func (r running) reach(t *testing.T, dead ...fabric.NodeID) {
	t.Helper()
	dev, err := r.live.Open("", 0)
	if err != nil {
		t.Fatal(err)
	}
	port := umad.NewPort(dev)
	defer port.Close() //nolint:errcheck // nothing is outstanding
	f := r.fabric(t)
	for id := range fabric.NodeID(f.NumNodes()) {
		if slices.Contains(dead, id) {
			continue
		}
		info := r.info(t, f.Node(id).ID)
		var d mad.Datagram
		d.SetHeader(mad.Header{Class: mad.ClassLID, ClassVersion: 1, Method: mad.MethodGet, Attr: mad.AttrNodeInfo})
		answer, err := port.Call(t.Context(), &umad.Message{Address: umad.ToSMA(info.LID), Data: d[:]}, umad.CallOptions{})
		if err != nil {
			t.Errorf("%s, LID %d: %v", f.Node(id).Label(), info.LID, err)
			continue
		}
		if got, err := mad.ParseNodeInfo(answer.Datagram().Data()); err != nil || got.NodeGUID != info.NodeGUID {
			t.Errorf("LID %d of %v: %v, %v", info.LID, info.NodeGUID, got.NodeGUID, err)
		}
	}
}

func (r running) fabric(t *testing.T) (f *fabric.Fabric) {
	t.Helper()
	if err := r.live.Do(func(s *emu.Subnet) error { f = s.Fabric(); return nil }); err != nil {
		t.Fatal(err)
	}
	return f
}

// trunk is a link between two switches.
func (r running) trunk(t *testing.T) fabric.LinkID {
	t.Helper()
	f := r.fabric(t)
	for id := range fabric.LinkID(f.NumLinks()) {
		if l := f.Link(id); f.Node(l.A.Node).Kind == fabric.Switch && f.Node(l.B.Node).Kind == fabric.Switch {
			return id
		}
	}
	t.Fatal("no link between switches")
	return fabric.NoLink
}

func (r running) info(t *testing.T, node string) umad.Info {
	t.Helper()
	dev, err := r.live.Open(node, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer dev.Close()
	info, err := dev.Info()
	if err != nil {
		t.Fatal(err)
	}
	return info
}

// well expects a subnet that is up and quiet.
func (r running) well(t *testing.T, dead ...fabric.NodeID) {
	t.Helper()
	st := r.status(t)
	if st.Ports[mad.PortInit]+st.Ports[mad.PortArmed] > 0 || st.Traps > 0 {
		t.Errorf("ports %v, %d traps not repressed", st.Ports, st.Traps)
	}
	r.reach(t, dead...)
}

func TestRunFollowsLinks(t *testing.T) {
	run(t, "fat-tree:k=4", emu.Config{}, func(t *testing.T, r running) {
		r.well(t)
		link := r.trunk(t)
		sent := r.status(t).Stats.SMPs
		r.change(t, func(s *emu.Subnet) { s.CutLink(link) })
		r.well(t)
		r.change(t, func(s *emu.Subnet) { s.RestoreLink(link) })
		r.well(t)
		if r.status(t).Stats.SMPs == sent {
			t.Error("no sweep followed")
		}
	})
}

func TestRunFollowsNodes(t *testing.T) {
	run(t, "fat-tree:k=4", emu.Config{}, func(t *testing.T, r running) {
		spine := r.fabric(t).Switches()[19]
		r.change(t, func(s *emu.Subnet) { s.KillNode(spine) })
		r.well(t, spine)
		r.change(t, func(s *emu.Subnet) { s.ReviveNode(spine) })
		r.well(t)
	})
}

// TestRunSurvivesLoss brings a subnet up that loses a twentieth of all
// datagrams, and repeats some.
func TestRunSurvivesLoss(t *testing.T) {
	run(t, "fat-tree:k=4", emu.Config{Hop: time.Microsecond, Seed: 5}, func(t *testing.T, r running) {
		r.change(t, func(s *emu.Subnet) {
			if err := s.Trouble(emu.Trouble{Drop: 0.05, Duplicate: 0.02, Jitter: time.Millisecond}); err != nil {
				t.Error(err)
			}
		})
		r.Resweep("the test")
		link := r.trunk(t)
		r.change(t, func(s *emu.Subnet) { s.CutLink(link) })
		r.change(t, func(s *emu.Subnet) { s.RestoreLink(link) })
		r.change(t, func(s *emu.Subnet) {
			if err := s.Trouble(emu.Trouble{}); err != nil {
				t.Error(err)
			}
		})
		r.well(t)
	})
}

// TestSilentSwitchKeepsItsRoutes: an agent that is busy for a while loses
// nothing, and nobody loses a path through its switch.
func TestSilentSwitchKeepsItsRoutes(t *testing.T) {
	run(t, "fat-tree:k=4", emu.Config{}, func(t *testing.T, r running) {
		spine := r.fabric(t).Switches()[19]
		r.change(t, func(s *emu.Subnet) {
			if err := s.SlowAgent(spine, time.Hour, 1); err != nil {
				t.Error(err)
			}
		})
		r.Resweep("the test")
		r.change(t, func(*emu.Subnet) {})
		r.reach(t, spine)
	})
}
