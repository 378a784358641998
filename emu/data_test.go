package emu_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"heddle/emu"
	"heddle/fabric"
	"heddle/fabric/topology"
	"heddle/ib"
	"heddle/mad"

	"pgregory.net/rapid"
)

// someWire is a network that takes its time.
func someWire() *emu.Wire { return &emu.Wire{Cable: 25, Switch: 90} }

func topologyOf(t reporter, spec string) *fabric.Fabric {
	t.Helper()
	f, err := topology.Generate(spec)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// drawNet is a random fabric with random groups, carried in one of both ways.
func drawNet(t *rapid.T, hoq uint8) *dataNet {
	f := topologyOf(t, rapid.SampledFrom([]string{
		"fat-tree:k=4", "torus:3x3x2,e=2", "ring:n=5", "dragonfly:a=4,p=2,h=2", "hypercube:d=3,e=2", "single:hosts=8", "random:switches=9,degree=4,hosts=2",
	}).Draw(t, "fabric"))
	if losses := rapid.IntRange(0, 2).Draw(t, "links lost"); losses > 0 {
		var links []fabric.LinkID
		for range losses {
			links = append(links, fabric.LinkID(rapid.IntRange(0, f.NumLinks()-1).Draw(t, "link")))
		}
		f = f.Without(nil, links)
	}
	ends := f.EndPorts()
	var groups []fabric.Group
	for range rapid.IntRange(1, 4).Draw(t, "groups") {
		members := rapid.SliceOfNDistinct(rapid.IntRange(0, len(ends)-1), 2, min(len(ends), 9), rapid.ID).Draw(t, "members")
		var g fabric.Group
		for _, i := range members {
			g.Members = append(g.Members, ends[i])
		}
		groups = append(groups, g)
	}
	cfg := emu.Config{Seed: 1}
	if rapid.Bool().Draw(t, "in time") {
		cfg.Wire = someWire()
	}
	engine := rapid.SampledFrom([]string{"minihop", "sssp-new", "fulb", "weave"}).Draw(t, "engine")
	return newNet(t, f, cfg, engine, groups, hoq)
}

// TestUnicastProperty: a packet comes to its LID along the path of the
// tables, and nowhere else.
func TestUnicastProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := drawNet(t, 18)
		for i := range 5 {
			from, to := rapid.SampledFrom(n.ends).Draw(t, "from"), rapid.SampledFrom(n.ends).Draw(t, "to")
			path := n.path(from, to)
			if from == to || path == nil {
				continue
			}
			before := n.sent()
			n.send(from, datagram{to: n.lid[to], number: uint64(i), size: rapid.IntRange(8, 4096).Draw(t, "size")})
			drain(n.subnet)
			if got := n.got[uint64(i)]; !slices.Equal(got, []fabric.End{to}) {
				t.Fatalf("a packet to %v came to %v", to, got)
			}
			for e, packets := range n.sent() {
				if want := uint64(count(path, e)); packets-before[e] != want {
					t.Fatalf("%s sent %d packets more, want %d", n.subnet.Fabric().EndLabel(e), packets-before[e], want)
				}
			}
		}
		n.settled()
	})
}

func count(list []fabric.End, e fabric.End) (n int) {
	for _, x := range list {
		if x == e {
			n++
		}
	}
	return n
}

// path lists the ports by which a packet leaves on its way, nil where there is
// none.
func (n *dataNet) path(from, to fabric.End) []fabric.End {
	f := n.subnet.Fabric()
	list := []fabric.End{from}
	at, ok := f.Peer(from)
	for ok && at != to {
		v := n.lfts.Graph.Vertex(at.Node)
		if v < 0 || len(list) > 64 {
			return nil
		}
		out := fabric.End{Node: at.Node, Port: uint16(n.lfts.Tables[v].Lookup(n.lid[to]))}
		list = append(list, out)
		at, ok = n.lfts.Exit(v, n.lid[to])
	}
	if !ok {
		return nil
	}
	return list
}

// sent is what each port has sent.
func (n *dataNet) sent() map[fabric.End]uint64 {
	m := map[fabric.End]uint64{}
	f := n.subnet.Fabric()
	for id := range f.NumLinks() {
		l := f.Link(fabric.LinkID(id))
		for _, e := range []fabric.End{l.A, l.B} {
			m[e] = n.subnet.Counters(e).PortXmitPkts
		}
	}
	return m
}

// TestMulticastProperty: a packet of a member comes to each other member that
// the group's tree reaches once, and to nobody else, over each link of the tree
// once.
func TestMulticastProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := drawNet(t, 18)
		whole := len(n.subnet.Fabric().Components()) == 1
		for i, g := range n.groups {
			from := rapid.SampledFrom(g.Members).Draw(t, "from")
			before := n.subnet.Data()
			n.send(from, datagram{to: ib.LID(n.mlids[i]), number: uint64(i), size: 2048})
			drain(n.subnet)
			others := slices.DeleteFunc(slices.Clone(g.Members), func(e fabric.End) bool { return e == from })
			got := slices.Clone(n.got[uint64(i)])
			if whole && !sameEnds(got, others) || !subset(got, others) {
				t.Fatalf("a packet of %v to %v came to %v", from, g.Members, got)
			}
			after := n.subnet.Data()
			if whole && after.AllLost() != before.AllLost() {
				t.Fatalf("lost: %v, then %v", before.Lost, after.Lost)
			}
		}
		n.settled()
	})
}

func sameEnds(a, b []fabric.End) bool { return len(a) == len(b) && subset(a, b) }

// subset tells whether each of some is once among all.
func subset(some, all []fabric.End) bool {
	for i, e := range some {
		if !slices.Contains(all, e) || slices.Contains(some[:i], e) {
			return false
		}
	}
	return true
}

// TestLoadProperty: under load, faults and loss, credits stay what they can be,
// and each packet and each copy is delivered or counted as lost.
func TestLoadProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := drawNet(t, uint8(rapid.IntRange(0, 6).Draw(t, "HOQLife")))
		s, f := n.subnet, n.subnet.Fabric()
		for i := range rapid.IntRange(1, 200).Draw(t, "actions") {
			switch link := fabric.LinkID(rapid.IntRange(0, f.NumLinks()-1).Draw(t, "link")); rapid.IntRange(0, 20).Draw(t, "action") {
			case 0:
				s.CutLink(link)
			case 1:
				s.RestoreLink(link)
				s.Activate(3)
			case 2:
				n.must(s.LinkTrouble(link, emu.Trouble{Drop: 0.3, Delay: 70}))
			case 3:
				s.KillNode(f.Link(link).A.Node)
			case 4:
				s.ReviveNode(f.Link(link).A.Node)
			case 5, 6:
				s.Advance(s.Now() + time.Duration(rapid.IntRange(0, 3000).Draw(t, "ns")))
			default:
				from := rapid.SampledFrom(n.ends).Draw(t, "from")
				k := rapid.IntRange(0, len(n.groups)-1).Draw(t, "group")
				to := ib.LID(n.mlids[k])
				if rapid.Bool().Draw(t, "unicast") {
					to = n.lid[rapid.SampledFrom(n.ends).Draw(t, "to")]
				}
				n.send(from, datagram{to: to, number: uint64(i), size: 4096, sl: ib.SL(rapid.IntRange(0, 15).Draw(t, "SL"))})
			}
			if err := n.credits(false); err != nil {
				t.Fatal(err)
			}
		}
		drain(s)
		if err := n.credits(true); err != nil {
			t.Fatal(err)
		}
		if c := s.Deadlock(); c != nil {
			t.Fatalf("deadlock in an empty network: %v", c)
		}
		n.settled()
	})
}

// TestDeadlockProperty: where packets may wait for ever, a deadlock is found if
// and only if some of them do.
func TestDeadlockProperty(t *testing.T) {
	stuck, free := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		f := topologyOf(t, rapid.SampledFrom([]string{"ring:n=6,e=2", "torus:4x4", "fat-tree:k=4", "random:switches=8,degree=3,hosts=2"}).Draw(t, "fabric"))
		groups := []fabric.Group{{Members: f.EndPorts()}, {Members: f.EndPorts()[:4]}}
		n := newNet(t, f, emu.Config{VLs: 2, Wire: &emu.Wire{Cable: 25, Switch: 90, Buffer: 5 << 10}}, "fulb", groups, 20)
		for i := range rapid.IntRange(50, 300).Draw(t, "packets") {
			to := n.lid[rapid.SampledFrom(n.ends).Draw(t, "to")]
			if k := rapid.IntRange(0, 5).Draw(t, "group"); k < 2 {
				to = ib.LID(n.mlids[k])
			}
			n.send(rapid.SampledFrom(n.ends).Draw(t, "from"), datagram{to: to, number: uint64(i), size: 4096, sl: ib.SL(i % 2)})
		}
		drain(n.subnet)
		d := n.subnet.Data()
		waiting, cycle := d.Sent+d.Copied-d.Delivered-d.AllLost(), n.subnet.Deadlock()
		if (waiting > 0) != (cycle != nil) {
			t.Fatalf("%d packets wait; deadlock: %v", waiting, cycle)
		}
		if waiting > 0 {
			stuck++
		} else {
			free++
		}
	})
	if stuck == 0 || free == 0 {
		t.Errorf("%d deadlocks, %d without", stuck, free)
	}
}

func (n *dataNet) credits(idle bool) error {
	if !n.subnet.InTime() {
		return nil
	}
	return emu.CheckCredits(n.subnet, idle)
}

// bothWays runs a test with packets carried at once, and in time.
func bothWays(t *testing.T, test func(t *testing.T, cfg emu.Config)) {
	t.Run("at once", func(t *testing.T) { test(t, emu.Config{}) })
	t.Run("in time", func(t *testing.T) { test(t, emu.Config{Wire: someWire()}) })
}

// lineNet is a line of switches that a manager has programmed by datagrams,
// with hosts at H1 (LID 1), H2 (2) and H3 (3).
func lineNet(t *testing.T, switches int, cfg emu.Config) (*dataNet, *probe) {
	t.Helper()
	s := newSubnet(t, line(t, switches), cfg)
	p := attach(t, s, "H1")
	p.program(switches)
	n := &dataNet{t: t, subnet: s, lid: map[fabric.End]ib.LID{}, hosts: map[fabric.End]*emu.Host{}, got: map[uint64][]fabric.End{}}
	for i, name := range []string{"H1", "H2", "H3"} {
		e, err := s.End(name, 1)
		n.must(err)
		n.ends = append(n.ends, e)
		n.lid[e] = ib.LID(i + 1)
		n.hosts[e], err = s.AttachHost(e, emu.HostOptions{Receive: func(b []byte) {
			n.got[numberIn(b)] = append(n.got[numberIn(b)], e)
		}})
		n.must(err)
	}
	return n, p
}

// TestDataThroughManagersTables: what datagrams of management wrote leads data,
// and perfquery reads what it did.
func TestDataThroughManagersTables(t *testing.T) {
	bothWays(t, func(t *testing.T, cfg emu.Config) {
		n, p := lineNet(t, 2, cfg)
		block := mad.MulticastForwarding{1 << 1, 1<<2 | 1<<4}
		p.must(smp{path: []uint8{1, 2}, set: true, attr: mad.AttrMulticastForwarding, mod: mad.MulticastModifier(0, 0), value: block})
		p.must(smp{path: []uint8{1}, set: true, attr: mad.AttrMulticastForwarding, mod: mad.MulticastModifier(0, 0), value: mad.MulticastForwarding{0, 1<<1 | 1<<2}})
		before := p.extended(12, 4)
		n.send(n.ends[0], datagram{to: 0xC001, number: 7, size: 100})
		n.send(n.ends[0], datagram{to: 3, number: 8, size: 100})
		n.send(n.ends[0], datagram{to: 60})
		drain(n.subnet)
		if answer, err := n.subnet.Console("status"); err != nil || !strings.Contains(answer, "3 sent, 1 copied, 3 delivered, 1 lost (1 no route)") {
			t.Errorf("%s, %v", answer, err)
		}
		if !sameEnds(n.got[7], n.ends[1:]) || !slices.Equal(n.got[8], n.ends[2:]) {
			t.Fatalf("came to %v", n.got)
		}
		after := p.extended(12, 4)
		if m, u := after.PortMulticastXmitPkts-before.PortMulticastXmitPkts, after.PortUnicastXmitPkts-before.PortUnicastXmitPkts; m != 1 || u < 1 {
			t.Errorf("%d multicast and %d unicast packets", m, u)
		}
		n.settled()
	})
}

// TestDataIsLost: each reason is counted where it belongs.
func TestDataIsLost(t *testing.T) {
	enforce := func(in bool) func(n *dataNet, p *probe) {
		return func(_ *dataNet, p *probe) {
			p.mustChange([]uint8{1}, 1, func(i *mad.PortInfo) { i.PartitionEnforcementInbound = in })
			p.mustChange([]uint8{1}, 2, func(i *mad.PortInfo) { i.PartitionEnforcementOutbound = !in })
		}
	}
	tests := []struct {
		name  string
		fault func(n *dataNet, p *probe)
		send  datagram
		want  emu.Loss
		at    string // node
		port  uint16
		count func(mad.PortCountersExtended) uint64
	}{
		{"no route", nil, datagram{to: 60}, emu.LossRoute, "S1", 1, func(c mad.PortCountersExtended) uint64 { return c.PortRcvSwitchRelayErrors }},
		{"above the table", nil, datagram{to: 5000}, emu.LossRoute, "S1", 1, func(c mad.PortCountersExtended) uint64 { return c.PortRcvSwitchRelayErrors }},
		{"no group", nil, datagram{to: 0xC000}, emu.LossRoute, "S1", 1, func(c mad.PortCountersExtended) uint64 { return c.PortRcvSwitchRelayErrors }},
		{"way back", nil, datagram{to: 1}, emu.LossBack, "S1", 1, func(c mad.PortCountersExtended) uint64 { return c.PortRcvSwitchRelayErrors }},
		{"cut", func(n *dataNet, _ *probe) { n.subnet.CutLink(linkOf(t, n.subnet.Fabric(), "S1", 2)) }, datagram{to: 2}, emu.LossDown, "S1", 2, func(c mad.PortCountersExtended) uint64 { return c.PortXmitDiscards }},
		{"cut at the sender", func(n *dataNet, _ *probe) { n.subnet.CutLink(linkOf(t, n.subnet.Fabric(), "S1", 1)) }, datagram{to: 2}, emu.LossDown, "H1", 1, func(c mad.PortCountersExtended) uint64 { return c.PortXmitDiscards }},
		{"link not set up", func(n *dataNet, _ *probe) {
			link := linkOf(t, n.subnet.Fabric(), "S1", 2)
			n.subnet.CutLink(link)
			n.subnet.RestoreLink(link)
		}, datagram{to: 2}, emu.LossDown, "S1", 2, func(c mad.PortCountersExtended) uint64 { return c.PortXmitDiscards }},
		{"dead switch", func(n *dataNet, _ *probe) { e, _ := n.subnet.End("S1", 1); n.subnet.KillNode(e.Node) }, datagram{to: 2}, emu.LossDown, "H1", 1, func(c mad.PortCountersExtended) uint64 { return c.PortXmitDiscards }},
		{"P_Key inbound", enforce(true), datagram{to: 2, pkey: 0x8001}, emu.LossKey, "S1", 1, func(c mad.PortCountersExtended) uint64 { return c.PortRcvConstraintErrors }},
		{"P_Key outbound", enforce(false), datagram{to: 2, pkey: 0x8001}, emu.LossKey, "S1", 2, func(c mad.PortCountersExtended) uint64 { return c.PortXmitConstraintErrors }},
		{"no lane", func(_ *dataNet, p *probe) {
			p.must(smp{path: []uint8{1}, set: true, attr: mad.AttrSLtoVLMapping, mod: mad.SLtoVLModifier(1, 2), value: mad.SLtoVLMapping{3: 15}})
		}, datagram{to: 2, sl: 3}, emu.LossLane, "S1", 1, func(c mad.PortCountersExtended) uint64 { return c.PortRcvSwitchRelayErrors }},
		{"stray", func(_ *dataNet, p *probe) {
			var b mad.LinearForwarding
			for i := range b {
				b[i] = 2
			}
			p.must(smp{path: []uint8{1, 2}, set: true, attr: mad.AttrLinearForwarding, value: b})
		}, datagram{to: 3}, emu.LossStray, "H2", 1, func(c mad.PortCountersExtended) uint64 { return c.PortRcvErrors }},
		{"nobody there", func(n *dataNet, _ *probe) { n.hosts[n.ends[1]].Detach() }, datagram{to: 2}, emu.LossUnclaimed, "H2", 1, nil},
		{"link that loses all", func(n *dataNet, _ *probe) {
			n.must(n.subnet.LinkTrouble(linkOf(t, n.subnet.Fabric(), "S2", 2), emu.Trouble{Drop: 1}))
		}, datagram{to: 2}, emu.LossLink, "H2", 1, func(c mad.PortCountersExtended) uint64 { return c.PortRcvErrors }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			bothWays(t, func(t *testing.T, cfg emu.Config) {
				n, p := lineNet(t, 2, cfg)
				if tt.fault != nil {
					tt.fault(n, p)
				}
				e, err := n.subnet.End(tt.at, uint8(tt.port))
				n.must(err)
				before := n.subnet.Counters(e)
				n.send(n.ends[0], tt.send)
				drain(n.subnet)
				d := n.subnet.Data()
				if len(n.got) > 0 || d.Lost[tt.want] != 1 || d.AllLost() != 1 {
					t.Fatalf("got %v, lost %v; want one %v", n.got, d.Lost, tt.want)
				}
				if tt.count != nil && tt.count(n.subnet.Counters(e))-tt.count(before) != 1 {
					t.Errorf("%s does not count it: %+v", tt.at, n.subnet.Counters(e))
				}
			})
		})
	}
}

// TestNoPackets: what an adapter could not send is refused.
func TestNoPackets(t *testing.T) {
	n, _ := lineNet(t, 1, emu.Config{})
	good := datagram{to: 2}.appendTo(nil)
	change := func(at int, to byte) []byte {
		b := slices.Clone(good)
		b[at] = to
		return b
	}
	for name, b := range map[string][]byte{
		"nothing": nil, "a part": good[:20], "too long": append(slices.Clone(good), 1, 2, 3),
		"version": change(0, 1), "length": change(5, 200), "permissive LID": datagram{to: ib.PermissiveLID}.appendTo(nil),
		"LID 0": datagram{}.appendTo(nil), "more than the MTU": datagram{to: 2, size: 4500}.appendTo(nil),
		"global, without room for a GRH": change(1, 3),
	} {
		if err := n.hosts[n.ends[0]].Send(b); !errors.Is(err, emu.ErrPacket) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if d := n.subnet.Data(); d.Sent != 0 {
		t.Errorf("%d sent", d.Sent)
	}
	if _, err := n.subnet.AttachHost(n.ends[0], emu.HostOptions{}); !errors.Is(err, emu.ErrTaken) {
		t.Errorf("a second host: %v", err)
	}
}

// TestCircles: tables that lead in a circle, and such that multiply packets,
// do not keep a subnet from its work.
func TestCircles(t *testing.T) {
	bothWays(t, func(t *testing.T, cfg emu.Config) {
		n := newNet(t, topologyOf(t, "torus:4x4"), cfg, "fulb", nil, 18)
		s, f := n.subnet, n.subnet.Fabric()
		for _, id := range f.Switches() {
			for e, peer := range f.Ports(id) {
				if f.Node(peer.Node).Kind == fabric.Switch {
					n.must(s.SetMulticast(id, 0xC009, e.Port))
					n.must(s.SetRoute(id, n.lids.Top(), uint8(e.Port)))
				}
			}
		}
		n.send(n.ends[0], datagram{to: 0xC009})
		n.send(n.ends[0], datagram{to: n.lids.Top()})
		drain(s)
		if d := s.Data(); d.Lost[emu.LossHops] == 0 || d.Delivered != 0 {
			t.Errorf("%+v", d)
		}
		n.settled()
	})
}

// TestTroubleOnData: loss is as likely as was said and the same for a seed;
// links double packets, and delay them.
func TestTroubleOnData(t *testing.T) {
	run := func(seed uint64) emu.Data {
		n, _ := lineNet(t, 1, emu.Config{Seed: seed})
		n.must(n.subnet.Trouble(emu.Trouble{Drop: 0.05, Duplicate: 0.1, Delay: 10, Jitter: 100}))
		for i := range 10000 {
			n.send(n.ends[0], datagram{to: 2, number: uint64(i)})
		}
		if d := n.subnet.Data(); d.Delivered != 0 {
			t.Errorf("%d came at once", d.Delivered)
		}
		drain(n.subnet)
		n.settled()
		return n.subnet.Data()
	}
	d := run(1)
	if again := run(1); again != d {
		t.Errorf("%+v, then %+v", d, again)
	}
	if other := run(2); other == d {
		t.Errorf("%+v for another seed", other)
	}
	if lost := d.Lost[emu.LossLink]; lost < 800 || lost > 1300 {
		t.Errorf("%d of 10000 lost on two links of 5 %%", lost)
	}
	if d.Copied < 800 || d.Copied > 2200 {
		t.Errorf("%d copies", d.Copied)
	}
}

// TestNoAllocsOfData: no allocation for a packet, once there was one.
func TestNoAllocsOfData(t *testing.T) {
	bothWays(t, func(t *testing.T, cfg emu.Config) {
		f := topologyOf(t, "fat-tree:k=4")
		n := newNet(t, f, cfg, "fulb", []fabric.Group{{Members: f.EndPorts()}}, 18)
		h := n.hosts[n.ends[0]]
		for _, host := range n.hosts {
			host.Detach()
		}
		packets := [][]byte{
			datagram{to: n.lid[n.ends[9]], size: 2048}.appendTo(nil), datagram{to: ib.LID(n.mlids[0]), size: 2048}.appendTo(nil),
		}
		send := func() {
			for _, b := range packets {
				n.must(h.Send(b))
			}
			drain(n.subnet)
		}
		send()
		if allocs := testing.AllocsPerRun(100, send); allocs != 0 {
			t.Errorf("%v allocations", allocs)
		}
	})
}
