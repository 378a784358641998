package emu_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"heddle/emu"
	"heddle/ib"
	"heddle/mad"
)

// TestSetPortInfo changes one thing of S1's external port 2, which is in Init.
func TestSetPortInfo(t *testing.T) {
	tests := []struct {
		name string
		port uint32
		edit func(*mad.PortInfo)
		ok   bool
	}{
		{"nothing", 2, func(*mad.PortInfo) {}, true},
		{"to Armed", 2, func(i *mad.PortInfo) { i.PortState = mad.PortArmed }, true},
		{"to Active at once", 2, func(i *mad.PortInfo) { i.PortState = mad.PortActive }, false},
		{"to Init", 2, func(i *mad.PortInfo) { i.PortState = mad.PortInit }, false},
		{"to a state that there is not", 2, func(i *mad.PortInfo) { i.PortState = 7 }, false},
		{"down", 2, func(i *mad.PortInfo) { i.PortState = mad.PortDown }, true},
		{"down and polling", 2, func(i *mad.PortInfo) { i.PortState, i.PortPhysicalState = mad.PortDown, mad.PhysPolling }, true},
		{"armed and polling", 2, func(i *mad.PortInfo) { i.PortState, i.PortPhysicalState = mad.PortArmed, mad.PhysPolling }, false},
		{"physically up", 2, func(i *mad.PortInfo) { i.PortPhysicalState = mad.PhysLinkUp }, false},
		{"armed without a link", 3, func(i *mad.PortInfo) { i.PortState = mad.PortArmed }, false},
		{"smaller MTU", 2, func(i *mad.PortInfo) { i.NeighborMTU = ib.MTU1024 }, true},
		{"larger MTU than it can", 2, func(i *mad.PortInfo) { i.NeighborMTU = ib.MTU4096 }, false},
		{"fewer lanes", 2, func(i *mad.PortInfo) { i.OperationalVLs = mad.DataVLs1 }, true},
		{"more lanes than it has", 2, func(i *mad.PortInfo) { i.OperationalVLs = mad.DataVLs15 }, false},
		{"a width that it cannot", 2, func(i *mad.PortInfo) { i.LinkWidthEnabled = mad.LinkWidthOf(ib.Width12x) }, false},
		{"all widths", 2, func(i *mad.PortInfo) { i.LinkWidthEnabled = mad.LinkWidthAllSupported }, true},
		{"a speed that it cannot", 2, func(i *mad.PortInfo) { i.LinkSpeedExtEnabled = mad.LinkSpeedExtNDR }, false},
		{"no extended speed", 2, func(i *mad.PortInfo) { i.LinkSpeedExtEnabled = mad.LinkSpeedExtDisable }, true},
		{"a port that there is not", 5, func(*mad.PortInfo) {}, false},
		{"port 0: a LID", 0, func(i *mad.PortInfo) { i.LID = 7 }, true},
		{"port 0: no LID", 0, func(i *mad.PortInfo) { i.LID = 0 }, false},
		{"port 0: a multicast LID", 0, func(i *mad.PortInfo) { i.LID = 0xC000 }, false},
		{"port 0: an LMC, which a base one has not", 0, func(i *mad.PortInfo) { i.LID, i.LMC = 8, 1 }, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := attach(t, newSubnet(t, line(t, 2), emu.Config{MTU: ib.MTU2048}), "H1")
			template := p.portInfo([]uint8{1}, min(test.port, 4))
			template.PortState, template.PortPhysicalState = mad.PortNoChange, mad.PhysNoChange
			if test.port == 0 {
				template.LID = 7
			}
			test.edit(&template)
			answer, ok := p.ask(smp{path: []uint8{1}, set: true, attr: mad.AttrPortInfo, mod: test.port, value: template})
			want := mad.StatusOK
			if !test.ok {
				want = mad.StatusBadField
			}
			if !ok || answer.Status() != want {
				t.Errorf("answered %v, status %v, want %v", ok, status(answer), want)
			}
		})
	}
}

func TestEnhancedPort0(t *testing.T) {
	p := attach(t, newSubnet(t, line(t, 1), emu.Config{EnhancedPort0: true}), "H1")
	if !p.switchInfo([]uint8{1}).EnhancedPort0 {
		t.Error("EnhancedPort0 is not told")
	}
	p.mustChange([]uint8{1}, 0, func(i *mad.PortInfo) { i.LID, i.LMC, i.PortState = 8, 1, mad.PortArmed })
	p.mustChange([]uint8{1}, 0, func(i *mad.PortInfo) { i.PortState = mad.PortActive })
	info := p.portInfo([]uint8{1}, 0)
	if info.LID != 8 || info.LMC != 1 || info.PortState != mad.PortActive {
		t.Errorf("LID %d, LMC %d, state %v", info.LID, info.LMC, info.PortState)
	}
}

// TestLinkRetrains: a port that goes down comes back in Init, at both ends, and
// the switch says that something changed.
func TestLinkRetrains(t *testing.T) {
	p := attach(t, newSubnet(t, line(t, 2), emu.Config{}), "H1")
	p.program(2)
	change := p.switchInfo([]uint8{1})
	change.PortStateChange = true
	p.must(smp{path: []uint8{1}, set: true, attr: mad.AttrSwitchInfo, value: change})
	if p.switchInfo([]uint8{1}).PortStateChange {
		t.Fatal("PortStateChange is not cleared by writing it")
	}
	p.mustChange([]uint8{1}, 2, func(i *mad.PortInfo) {
		i.LinkSpeedExtEnabled, i.PortState = mad.LinkSpeedExtEDR, mad.PortDown
	})
	for _, end := range []struct {
		path []uint8
		port uint32
	}{{[]uint8{1}, 2}, {[]uint8{1, 2}, 1}} {
		info := p.portInfo(end.path, end.port)
		if info.PortState != mad.PortInit || info.LinkRate().Speed != ib.EDR {
			t.Errorf("port %d: %v at %v, want Init at EDR, which one end enables", end.port, info.PortState, info.LinkRate())
		}
	}
	if !p.switchInfo([]uint8{1}).PortStateChange {
		t.Error("PortStateChange is not set")
	}
}

func TestDisabledPortStaysDown(t *testing.T) {
	p := attach(t, newSubnet(t, line(t, 2), emu.Config{}), "H1")
	p.mustChange([]uint8{1}, 2, func(i *mad.PortInfo) { i.PortState, i.PortPhysicalState = mad.PortDown, mad.PhysDisabled })
	if info := p.portInfo([]uint8{1}, 2); info.PortState != mad.PortDown || info.PortPhysicalState != mad.PhysDisabled {
		t.Errorf("%v, %v", info.PortState, info.PortPhysicalState)
	}
	if _, ok := p.ask(smp{path: []uint8{1, 2}, attr: mad.AttrNodeInfo}); ok {
		t.Error("an answer through a disabled port")
	}
	p.mustChange([]uint8{1}, 2, func(i *mad.PortInfo) { i.PortPhysicalState = mad.PhysPolling })
	if info := p.portInfo([]uint8{1, 2}, 1); info.PortState != mad.PortInit {
		t.Errorf("the far end is %v, want Init", info.PortState)
	}
}

func TestMKey(t *testing.T) {
	const key = 0x1234
	ask := func(p *probe, set bool, k mad.MKey) (shown mad.MKey, ok bool) {
		q := smp{path: []uint8{1}, attr: mad.AttrPortInfo, mkey: k, set: set}
		if set {
			q.value = mad.PortInfo{LID: 11, MasterSMLID: 1, MKey: key, MKeyProtectBits: 1}
		}
		answer, ok := p.ask(q)
		if !ok {
			return 0, false
		}
		info, err := mad.ParsePortInfo(answer.Data())
		if err != nil {
			t.Fatal(err)
		}
		return info.MKey, true
	}
	tests := []struct {
		protect uint8
		mkey    mad.MKey
		set     bool
		ok      bool
		shown   mad.MKey
	}{
		{0, 0, false, true, key},
		{0, 0, true, false, 0},
		{0, key, true, true, key},
		{1, 0, false, true, 0},
		{1, key, false, true, key},
		{1, 5, true, false, 0},
		{2, 0, false, false, 0},
		{2, key, false, true, key},
		{3, 1, false, false, 0},
		{3, key, true, true, key},
	}
	for _, test := range tests {
		p := attach(t, newSubnet(t, line(t, 1), emu.Config{}), "H1")
		p.mustChange([]uint8{1}, 0, func(i *mad.PortInfo) {
			i.LID, i.MKey, i.MKeyProtectBits = 11, key, test.protect
		})
		if shown, ok := ask(p, test.set, test.mkey); ok != test.ok || shown != test.shown {
			t.Errorf("protection %d, key %v, set %v: answered %v with %v, want %v with %v",
				test.protect, test.mkey, test.set, ok, shown, test.ok, test.shown)
		}
	}
}

// TestMKeyLease: after a violation, a manager that does not come back loses
// the protection.
func TestMKeyLease(t *testing.T) {
	p := attach(t, newSubnet(t, line(t, 1), emu.Config{}), "H1")
	p.mustChange([]uint8{1}, 0, func(i *mad.PortInfo) {
		i.LID, i.MKey, i.MKeyProtectBits, i.MKeyLeasePeriod = 11, 7, 2, 10
	})
	get := smp{path: []uint8{1}, attr: mad.AttrPortInfo}
	for range 8 { // a second each, as nothing answers
		if _, ok := p.ask(get); ok {
			t.Fatal("the protection does not hold")
		}
	}
	p.subnet.Advance(p.subnet.Now() + 3*time.Second)
	info, err := mad.ParsePortInfo(p.must(get))
	if err != nil || info.MKeyProtectBits != 0 || info.MKeyViolations != 8 {
		t.Errorf("after the lease: protection %d, %d violations, %v", info.MKeyProtectBits, info.MKeyViolations, err)
	}
}

// TestTables writes each table and reads it back, beside its limits.
func TestTables(t *testing.T) {
	p := attach(t, newSubnet(t, line(t, 1), emu.Config{MLIDs: 1000, LIDs: 1000, PKeys: 40}), "H1")
	sw := []uint8{1}
	lft := mad.LinearForwarding{0: 255, 7: 3, 63: 1}
	mft := mad.MulticastForwarding{0: 6, 31: 0x1E}
	keys := mad.PKeyTable{0xFFFF, 0x8001, 0x7002}
	vls := mad.SLtoVLMapping{1, 2, 3, 4, 5, 6, 7, 0}
	guids := mad.GUIDInfo{0x101, 5, 6}
	arb := mad.VLArbitration{{VL: 3, Weight: 9}}
	tests := []struct {
		name     string
		path     []uint8
		attr     mad.AttrID
		mod, bad uint32 // a modifier in range, and one beyond
		value    mad.Attribute
	}{
		{"LFT", sw, mad.AttrLinearForwarding, 15, 16, lft},
		{"MFT", sw, mad.AttrMulticastForwarding, mad.MulticastModifier(31, 0), mad.MulticastModifier(32, 0), mft},
		{"MFT position", sw, mad.AttrMulticastForwarding, mad.MulticastModifier(0, 0), mad.MulticastModifier(0, 1), mft},
		{"P_Keys of an adapter", nil, mad.AttrPKeyTable, mad.PKeyTableModifier(0, 1), mad.PKeyTableModifier(0, 2), mad.PKeyTable{1, 2}},
		{"P_Keys of a switch's port", sw, mad.AttrPKeyTable, mad.PKeyTableModifier(2, 0), mad.PKeyTableModifier(5, 0), keys},
		{"SL to VL", sw, mad.AttrSLtoVLMapping, mad.SLtoVLModifier(1, 2), mad.SLtoVLModifier(1, 5), vls},
		{"VL arbitration", sw, mad.AttrVLArbitration, mad.VLArbitrationModifier(2, 1), mad.VLArbitrationModifier(5, 1), arb},
		{"GUIDs", nil, mad.AttrGUIDInfo, 0, 4, guids},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			set := smp{path: test.path, attr: test.attr, mod: test.mod, set: true, value: test.value}
			want := test.value.AppendTo(nil)
			if got := p.must(set)[:len(want)]; !cmp.Equal(got, want) {
				t.Errorf("answer to the Set:\n%x, want\n%x", got, want)
			}
			if got := p.must(smp{path: test.path, attr: test.attr, mod: test.mod})[:len(want)]; !cmp.Equal(got, want) {
				t.Errorf("read back:\n%x, want\n%x", got, want)
			}
			set.mod = test.bad
			if answer, ok := p.ask(set); !ok || answer.Status() != mad.StatusBadField {
				t.Errorf("modifier %#x: answered %v, status %v", test.bad, ok, status(answer))
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	p := attach(t, newSubnet(t, line(t, 1), emu.Config{}), "H1")
	tests := []struct {
		name string
		q    smp
		want mad.Status
	}{
		{"Set of NodeInfo", smp{set: true, attr: mad.AttrNodeInfo}, mad.StatusBadAttribute},
		{"Set of NodeDescription", smp{set: true, attr: mad.AttrNodeDescription}, mad.StatusBadAttribute},
		{"SwitchInfo of an adapter", smp{attr: mad.AttrSwitchInfo}, mad.StatusBadAttribute},
		{"LFT of an adapter", smp{attr: mad.AttrLinearForwarding}, mad.StatusBadAttribute},
		{"MFT of an adapter", smp{attr: mad.AttrMulticastForwarding}, mad.StatusBadAttribute},
		{"unknown attribute", smp{attr: 0x99}, mad.StatusBadAttribute},
		{"another class version", smp{attr: mad.AttrNodeInfo, mutate: func(k *emu.Packet) { k.MAD[2] = 2 }}, mad.StatusBadVersion},
		{"another base version", smp{attr: mad.AttrNodeInfo, mutate: func(k *emu.Packet) { k.MAD[0] = 2 }}, mad.StatusBadVersion},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if answer, ok := p.ask(test.q); !ok || answer.Status() != test.want {
				t.Errorf("answered %v, status %v, want %v", ok, status(answer), test.want)
			}
		})
	}
}

// TestMFTSetsAreCounted: those that an agent took, and when the last one came.
func TestMFTSetsAreCounted(t *testing.T) {
	s := newSubnet(t, line(t, 2), emu.Config{MLIDs: 32})
	p := attach(t, s, "H1")
	set := func(block uint16) {
		p.ask(smp{path: []uint8{1}, set: true, attr: mad.AttrMulticastForwarding, mod: mad.MulticastModifier(block, 0), value: mad.MulticastForwarding{6}})
	}
	set(0)
	s.Advance(time.Second)
	set(0)
	s.Advance(2 * time.Second)
	set(1) // which there is not
	p.ask(smp{path: []uint8{1}, attr: mad.AttrMulticastForwarding})
	if st := s.Stats(); st.MFTSets != 2 || st.LastMFTSet != time.Second {
		t.Errorf("%d Sets, the last at %v", st.MFTSets, st.LastMFTSet)
	}
}
