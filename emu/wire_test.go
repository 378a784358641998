package emu_test

import (
	"slices"
	"testing"
	"time"

	"heddle/emu"
	"heddle/fabric"
	"heddle/ib"
	"heddle/mad"
)

// times has a host note when each packet comes.
func (n *dataNet) times(host int, gbps float64) map[uint64]time.Duration {
	n.t.Helper()
	at := map[uint64]time.Duration{}
	e := n.ends[host]
	n.hosts[e].Detach()
	var err error
	n.hosts[e], err = n.subnet.AttachHost(e, emu.HostOptions{Gbps: gbps, Receive: func(b []byte) {
		at[numberIn(b)] = n.subnet.Now()
	}})
	n.must(err)
	return at
}

// TestTimes: a packet takes its length at the link's rate once, since switches
// cut through, and each cable and switch. 4xHDR takes 40 ps for a byte; the
// packets are 42 and 4,130 bytes long.
func TestTimes(t *testing.T) {
	n, _ := lineNet(t, 2, emu.Config{Wire: someWire()})
	at := n.times(1, 0)
	start := n.subnet.Now()
	for i, size := range []int{8, 4096} {
		n.send(n.ends[0], datagram{to: 2, number: uint64(i), size: size})
		drain(n.subnet)
		at[uint64(i)] -= start
		start = n.subnet.Now()
	}
	for i, want := range []time.Duration{255 + 1, 255 + 165} {
		if got := at[uint64(i)]; got < want-1 || got > want+1 {
			t.Errorf("packet %d took %v, want %v", i, got, want)
		}
	}
}

// TestRates: a link of a quarter of the rate takes four times as long; one that
// is faster than what comes in waits for the rest of it.
func TestRates(t *testing.T) {
	n, p := lineNet(t, 1, emu.Config{Wire: someWire()})
	p.mustChange([]uint8{1}, 1, func(i *mad.PortInfo) { i.LinkSpeedExtEnabled = mad.LinkSpeedExtDisable })
	p.mustChange([]uint8{1}, 1, func(i *mad.PortInfo) { i.PortState = mad.PortDown })
	n.subnet.Activate(18)
	at := n.times(1, 0)
	start := n.subnet.Now()
	n.send(n.ends[0], datagram{to: 2, size: 4096})
	drain(n.subnet)
	const slow = 4130 * 8 / 32 // ns: 4xQDR has 32 Gb/s without the coding
	if got, want := at[0]-start, time.Duration(25+90+25+slow); got < want-2 || got > want+2 {
		t.Errorf("took %v, want %v", got, want)
	}
}

// TestHeadOfLine: a packet to a free port waits behind those to a slow one, but
// not those on another VL; the ports that have no credits count that they
// wait.
func TestHeadOfLine(t *testing.T) {
	run := func(sl ib.SL) (time.Duration, uint64) {
		n, _ := lineNet(t, 2, emu.Config{Wire: someWire()})
		slow, at := n.times(2, 1), n.times(1, 0)
		n.subnet.Activate(20)
		start := n.subnet.Now()
		for i := range 40 {
			n.send(n.ends[0], datagram{to: 3, number: uint64(i), size: 4096})
		}
		n.send(n.ends[0], datagram{to: 2, number: 99, sl: sl})
		drain(n.subnet)
		if len(slow) != 40 {
			t.Fatalf("%d of 40 came", len(slow))
		}
		n.must(emu.CheckCredits(n.subnet, true))
		return at[99] - start, n.subnet.Counters(n.ends[0]).PortXmitWait
	}
	behind, wait := run(0)
	beside, _ := run(1)
	if behind < 500*time.Microsecond || beside > 10*time.Microsecond {
		t.Errorf("%v behind the others, %v beside them", behind, beside)
	}
	if wait == 0 {
		t.Error("nothing waited")
	}
}

// TestTooOld: what waits for too long at a switch is lost, so that others get
// on.
func TestTooOld(t *testing.T) {
	n, _ := lineNet(t, 1, emu.Config{Wire: someWire()})
	slow, at := n.times(2, 0.1), n.times(1, 0)
	n.subnet.Activate(0) // 4.096 us
	start := n.subnet.Now()
	const packets = 20
	for i := range packets {
		n.send(n.ends[0], datagram{to: 3, number: uint64(i), size: 4096})
	}
	n.send(n.ends[0], datagram{to: 2, number: 99})
	drain(n.subnet)
	lost := n.subnet.Data().Lost[emu.LossOld]
	if lost == 0 || int(lost)+len(slow) != packets || at[99]-start > 100*time.Microsecond {
		t.Errorf("%d of %d came, %d were too old; the last one came after %v", len(slow), packets, lost, at[99]-start)
	}
}

// ringNet is a ring in which all goes one way around.
func ringNet(t *testing.T, switches int, hoq uint8) *dataNet {
	t.Helper()
	f := topologyOf(t, "ring:n=6")
	n := newNet(t, f, emu.Config{Wire: &emu.Wire{Cable: 25, Switch: 90, Buffer: 8 << 10}}, "", nil, hoq)
	if len(n.ends) != switches {
		t.Fatalf("%d hosts", len(n.ends))
	}
	for i, id := range f.Switches() {
		next := f.Switches()[(i+1)%switches]
		for e, peer := range f.Ports(id) {
			if peer.Node != next {
				continue
			}
			for k, host := range n.ends {
				if k != i {
					n.must(n.subnet.SetRoute(id, n.lid[host], uint8(e.Port)))
				}
			}
		}
	}
	return n
}

// around sends packets from each host of a ring to the one before the last
// but one; sl tells the SL by sender and hops.
func (n *dataNet) around(packets int, sl func(from, hops int) ib.SL) {
	size := len(n.ends)
	hops := size - 2
	for i := range packets {
		for k, e := range n.ends {
			to := n.ends[(k+hops)%size]
			n.send(e, datagram{to: n.lid[to], number: uint64(i*size + k), size: 2048, sl: sl(k, hops)})
		}
	}
	drain(n.subnet)
}

// TestDeadlock: a ring whose packets all have VL0 comes to a standstill, and
// that is found. One VL more, for the packets that pass the first switch,
// prevents it; and packets that get too old end it.
func TestDeadlock(t *testing.T) {
	const packets = 30
	sameLane := func(int, int) ib.SL { return 0 }
	n := ringNet(t, 6, 20)
	if c := n.subnet.Deadlock(); c != nil {
		t.Fatalf("at rest: %v", c)
	}
	n.around(packets, sameLane)
	cycle := n.subnet.Deadlock()
	if len(cycle) != 6 || len(n.got) == 6*packets {
		t.Fatalf("%d of %d came; waiting for each other: %v", len(n.got), 6*packets, cycle)
	}
	for i, c := range cycle {
		peer, _ := n.subnet.Fabric().Peer(c.From)
		if next := cycle[(i+1)%len(cycle)]; c.VL != 0 || peer.Node != next.From.Node {
			t.Errorf("%v leads to %v, not to %v", c, peer, next)
		}
	}
	n.must(emu.CheckCredits(n.subnet, false))

	n = ringNet(t, 6, 20)
	n.around(packets, func(from, hops int) ib.SL {
		if from+hops > 6 {
			return 1
		}
		return 0
	})
	if c := n.subnet.Deadlock(); c != nil || len(n.got) != 6*packets {
		t.Errorf("with two VLs %d of %d came; waiting for each other: %v", len(n.got), 6*packets, c)
	}

	n = ringNet(t, 6, 4)
	n.around(packets, sameLane)
	if c, d := n.subnet.Deadlock(), n.subnet.Data(); c != nil || d.Lost[emu.LossOld] == 0 {
		t.Errorf("with a limit of age: %v, %v", c, d.Lost)
	}
	n.must(emu.CheckCredits(n.subnet, true))
	n.settled()
}

// TestArbitration: lanes share a port as its tables say.
func TestArbitration(t *testing.T) {
	weights := func(low, high mad.VLArbitration, limit uint8) func(p *probe) {
		return func(p *probe) {
			p.must(smp{set: true, attr: mad.AttrVLArbitration, mod: mad.VLArbitrationModifier(mad.VLArbitrationLowFirst, 0), value: low})
			p.must(smp{set: true, attr: mad.AttrVLArbitration, mod: mad.VLArbitrationModifier(mad.VLArbitrationHighFirst, 0), value: high})
			p.mustChange(nil, 0, func(i *mad.PortInfo) { i.VLHighLimit = limit })
		}
	}
	lane := func(vl ib.VL, weight uint8) mad.VLWeight { return mad.VLWeight{VL: vl, Weight: weight} }
	both := mad.VLArbitration{lane(0, 4), lane(1, 12)}
	tests := []struct {
		name  string
		setUp func(p *probe)
		size  int
		ones  int // on VL1, of the 160 after the first
	}{
		{"power-on", func(*probe) {}, 8, 80},
		{"power-on, packets longer than a weight", func(*probe) {}, 2048, 80},
		{"one to three", weights(both, mad.VLArbitration{}, 0), 8, 120},
		{"entries of a lane add up", weights(mad.VLArbitration{lane(1, 1), lane(0, 1), lane(1, 2), lane(7, 9)}, mad.VLArbitration{}, 0), 8, 120},
		{"high priority without a limit", weights(mad.VLArbitration{lane(0, 1)}, mad.VLArbitration{lane(1, 1)}, 255), 8, 160},
		{"high priority, one packet", weights(mad.VLArbitration{lane(0, 1)}, mad.VLArbitration{lane(1, 1)}, 0), 8, 80},
		{"high priority, 4 KiB", weights(mad.VLArbitration{lane(0, 1)}, mad.VLArbitration{lane(1, 1)}, 1), 2048, 107},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n, p := lineNet(t, 1, emu.Config{Wire: someWire()})
			n.subnet.Activate(20)
			tt.setUp(p)
			var order []uint64
			n.hosts[n.ends[1]].Detach()
			_, err := n.subnet.AttachHost(n.ends[1], emu.HostOptions{Receive: func(b []byte) { order = append(order, numberIn(b)) }})
			n.must(err)
			for range 200 {
				for vl := range 2 {
					n.send(n.ends[0], datagram{to: 2, number: uint64(vl), sl: ib.SL(vl), size: tt.size})
				}
			}
			drain(n.subnet)
			if len(order) != 400 {
				t.Fatalf("%d came", len(order))
			}
			ones := 0
			for _, vl := range order[1:161] {
				ones += int(vl)
			}
			if ones < tt.ones-3 || ones > tt.ones+3 {
				t.Errorf("%d of 160 on VL1, want %d: %v", ones, tt.ones, order[:40])
			}
		})
	}
}

// TestCutUnderWay: what is on a link that is cut is lost; what waits for it
// too; afterwards all works again.
func TestCutUnderWay(t *testing.T) {
	n, _ := lineNet(t, 2, emu.Config{Wire: someWire()})
	n.subnet.Activate(20)
	link := linkOf(t, n.subnet.Fabric(), "S1", 2)
	for i := range 30 {
		n.send(n.ends[0], datagram{to: 2, number: uint64(i), size: 4096})
	}
	n.subnet.Advance(n.subnet.Now() + 1500)
	n.subnet.CutLink(link)
	drain(n.subnet)
	d := n.subnet.Data()
	if d.Delivered == 0 || d.Lost[emu.LossLink] != 1 || d.Lost[emu.LossDown] == 0 {
		t.Errorf("%+v", d)
	}
	n.settled()
	n.subnet.RestoreLink(link)
	n.subnet.Activate(20)
	for i := range 30 {
		n.send(n.ends[0], datagram{to: 2, number: uint64(100 + i), size: 4096})
	}
	drain(n.subnet)
	if after := n.subnet.Data(); after.Delivered != d.Delivered+30 {
		t.Errorf("%+v", after)
	}
	n.must(emu.CheckCredits(n.subnet, true))
	n.settled()
}

// TestSwitchIsAMember: port 0 of a switch gets and sends.
func TestSwitchIsAMember(t *testing.T) {
	bothWays(t, func(t *testing.T, cfg emu.Config) {
		n, _ := lineNet(t, 1, cfg)
		e, err := n.subnet.End("S1", 0)
		n.must(err)
		got := 0
		h, err := n.subnet.AttachHost(e, emu.HostOptions{Receive: func([]byte) { got++ }})
		n.must(err)
		for _, port := range []uint16{0, 1, 2} {
			n.must(n.subnet.SetMulticast(e.Node, 0xC000, port))
		}
		n.send(n.ends[0], datagram{to: 0xC000, number: 1})
		n.send(n.ends[0], datagram{to: 11, number: 2})
		n.must(h.Send(datagram{from: 11, to: 0xC000, number: 3}.appendTo(nil)))
		n.must(h.Send(datagram{from: 11, to: 2, number: 4}.appendTo(nil)))
		drain(n.subnet)
		one, two := n.ends[:1], n.ends[1:2]
		if got != 2 || !slices.Equal(n.got[1], two) || !sameEnds(n.got[3], []fabric.End{one[0], two[0]}) || !slices.Equal(n.got[4], two) {
			t.Errorf("%d at the switch; %v", got, n.got)
		}
		n.settled()
	})
}

// benchmarkData sends a packet again and again until each is where it goes.
func benchmarkData(b *testing.B, cfg emu.Config, members int) {
	f := topologyOf(b, "fat-tree:k=8")
	n := newNet(b, f, cfg, "fulb", []fabric.Group{{Members: f.EndPorts()[:max(members, 2)]}}, 18)
	d := datagram{to: ib.LID(0), size: 2048, from: n.lid[n.ends[0]]}
	if members > 0 {
		d.to = ib.LID(n.mlids[0])
	} else {
		d.to = n.lid[n.ends[127]]
	}
	packet, h := d.appendTo(nil), n.hosts[n.ends[0]]
	for _, host := range n.hosts {
		host.Detach()
	}
	b.ReportAllocs()
	for b.Loop() {
		n.must(h.Send(packet))
		drain(n.subnet)
	}
	crossed := uint64(0)
	for _, packets := range n.sent() {
		crossed += packets
	}
	b.ReportMetric(float64(crossed)/b.Elapsed().Seconds()/1e6, "Mhops/s")
}

func BenchmarkDataUnicast(b *testing.B) {
	benchmarkData(b, emu.Config{}, 0)
}

func BenchmarkDataMulticast(b *testing.B) {
	benchmarkData(b, emu.Config{}, 128)
}

func BenchmarkDataUnicastInTime(b *testing.B) {
	benchmarkData(b, emu.Config{Wire: someWire()}, 0)
}

func BenchmarkDataMulticastInTime(b *testing.B) {
	benchmarkData(b, emu.Config{Wire: someWire()}, 128)
}
