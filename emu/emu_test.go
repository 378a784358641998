package emu_test

import (
	"testing"
	"time"

	"heddle/emu"
	"heddle/fabric"
	"heddle/ib"
	"heddle/mad"
)

// line is H1 - S1 - S2 - ... - Sn - H2. Port 1 of each switch leads to the
// left, port 2 to the right, port 3 nowhere, and the switch at the right end
// has H3 on port 4.
func line(t testing.TB, switches int) *fabric.Fabric {
	t.Helper()
	var b fabric.Builder
	rate := ib.LinkRate{Width: ib.Width4x, Speed: ib.HDR}
	add := func(name string, kind fabric.Kind, guid ib.GUID, ports uint16) fabric.NodeID {
		return b.AddNode(fabric.Node{
			GUID: guid, Name: name, ID: name, Kind: kind, NumPorts: ports, MulticastCap: fabric.CapUnknown,
		}, fabric.Place{})
	}
	left := fabric.End{Node: add("H1", fabric.Adapter, 0x100, 1), Port: 1}
	for i := range switches {
		id := add("S"+string(rune('1'+i)), fabric.Switch, ib.GUID(0x10+i), 4)
		b.Cable(left, fabric.End{Node: id, Port: 1}, rate, fabric.Place{})
		left = fabric.End{Node: id, Port: 2}
	}
	b.Cable(left, fabric.End{Node: add("H2", fabric.Adapter, 0x200, 1), Port: 1}, rate, fabric.Place{})
	b.Cable(fabric.End{Node: left.Node, Port: 4}, fabric.End{Node: add("H3", fabric.Adapter, 0x300, 1), Port: 1}, rate, fabric.Place{})
	f, faults := b.Build()
	if errs := fabric.Errors(faults); len(errs) > 0 {
		t.Fatal(errs)
	}
	return f
}

func newSubnet(t testing.TB, f *fabric.Fabric, cfg emu.Config) *emu.Subnet {
	t.Helper()
	s, err := emu.New(f, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// probe is a client that keeps what it gets.
type probe struct {
	t      testing.TB
	subnet *emu.Subnet
	client *emu.Client
	got    []emu.Packet
	tid    uint64
}

func attach(t testing.TB, s *emu.Subnet, node string) *probe {
	t.Helper()
	end, err := s.End(node, 0)
	if err != nil {
		t.Fatal(err)
	}
	p := &probe{t: t, subnet: s}
	p.client, err = s.Attach(end, emu.ClientOptions{Receive: func(q *emu.Packet) { p.got = append(p.got, *q) }})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// smp is a request to an agent of subnet management.
type smp struct {
	path   []uint8 // for a directed route
	lid    ib.LID  // for one by LID
	set    bool
	attr   mad.AttrID
	mod    uint32
	mkey   mad.MKey
	value  mad.Attribute
	mutate func(*emu.Packet)
}

func (p *probe) packet(q smp) *emu.Packet {
	h := mad.Header{Class: mad.ClassDirected, ClassVersion: 1, Method: mad.MethodGet, Attr: q.attr, Modifier: q.mod}
	if q.lid != 0 {
		h.Class = mad.ClassLID
	}
	if q.set {
		h.Method = mad.MethodSet
	}
	p.tid++
	h.TID = p.tid
	k := &emu.Packet{DLID: q.lid}
	k.MAD.SetHeader(h)
	k.MAD.SetMKey(q.mkey)
	if q.lid == 0 {
		k.DLID, k.SLID = ib.PermissiveLID, ib.PermissiveLID
		if err := k.MAD.SetPath(q.path); err != nil {
			p.t.Fatal(err)
		}
	}
	if q.value != nil {
		q.value.AppendTo(k.MAD.Data()[:0])
	}
	if q.mutate != nil {
		q.mutate(k)
	}
	return k
}

// ask sends a request; ok is false where nothing came back.
func (p *probe) ask(q smp) (answer *mad.Datagram, ok bool) {
	p.t.Helper()
	p.got = nil
	p.client.Send(p.packet(q))
	if len(p.got) == 0 {
		p.subnet.Advance(p.subnet.Now() + time.Second)
	}
	for i := range p.got {
		m := &p.got[i].MAD
		switch {
		case !m.IsResponse(): // a trap
		case m.TID()&(1<<48-1) != p.tid || answer != nil:
			p.t.Fatalf("an answer to transaction %d; %d is asked, answered already: %v", m.TID(), p.tid, answer != nil)
		default:
			answer = m
		}
	}
	return answer, answer != nil
}

// must is the answer to a request that is answered with success.
func (p *probe) must(q smp) []byte {
	p.t.Helper()
	answer, ok := p.ask(q)
	if !ok || answer.Status() != mad.StatusOK {
		p.t.Fatalf("%v of path %v, LID %d, modifier %#x: answered %v, status %v", q.attr, q.path, q.lid, q.mod, ok, status(answer))
	}
	return answer.Data()
}

func status(m *mad.Datagram) mad.Status {
	if m == nil {
		return 0xFFFF
	}
	return m.Status()
}

// get parses the answer to a request.
func get[T any](p *probe, q smp, parse func([]byte) (T, error)) T {
	p.t.Helper()
	v, err := parse(p.must(q))
	if err != nil {
		p.t.Fatal(err)
	}
	return v
}

func (p *probe) portInfo(path []uint8, port uint32) mad.PortInfo {
	p.t.Helper()
	return get(p, smp{path: path, attr: mad.AttrPortInfo, mod: port}, mad.ParsePortInfo)
}

func (p *probe) switchInfo(path []uint8) mad.SwitchInfo {
	p.t.Helper()
	return get(p, smp{path: path, attr: mad.AttrSwitchInfo}, mad.ParseSwitchInfo)
}

// change reads a PortInfo, lets edit change it, and sets it; states are left
// out unless edit puts them in.
func (p *probe) change(path []uint8, port uint32, edit func(*mad.PortInfo)) mad.Status {
	p.t.Helper()
	info := p.portInfo(path, port)
	mkey := info.MKey
	info.PortState, info.PortPhysicalState = mad.PortNoChange, mad.PhysNoChange
	edit(&info)
	answer, ok := p.ask(smp{path: path, set: true, attr: mad.AttrPortInfo, mod: port, mkey: mkey, value: info})
	if !ok {
		p.t.Fatalf("Set of PortInfo %d by path %v is not answered", port, path)
	}
	return answer.Status()
}

func (p *probe) mustChange(path []uint8, port uint32, edit func(*mad.PortInfo)) {
	p.t.Helper()
	if s := p.change(path, port, edit); s != mad.StatusOK {
		p.t.Fatalf("Set of PortInfo %d by path %v: %v", port, path, s)
	}
}

// program gives a line of switches its LIDs and tables: H1 has 1, H2 2, H3 3,
// switch n (from 1) 10+n; all ports become active. H1 is the manager. p is at
// H1.
func (p *probe) program(switches int) {
	p.t.Helper()
	address := func(lid ib.LID) func(*mad.PortInfo) {
		return func(i *mad.PortInfo) { i.LID, i.MasterSMLID = lid, 1 }
	}
	p.mustChange(nil, 0, address(1))
	path := []uint8{1}
	for n := 1; n <= switches; n++ {
		p.mustChange(path, 0, address(ib.LID(10+n)))
		p.programLFT(path, n, switches)
		path = append(path, 2)
	}
	p.mustChange(path, 0, address(2))
	path[len(path)-1] = 4
	p.mustChange(path, 0, address(3))
	p.activate(switches)
}

func (p *probe) programLFT(path []uint8, n, switches int) {
	p.t.Helper()
	var block mad.LinearForwarding
	for i := range block {
		block[i] = mad.NoPort
	}
	block[1], block[2], block[3], block[10+n] = 1, 2, 2, 0
	if n == switches {
		block[3] = 4
	}
	for other := 1; other <= switches; other++ {
		switch {
		case other < n:
			block[10+other] = 1
		case other > n:
			block[10+other] = 2
		}
	}
	info := p.switchInfo(path)
	info.LinearFDBTop = 63
	p.must(smp{path: path, set: true, attr: mad.AttrSwitchInfo, value: info})
	p.must(smp{path: path, set: true, attr: mad.AttrLinearForwarding, value: block})
}

// activate takes all links of a line to Active, as a manager does: first all
// to Armed.
func (p *probe) activate(switches int) {
	p.t.Helper()
	for _, state := range []mad.PortState{mad.PortArmed, mad.PortActive} {
		set := func(i *mad.PortInfo) { i.PortState = state }
		p.mustChange(nil, 0, set)
		path := []uint8{1}
		for n := 1; n <= switches; n++ {
			p.mustChange(path, 1, set)
			p.mustChange(path, 2, set)
			if n == switches {
				p.mustChange(path, 4, set)
				p.mustChange(append(path, 4), 0, set)
			}
			path = append(path, 2)
		}
		p.mustChange(path, 0, set)
	}
}
