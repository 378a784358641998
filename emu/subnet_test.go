package emu_test

import (
	"errors"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	"heddle/emu"
	"heddle/fabric"
	"heddle/fabric/topology"
	"heddle/ib"
	"heddle/mad"
)

func TestConfigRefused(t *testing.T) {
	for _, bad := range []emu.Config{
		{MLIDs: ib.NumMLIDs + 1},
		{LIDs: -1},
		{LIDs: 50000},
		{PKeys: -1},
		{PKeys: 5000},
		{SwitchPKeys: 5000},
		{MTU: 9},
		{VLs: 3},
		{VLs: -1},
		{Hop: -1},
		{Agent: -1},
		{Queue: -1},
	} {
		if s, err := emu.New(line(t, 1), bad); err == nil || s != nil {
			t.Errorf("%+v is taken", bad)
		}
	}
}

func TestTooManyPorts(t *testing.T) {
	var b fabric.Builder
	b.AddNode(fabric.Node{GUID: 1, Name: "director", Kind: fabric.Switch, NumPorts: 300, MulticastCap: fabric.CapUnknown}, fabric.Place{})
	f, _ := b.Build()
	if _, err := emu.New(f, emu.Config{}); err == nil || !strings.Contains(err.Error(), "director") {
		t.Errorf("a switch of 300 ports: %v", err)
	}
}

func TestEnd(t *testing.T) {
	s := newSubnet(t, line(t, 1), emu.Config{})
	id := func(name string) fabric.NodeID { n, _ := s.Fabric().ByID(name); return n }
	tests := []struct {
		name string
		port uint8
		want fabric.End
	}{
		{"", 0, fabric.End{Node: id("H1"), Port: 1}},
		{"S1", 0, fabric.End{Node: id("S1")}},
		{"S1", 2, fabric.End{Node: id("S1"), Port: 2}},
		{"0x0000000000000200", 0, fabric.End{Node: id("H2"), Port: 1}},
		{"0x0000000000000010", 0, fabric.End{Node: id("S1")}},
	}
	for _, test := range tests {
		if got, err := s.End(test.name, test.port); err != nil || got != test.want {
			t.Errorf("End(%q, %d) = %+v, %v, want %+v", test.name, test.port, got, err, test.want)
		}
	}
	if _, err := s.End("nobody", 0); !errors.Is(err, emu.ErrNoNode) {
		t.Errorf("End of nobody: %v", err)
	}
}

// TestLoopEnds sends a packet into a loop of forwarding tables.
func TestLoopEnds(t *testing.T) {
	p := attach(t, newSubnet(t, line(t, 2), emu.Config{}), "H1")
	p.program(2)
	block := get(p, smp{path: []uint8{1, 2}, attr: mad.AttrLinearForwarding}, mad.ParseLinearForwarding)
	block[2] = 1 // back to S1
	p.must(smp{path: []uint8{1, 2}, set: true, attr: mad.AttrLinearForwarding, value: block})
	if _, ok := p.ask(smp{lid: 2, attr: mad.AttrNodeInfo}); ok {
		t.Error("an answer out of a loop")
	}
}

// TestNoAllocs: what a manager sends thousands of costs no garbage.
func TestNoAllocs(t *testing.T) {
	s := newSubnet(t, line(t, 3), emu.Config{})
	p := attach(t, s, "H1")
	end, err := s.End("H1", 0)
	if err != nil {
		t.Fatal(err)
	}
	answered := 0
	c, err := s.Attach(end, emu.ClientOptions{Receive: func(*emu.Packet) { answered++ }})
	if err != nil {
		t.Fatal(err)
	}
	far := []uint8{1, 2, 2}
	lft := mad.LinearForwarding{1: 3}
	requests := []smp{
		{path: far, attr: mad.AttrNodeInfo},
		{path: far, attr: mad.AttrNodeDescription},
		{path: far, attr: mad.AttrPortInfo, mod: 1},
		{path: far, attr: mad.AttrSwitchInfo},
		{path: far, attr: mad.AttrPKeyTable},
		{path: far, attr: mad.AttrLinearForwarding, set: true, value: lft},
		{path: far, attr: mad.AttrMulticastForwarding, set: true, value: mad.MulticastForwarding{1: 3}},
	}
	for _, q := range requests {
		k := p.packet(q)
		before := answered
		c.Send(k)
		if n := testing.AllocsPerRun(100, func() { c.Send(k) }); n != 0 {
			t.Errorf("%v: %v allocations", q.attr, n)
		}
		if answered-before != 102 {
			t.Errorf("%v: %d answers of 102", q.attr, answered-before)
		}
	}
}

// TestMemory: 16,000 adapters and 2,000 switches, with the LIDs of all and a
// thousand multicast groups in every switch, below 500 MB.
func TestMemory(t *testing.T) {
	f, err := topology.Generate("fat-tree:k=40")
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	s := newSubnet(t, f, emu.Config{})
	fillTables(t, s, 18000, 1000)
	runtime.GC()
	runtime.ReadMemStats(&after)
	if mb := int(after.HeapAlloc-before.HeapAlloc) >> 20; mb > 400 {
		t.Errorf("%d MB", mb)
	} else {
		t.Logf("%d MB for %d nodes", mb, f.NumNodes())
	}
	runtime.KeepAlive(s)
}

// fillTables writes the tables of all switches, each from a client at itself.
func fillTables(t *testing.T, s *emu.Subnet, lids, mlids int) {
	for _, id := range s.Fabric().Switches() {
		p := &probe{t: t, subnet: s}
		var err error
		p.client, err = s.Attach(fabric.End{Node: id}, emu.ClientOptions{Receive: func(q *emu.Packet) { p.got = append(p.got[:0], *q) }})
		if err != nil {
			t.Fatal(err)
		}
		for block := range (lids + 63) / 64 {
			p.must(smp{set: true, attr: mad.AttrLinearForwarding, mod: uint32(block), value: mad.LinearForwarding{1: 1}})
		}
		for block := range (mlids + 31) / 32 {
			for position := range s.Fabric().Node(id).NumPorts/16 + 1 {
				mod := mad.MulticastModifier(uint16(block), uint8(position))
				p.must(smp{set: true, attr: mad.AttrMulticastForwarding, mod: mod, value: mad.MulticastForwarding{1: 1}})
			}
		}
		p.client.Detach()
	}
}

// FuzzPacket gives a subnet any datagram, and then a good one.
func FuzzPacket(f *testing.F) {
	p := &probe{t: f}
	for _, q := range []smp{
		{path: []uint8{1, 2, 2}, attr: mad.AttrNodeInfo},
		{lid: 2, attr: mad.AttrPortInfo, mod: 1},
		{path: []uint8{1}, set: true, attr: mad.AttrPortInfo, mod: 2, value: mad.PortInfo{PortState: mad.PortDown}},
		{path: []uint8{1}, set: true, attr: mad.AttrMulticastForwarding, mod: 0x10000001},
		{path: []uint8{1}, set: true, attr: mad.AttrPKeyTable, mod: 0x20000},
		{path: []uint8{1}, set: true, attr: mad.AttrVLArbitration, mod: 0x30001},
		{path: []uint8{}, set: true, attr: mad.AttrGUIDInfo, mod: 3},
	} {
		k := p.packet(q)
		f.Add(k.MAD[:], uint16(k.DLID), uint16(k.SLID), uint32(k.DQP))
	}
	k := gmp(2, func(*emu.Packet) {})
	f.Add(k.MAD[:], uint16(2), uint16(1), uint32(1))
	tree := line(f, 2)
	f.Fuzz(func(t *testing.T, data []byte, dlid, slid uint16, dqp uint32) {
		p := attach(t, newSubnet(t, tree, emu.Config{Agent: time.Microsecond, Queue: 2}), "H1")
		p.program(2)
		other := attach(t, p.subnet, "H2")
		k := &emu.Packet{DLID: ib.LID(dlid), SLID: ib.LID(slid), DQP: ib.QPN(dqp), QKey: ib.GSIQKey, PKey: ib.DefaultPKey}
		copy(k.MAD[:], data)
		p.client.Send(k)
		other.client.Send(k)
		p.subnet.Advance(p.subnet.Now() + time.Minute)
		p.tid += 1 << 20 // not what was sent
		p.must(smp{attr: mad.AttrNodeInfo})
	})
}

// TestPropertyAnyFaults lets chance do to a subnet what the faults can, with
// traffic, and expects it to be whole in the end.
func TestPropertyAnyFaults(t *testing.T) {
	f, err := topology.Generate("fat-tree:k=4")
	if err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 1))
		s := newSubnet(t, f, emu.Config{Seed: seed, Hop: time.Microsecond})
		p := attach(t, s, "")
		for range 300 {
			harm(s, r)
			p.client.Send(p.packet(smp{path: []uint8{1, 1 + uint8(r.IntN(4)), 1 + uint8(r.IntN(4))}, attr: mad.AttrNodeInfo}))
			s.Advance(s.Now() + time.Duration(r.IntN(1000))*time.Microsecond)
		}
		heal(t, s)
		p.got = nil
		for port := uint8(1); port <= 4; port++ {
			p.must(smp{path: []uint8{1, port}, attr: mad.AttrNodeInfo})
		}
		if st := s.Stats(); st.Sent == 0 || st.Lost == 0 {
			t.Errorf("seed %d: %+v", seed, st)
		}
	}
}

func harm(s *emu.Subnet, r *rand.Rand) {
	link, node := fabric.LinkID(r.IntN(s.Fabric().NumLinks())), fabric.NodeID(r.IntN(s.Fabric().NumNodes()))
	switch r.IntN(6) {
	case 0:
		s.CutLink(link)
	case 1:
		s.RestoreLink(link)
	case 2:
		s.KillNode(node)
	case 3:
		s.ReviveNode(node)
	case 4:
		s.FlapLink(link, 2, time.Millisecond, time.Millisecond)
	case 5:
		_ = s.Trouble(emu.Trouble{Drop: 0.2, Duplicate: 0.2, Jitter: time.Millisecond})
	}
}

func heal(t *testing.T, s *emu.Subnet) {
	t.Helper()
	s.Advance(s.Now() + time.Minute)
	if err := s.Trouble(emu.Trouble{}); err != nil {
		t.Fatal(err)
	}
	for id := range s.Fabric().NumNodes() {
		s.ReviveNode(fabric.NodeID(id))
	}
	for id := range s.Fabric().NumLinks() {
		s.RestoreLink(fabric.LinkID(id))
	}
	s.Advance(s.Now() + time.Minute)
}
