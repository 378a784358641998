package emu_test

import (
	"math"
	"testing"

	"heddle/emu"
	"heddle/ib"
	"heddle/mad"
)

// perf is a request of performance management to a LID.
func (p *probe) perf(lid ib.LID, set bool, attr mad.AttrID, value mad.Attribute) []byte {
	p.t.Helper()
	answer, ok := p.ask(smp{lid: lid, set: set, attr: attr, mutate: func(k *emu.Packet) {
		k.SQP, k.DQP, k.QKey, k.PKey = ib.GSIQPN, ib.GSIQPN, ib.GSIQKey, ib.DefaultPKey
		k.MAD[1] = byte(mad.ClassPerf)
		if value != nil {
			value.AppendTo(k.MAD.Data()[:0])
		}
	}})
	if !ok || answer.Status() != mad.StatusOK {
		p.t.Fatalf("%v: answered %v, status %v", attr, ok, status(answer))
	}
	return answer.Data()
}

func (p *probe) counters(lid ib.LID, port uint8) mad.PortCounters {
	p.t.Helper()
	c, err := mad.ParsePortCounters(p.perf(lid, false, mad.AttrPortCounters, mad.PortCounters{PortSelect: port}))
	if err != nil {
		p.t.Fatal(err)
	}
	return c
}

func (p *probe) extended(lid ib.LID, port uint8) mad.PortCountersExtended {
	p.t.Helper()
	c, err := mad.ParsePortCountersExtended(p.perf(lid, false, mad.AttrPortCountersExtended, mad.PortCountersExtended{PortSelect: port}))
	if err != nil {
		p.t.Fatal(err)
	}
	return c
}

// TestCountersCountTraffic: each request to H2 crosses S1 to the right, and
// its answer to the left.
func TestCountersCountTraffic(t *testing.T) {
	p := attach(t, newSubnet(t, line(t, 2), emu.Config{}), "H1")
	p.program(2)
	before := p.extended(11, 2)
	const n = 100
	if got := p.answers(n, smp{lid: 2, attr: mad.AttrNodeInfo}); got != n {
		t.Fatalf("%d answers", got)
	}
	after := p.extended(11, 2)
	if sent, received := after.PortXmitPkts-before.PortXmitPkts, after.PortRcvPkts-before.PortRcvPkts; sent != n || received != n {
		t.Errorf("%d packets out, %d in, want %d each", sent, received, n)
	}
	if words := after.PortXmitData - before.PortXmitData; words != n*72 {
		t.Errorf("%d words out, want 72 for each packet", words)
	}
}

func TestCountersAreReset(t *testing.T) {
	p := attach(t, newSubnet(t, line(t, 2), emu.Config{}), "H1")
	p.program(2)
	wide := p.extended(11, 2)
	p.perf(11, true, mad.AttrPortCounters, mad.PortCounters{PortSelect: 2, CounterSelect: mad.SelectPortXmitPkts})
	narrow := p.counters(11, 2)
	if narrow.PortXmitPkts != 0 || narrow.PortRcvPkts == 0 {
		t.Errorf("reset of PortXmitPkts: %d out, %d in", narrow.PortXmitPkts, narrow.PortRcvPkts)
	}
	if again := p.extended(11, 2); again.PortXmitPkts != wide.PortXmitPkts {
		t.Errorf("the wide counter went from %d to %d", wide.PortXmitPkts, again.PortXmitPkts)
	}
	p.perf(11, true, mad.AttrPortCountersExtended, mad.PortCountersExtended{PortSelect: 2, CounterSelect: mad.SelectExtAll})
	if again := p.extended(11, 2); again.PortXmitPkts != 0 || again.PortRcvPkts != 0 {
		t.Errorf("reset of the wide ones: %+v", again)
	}
	if again := p.counters(11, 2); again.PortRcvPkts != narrow.PortRcvPkts {
		t.Errorf("PortRcvPkts went from %d to %d with the wide ones", narrow.PortRcvPkts, again.PortRcvPkts)
	}
}

// TestCountersStop at their largest value, and can be set to any.
func TestCountersStop(t *testing.T) {
	p := attach(t, newSubnet(t, line(t, 2), emu.Config{}), "H1")
	p.program(2)
	p.perf(11, true, mad.AttrPortCounters, mad.PortCounters{
		PortSelect: 2, CounterSelect: mad.SelectAll, CounterSelect2: 3,
		SymbolErrorCounter: 77, PortXmitPkts: math.MaxUint32,
	})
	p.answers(3, smp{lid: 2, attr: mad.AttrNodeInfo})
	c := p.counters(11, 2)
	if c.PortXmitPkts != math.MaxUint32 || c.PortRcvPkts != 3 || c.SymbolErrorCounter != 77 {
		t.Errorf("%d out, %d in, %d symbol errors", c.PortXmitPkts, c.PortRcvPkts, c.SymbolErrorCounter)
	}
}

func TestCountersOfFaults(t *testing.T) {
	p := attach(t, newSubnet(t, line(t, 2), emu.Config{}), "H1")
	p.program(2)
	link := linkOf(t, p.subnet.Fabric(), "S1", 2)
	p.subnet.CutLink(link)
	p.ask(smp{lid: 2, attr: mad.AttrNodeInfo})
	c := p.counters(11, 2)
	if c.LinkDownedCounter != 1 || c.PortXmitDiscards != 1 {
		t.Errorf("link downed %d times, %d discards, want 1 each", c.LinkDownedCounter, c.PortXmitDiscards)
	}
	one, all := p.counters(11, 1), p.counters(11, mad.AllPorts)
	if all.LinkDownedCounter != 1 || all.PortXmitPkts <= one.PortXmitPkts {
		t.Errorf("all ports: downed %d times, %d packets out, of which %d at port 1", all.LinkDownedCounter, all.PortXmitPkts, one.PortXmitPkts)
	}
}

func TestPerfClassPortInfo(t *testing.T) {
	p := attach(t, newSubnet(t, line(t, 1), emu.Config{}), "H1")
	p.program(1)
	info, err := mad.ParseClassPortInfo(p.perf(11, false, mad.AttrClassPortInfo, nil))
	if err != nil || info.CapabilityMask&mad.PerfCapExtendedWidth == 0 {
		t.Errorf("%+v, %v", info, err)
	}
}
