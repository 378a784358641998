package emu_test

import (
	"testing"
	"time"

	"heddle/emu"
	"heddle/fabric"
	"heddle/mad"
)

// answers sends a number of requests at once and counts what comes back.
func (p *probe) answers(n int, q smp) int {
	p.t.Helper()
	p.got = nil
	for range n {
		p.client.Send(p.packet(q))
	}
	p.subnet.Advance(p.subnet.Now() + time.Minute)
	return len(p.got)
}

func TestTrouble(t *testing.T) {
	tests := []struct {
		name        string
		trouble     emu.Trouble
		least, most int // of the answers to 1,000 requests over one link
	}{
		{"none", emu.Trouble{}, 1000, 1000},
		{"drop", emu.Trouble{Drop: 0.1}, 760, 860},
		{"drop all", emu.Trouble{Drop: 1}, 0, 0},
		{"duplicate all", emu.Trouble{Duplicate: 1}, 4000, 4000},
		{"delay", emu.Trouble{Delay: time.Millisecond, Jitter: time.Millisecond}, 1000, 1000},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := attach(t, newSubnet(t, line(t, 1), emu.Config{}), "H1")
			if err := p.subnet.Trouble(test.trouble); err != nil {
				t.Fatal(err)
			}
			if got := p.answers(1000, smp{path: []uint8{1}, attr: mad.AttrNodeInfo}); got < test.least || got > test.most {
				t.Errorf("%d answers, want %d to %d", got, test.least, test.most)
			}
		})
	}
}

func TestTroubleOfOneLink(t *testing.T) {
	p := attach(t, newSubnet(t, line(t, 2), emu.Config{}), "H1")
	if err := p.subnet.LinkTrouble(linkOf(t, p.subnet.Fabric(), "S1", 2), emu.Trouble{Drop: 1}); err != nil {
		t.Fatal(err)
	}
	near, far := p.answers(10, smp{path: []uint8{1}, attr: mad.AttrNodeInfo}), p.answers(10, smp{path: []uint8{1, 2}, attr: mad.AttrNodeInfo})
	if near != 10 || far != 0 {
		t.Errorf("%d answers before the link, %d behind it", near, far)
	}
}

func TestTroubleRefused(t *testing.T) {
	s := newSubnet(t, line(t, 1), emu.Config{})
	for _, bad := range []emu.Trouble{{Drop: -0.1}, {Drop: 1.1}, {Duplicate: 2}, {Delay: -1}, {Jitter: -1}} {
		if s.Trouble(bad) == nil || s.LinkTrouble(0, bad) == nil {
			t.Errorf("%+v is taken", bad)
		}
	}
}

// TestSameSeedSameFate: what chance does is a function of the seed.
func TestSameSeedSameFate(t *testing.T) {
	fate := func(seed uint64) (tids []uint64) {
		p := attach(t, newSubnet(t, line(t, 1), emu.Config{Seed: seed}), "H1")
		if err := p.subnet.Trouble(emu.Trouble{Drop: 0.3, Jitter: time.Second}); err != nil {
			t.Fatal(err)
		}
		p.answers(100, smp{path: []uint8{1}, attr: mad.AttrNodeInfo})
		for i := range p.got {
			tids = append(tids, p.got[i].MAD.TID())
		}
		return tids
	}
	same := func(a, b []uint64) bool {
		if len(a) != len(b) {
			return false
		}
		for i := range a {
			if a[i] != b[i] {
				return false
			}
		}
		return true
	}
	if !same(fate(1), fate(1)) {
		t.Error("two runs of one seed differ")
	}
	if same(fate(1), fate(2)) {
		t.Error("two seeds make the same")
	}
}

func TestHopAndAgentTakeTime(t *testing.T) {
	p := attach(t, newSubnet(t, line(t, 2), emu.Config{Hop: time.Millisecond, Agent: 10 * time.Millisecond}), "H1")
	p.client.Send(p.packet(smp{path: []uint8{1, 2}, attr: mad.AttrNodeInfo}))
	p.subnet.Advance(14*time.Millisecond - 1)
	if len(p.got) != 0 {
		t.Error("an answer before two hops, the agent, and two hops")
	}
	p.subnet.Advance(14 * time.Millisecond)
	if len(p.got) != 1 {
		t.Errorf("%d answers after them", len(p.got))
	}
}

func TestFullQueue(t *testing.T) {
	p := attach(t, newSubnet(t, line(t, 2), emu.Config{}), "H1")
	end, err := p.subnet.End("S1", 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.subnet.SlowAgent(end.Node, time.Millisecond, 4); err != nil {
		t.Fatal(err)
	}
	q := smp{path: []uint8{1}, attr: mad.AttrNodeInfo}
	if got := p.answers(10, q); got != 4 {
		t.Errorf("%d answers of an agent with a queue of 4", got)
	}
	if got := p.answers(10, smp{path: []uint8{1, 2}, attr: mad.AttrNodeInfo}); got != 10 {
		t.Errorf("%d answers from behind the slow agent, whose forwarding is not slow", got)
	}
	if got := p.subnet.Stats().QueueFull; got != 6 {
		t.Errorf("%d counted as dropped", got)
	}
	if err := p.subnet.SlowAgent(end.Node, 0, 0); err != nil {
		t.Fatal(err)
	}
	if got := p.answers(10, q); got != 10 {
		t.Errorf("%d answers of an agent that is not slow any more", got)
	}
}

func TestCutAndRestore(t *testing.T) {
	p := attach(t, newSubnet(t, line(t, 2), emu.Config{}), "H1")
	link := linkOf(t, p.subnet.Fabric(), "S1", 2)
	far := smp{path: []uint8{1, 2}, attr: mad.AttrNodeInfo}
	for range 2 {
		p.subnet.CutLink(link)
		p.subnet.CutLink(link) // twice is once
		if info := p.portInfo([]uint8{1}, 2); info.PortState != mad.PortDown || info.PortPhysicalState != mad.PhysPolling {
			t.Errorf("cut: %v, %v", info.PortState, info.PortPhysicalState)
		}
		if _, ok := p.ask(far); ok {
			t.Error("an answer over a cut link")
		}
		p.subnet.RestoreLink(link)
		p.subnet.RestoreLink(link)
		if info := p.portInfo([]uint8{1}, 2); info.PortState != mad.PortInit {
			t.Errorf("restored: %v", info.PortState)
		}
		if _, ok := p.ask(far); !ok {
			t.Error("no answer over a restored link")
		}
	}
}

func TestFlap(t *testing.T) {
	p := attach(t, newSubnet(t, line(t, 2), emu.Config{}), "H1")
	link := linkOf(t, p.subnet.Fabric(), "S1", 2)
	p.subnet.FlapLink(link, 3, 10*time.Second, 20*time.Second)
	up := func() bool { _, ok := p.ask(smp{path: []uint8{1, 2}, attr: mad.AttrNodeInfo}); return ok } // takes a second
	for n := range 3 {
		p.subnet.Advance(time.Duration(30*n+5) * time.Second)
		if up() {
			t.Errorf("flap %d: up while down", n)
		}
		p.subnet.Advance(time.Duration(30*n+15) * time.Second)
		if !up() {
			t.Errorf("flap %d: down while up", n)
		}
	}
	p.subnet.Advance(time.Hour)
	if !up() {
		t.Error("down in the end")
	}
}

func TestKillAndRevive(t *testing.T) {
	p := manager(t, line(t, 3), 3)
	s2, err := p.subnet.End("S2", 0)
	if err != nil {
		t.Fatal(err)
	}
	p.subnet.KillNode(s2.Node)
	if _, ok := p.ask(smp{path: []uint8{1, 2}, attr: mad.AttrNodeInfo}); ok {
		t.Error("a dead node answers")
	}
	if info := p.portInfo([]uint8{1}, 2); info.PortState != mad.PortDown {
		t.Errorf("the link to a dead node is %v", info.PortState)
	}
	p.subnet.ReviveNode(s2.Node)
	if info := p.portInfo([]uint8{1, 2}, 0); info.LID != 0 {
		t.Errorf("a revived node has LID %d still", info.LID)
	}
	if info := p.switchInfo([]uint8{1, 2}); info.LinearFDBTop != 0 || !info.PortStateChange {
		t.Errorf("a revived switch: %+v", info)
	}
	if _, ok := p.ask(smp{path: []uint8{1, 2, 2, 2}, attr: mad.AttrNodeInfo}); !ok {
		t.Error("no answer through the revived switch")
	}
}

// TestDeathInFlight kills the node that a packet is on its way to, and one that
// is about to answer.
func TestDeathInFlight(t *testing.T) {
	for _, after := range []time.Duration{500 * time.Microsecond, 5 * time.Millisecond} {
		p := attach(t, newSubnet(t, line(t, 1), emu.Config{Hop: time.Millisecond, Agent: 10 * time.Millisecond}), "H1")
		s1, err := p.subnet.End("S1", 0)
		if err != nil {
			t.Fatal(err)
		}
		p.client.Send(p.packet(smp{path: []uint8{1}, attr: mad.AttrNodeInfo}))
		p.subnet.Advance(after)
		p.subnet.KillNode(s1.Node)
		p.subnet.Advance(time.Minute)
		if len(p.got) != 0 {
			t.Errorf("killed after %v: an answer", after)
		}
		if s := p.subnet.Stats(); s.Lost != 1 {
			t.Errorf("killed after %v: %+v", after, s)
		}
	}
}

func TestDeadInTheFabric(t *testing.T) {
	f := line(t, 2)
	s2, _ := f.ByID("S2")
	p := attach(t, newSubnet(t, f.Without([]fabric.NodeID{s2}, nil), emu.Config{}), "H1")
	if info := p.portInfo([]uint8{1}, 2); info.PortState != mad.PortDown {
		t.Errorf("the link to a node that is dead from the start is %v", info.PortState)
	}
}
