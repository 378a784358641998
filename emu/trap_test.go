package emu_test

import (
	"testing"
	"time"

	"heddle/emu"
	"heddle/fabric"
	"heddle/ib"
	"heddle/mad"
	"heddle/umad"
)

// manager makes the probe at H1 the subnet manager of a programmed line.
func manager(t *testing.T, f *fabric.Fabric, switches int) *probe {
	t.Helper()
	p := attach(t, newSubnet(t, f, emu.Config{}), "H1")
	if err := p.client.Register(umad.Agent{Class: mad.ClassLID, Version: 1, Methods: []mad.Method{mad.MethodTrap}}); err != nil {
		t.Fatal(err)
	}
	p.program(switches)
	p.got = nil
	return p
}

// wait lets time pass, and gives the traps that came.
func (p *probe) wait(d time.Duration) (notices []mad.Notice) {
	p.t.Helper()
	p.got = nil
	p.subnet.Advance(p.subnet.Now() + d)
	for i := range p.got {
		if p.got[i].MAD.Method() != mad.MethodTrap {
			continue
		}
		n, err := mad.ParseNotice(p.got[i].MAD.Data())
		if err != nil {
			p.t.Fatal(err)
		}
		notices = append(notices, n)
	}
	return notices
}

// repress answers the last trap.
func (p *probe) repress() {
	p.t.Helper()
	q := p.got[len(p.got)-1]
	q.MAD.SetMethod(mad.MethodTrapRepress)
	p.client.Send(&emu.Packet{MAD: q.MAD, DLID: q.SLID})
}

const trapInterval = 1100 * time.Millisecond // a little more than SubnetTimeOut

func TestTrapIsRepeatedUntilRepressed(t *testing.T) {
	p := manager(t, line(t, 3), 3)
	p.subnet.CutLink(linkOf(t, p.subnet.Fabric(), "S2", 2))
	got := p.wait(3 * trapInterval)
	if len(got) != 4 { // S3 cannot be heard
		t.Fatalf("%d traps in three intervals, want 4: %+v", len(got), got)
	}
	want := mad.NewNotice(mad.TrapLinkState, mad.ProducerSwitch, mad.LinkStateDetails{LID: 12})
	want.IssuerLID = 12
	if got[0] != want {
		t.Errorf("trap %+v, want %+v", got[0], want)
	}
	p.repress()
	if again := p.wait(3 * trapInterval); len(again) != 0 {
		t.Errorf("%d traps after TrapRepress", len(again))
	}
}

// TestTrapOfTwoEvents: a TrapRepress that crosses with a second event does not
// end that one's trap.
func TestTrapOfTwoEvents(t *testing.T) {
	p := manager(t, line(t, 3), 3)
	link := linkOf(t, p.subnet.Fabric(), "H2", 1)
	p.subnet.CutLink(link)
	if got := p.wait(0); len(got) != 1 {
		t.Fatalf("%d traps, want 1", len(got))
	}
	p.subnet.RestoreLink(link)
	p.repress()
	if got := p.wait(trapInterval); len(got) != 1 {
		t.Fatalf("%d traps of the second event, want 1", len(got))
	}
	p.repress()
	if again := p.wait(3 * trapInterval); len(again) != 0 {
		t.Errorf("%d traps after TrapRepress", len(again))
	}
}

// linkOf is the link in a port of a node.
func linkOf(t *testing.T, f *fabric.Fabric, node string, port uint16) fabric.LinkID {
	t.Helper()
	id, ok := f.ByID(node)
	if !ok {
		t.Fatalf("no node %s", node)
	}
	l := f.Port(fabric.End{Node: id, Port: port}).Link
	if l == fabric.NoLink {
		t.Fatalf("no link in port %d of %s", port, node)
	}
	return l
}

func TestTrapsBeforeThereIsAManager(t *testing.T) {
	s := newSubnet(t, line(t, 2), emu.Config{})
	s.CutLink(linkOf(t, s.Fabric(), "S1", 2))
	s.Advance(time.Minute)
	if n := s.Stats().Traps; n != 0 {
		t.Errorf("%d traps sent to nobody", n)
	}
	if _, ok := s.Next(); ok {
		t.Error("events go on for ever")
	}
}

func TestTrapsOfOtherEvents(t *testing.T) {
	tests := []struct {
		name   string
		cause  func(p *probe)
		want   mad.TrapNumber
		issuer ib.LID
	}{
		{"M_Key", func(p *probe) {
			p.mustChange([]uint8{1}, 0, func(i *mad.PortInfo) { i.MKey, i.MKeyProtectBits = 7, 2 })
			p.ask(smp{path: []uint8{1}, attr: mad.AttrPortInfo})
		}, mad.TrapBadMKey, 11},
		{"P_Key", func(p *probe) {
			p.client.Send(gmp(2, func(k *emu.Packet) { k.PKey = 0x8123 }))
		}, mad.TrapBadPKey, 2},
		{"Q_Key", func(p *probe) {
			p.client.Send(gmp(2, func(k *emu.Packet) { k.QKey = 1 }))
		}, mad.TrapBadQKey, 2},
		{"P_Key at a switch", func(p *probe) {
			p.mustChange([]uint8{1}, 1, func(i *mad.PortInfo) { i.PartitionEnforcementInbound = true })
			p.client.Send(gmp(2, func(k *emu.Packet) { k.PKey = 0x8123 }))
		}, mad.TrapSwitchBadPKey, 11},
		{"IsSM", func(p *probe) {
			other := attach(p.t, p.subnet, "H2")
			if err := other.client.SetIsSM(true); err != nil {
				p.t.Fatal(err)
			}
		}, mad.TrapLocalChanges, 2},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := manager(t, line(t, 2), 2)
			test.cause(p)
			traps := append(trapsIn(p), p.wait(time.Millisecond)...)
			if len(traps) != 1 || traps[0].Trap != test.want || traps[0].IssuerLID != test.issuer {
				t.Errorf("traps %+v, want one %v of LID %d", traps, test.want, test.issuer)
			}
		})
	}
}

// trapsIn are the traps that came while something else was awaited.
func trapsIn(p *probe) (notices []mad.Notice) {
	for i := range p.got {
		if n, err := mad.ParseNotice(p.got[i].MAD.Data()); err == nil && p.got[i].MAD.Method() == mad.MethodTrap {
			notices = append(notices, n)
		}
	}
	return notices
}

// gmp is a request of performance management to a LID.
func gmp(lid ib.LID, edit func(*emu.Packet)) *emu.Packet {
	k := &emu.Packet{DLID: lid, SQP: ib.GSIQPN, DQP: ib.GSIQPN, QKey: ib.GSIQKey, PKey: ib.DefaultPKey}
	k.MAD.SetHeader(mad.Header{
		Class: mad.ClassPerf, ClassVersion: 1, Method: mad.MethodGet, TID: 99, Attr: mad.AttrPortCounters,
	})
	mad.PortCounters{PortSelect: 1}.AppendTo(k.MAD.Data()[:0])
	edit(k)
	return k
}

func TestBabblingPort(t *testing.T) {
	p := manager(t, line(t, 2), 2)
	end, err := p.subnet.End("S2", 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.subnet.Babble(end, 100*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	got := p.wait(1050 * time.Millisecond)
	if len(got) != 10 {
		t.Errorf("%d traps in a second after the first, want 10", len(got))
	}
	for _, n := range got {
		d, ok := n.ParseDetails()
		if want := (mad.PortErrorDetails{LID: 12, Port: 1}); !ok || d != want || n.Trap < mad.TrapLinkIntegrity || n.Trap > mad.TrapFlowControl {
			t.Errorf("trap %v of %+v, want 129 to 131 of %+v", n.Trap, d, want)
		}
	}
	if err := p.subnet.Babble(end, 0); err != nil {
		t.Fatal(err)
	}
	if got := p.wait(time.Second); len(got) > 1 {
		t.Errorf("%d traps after the end of it", len(got))
	}
}
