package plan_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/emu"
	"heddle/ib"
	"heddle/mad"
	"heddle/sm/plan"
	"heddle/sm/subnet"
)

// mappingOf is the mapping of so many lanes by the default rules.
func mappingOf(lanes int) (m mad.SLtoVLMapping) {
	for sl := range m {
		m[sl] = ib.VL(sl % lanes)
	}
	if lanes == 15 {
		m[15] = 7
	}
	return m
}

func lowOf(lanes int) (t mad.VLArbitration) {
	for vl := 1; vl < lanes; vl++ {
		t[vl] = mad.VLWeight{VL: ib.VL(vl), Weight: 4}
	}
	return t
}

// TestLanes looks at the tables that two adapters at a switch should hold.
func TestLanes(t *testing.T) {
	both := func(v *subnet.View, change func(*mad.PortInfo)) {
		for _, n := range v.Nodes {
			for i := range n.Ports {
				change(&n.Ports[i].Info)
			}
		}
	}
	tests := []struct {
		name   string
		change func(v *subnet.View, r *plan.PortRules)
		want   map[string]mad.SLtoVLMapping
	}{
		{"off", func(_ *subnet.View, r *plan.PortRules) { r.QoS = nil }, nil},
		{"eight lanes", func(*subnet.View, *plan.PortRules) {}, map[string]mad.SLtoVLMapping{
			"host-0": mappingOf(8), "host-1": mappingOf(8),
			"switch 0-1": mappingOf(8), "switch 1-1": mappingOf(8), "switch 2-1": mappingOf(8),
			"switch 0-2": mappingOf(8), "switch 1-2": mappingOf(8), "switch 2-2": mappingOf(8),
		}},
		{
			"one has two lanes", func(v *subnet.View, _ *plan.PortRules) { nodesByName(v)["host-1"].Ports[1].Info.VLCap = mad.DataVLs2 },
			map[string]mad.SLtoVLMapping{
				"host-0": mappingOf(8), "host-1": mappingOf(2),
				"switch 0-1": mappingOf(8), "switch 1-1": mappingOf(8), "switch 2-1": mappingOf(8),
				"switch 0-2": mappingOf(2), "switch 1-2": mappingOf(2), "switch 2-2": mappingOf(2),
			},
		},
		{"one lane each", func(v *subnet.View, _ *plan.PortRules) {
			both(v, func(x *mad.PortInfo) { x.VLCap, x.OperationalVLs = mad.DataVLs1, mad.DataVLs1 })
		}, nil},
		{
			"no mapping in adapters", func(v *subnet.View, _ *plan.PortRules) {
				for _, name := range []string{"host-0", "host-1", "switch"} {
					x := &nodesByName(v)[name].Ports[btoi(name != "switch")].Info
					x.CapabilityMask &^= mad.CapSLMapping
				}
			},
			nil,
		},
		{
			"a wildcard", func(v *subnet.View, _ *plan.PortRules) {
				nodesByName(v)["switch"].Switch.OptimizedSLtoVLMappingProgramming = 1
			},
			map[string]mad.SLtoVLMapping{"host-0": mappingOf(8), "host-1": mappingOf(8), "switch *-1": mappingOf(8), "switch *-2": mappingOf(8)},
		},
		{"fewer by rule, one level dropped", func(_ *subnet.View, r *plan.PortRules) {
			r.QoS.External.MaxVLs = 1
			r.QoS.Adapter.SLtoVL[3] = 15
		}, map[string]mad.SLtoVLMapping{
			"host-0": dropping(mappingOf(8), 3), "host-1": dropping(mappingOf(8), 3),
			"switch 0-1": {}, "switch 1-1": {}, "switch 2-1": {}, "switch 0-2": {}, "switch 1-2": {}, "switch 2-2": {},
		}},
	}
	for _, test := range tests {
		onEmulator(t, "single:hosts=2", emu.Config{}, func(e emulated) {
			v, rules := e.sweep(), plan.DefaultPortRules()
			rules.QoS = plan.DefaultQoSRules()
			test.change(v, &rules)
			got := map[string]mad.SLtoVLMapping{}
			for s := range plan.Lanes(v, rules) {
				if s.Attr == mad.AttrSLtoVLMapping {
					got[pairOf(&s)], _ = mad.ParseSLtoVLMapping(s.Data[:])
				}
			}
			if diff := cmp.Diff(test.want, got, emptyIsNil); diff != "" {
				e.Errorf("%s (-want +got):\n%s", test.name, diff)
			}
		})
	}
}

var emptyIsNil = cmp.Transformer("length", func(m map[string]mad.SLtoVLMapping) any {
	if len(m) == 0 {
		return nil
	}
	plain := map[string][16]ib.VL{}
	for name, mapping := range m {
		plain[name] = mapping
	}
	return plain
})

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func dropping(m mad.SLtoVLMapping, sl int) mad.SLtoVLMapping {
	m[sl] = 15
	return m
}

// pairOf names whose mapping it is: of a switch, the ports in and out.
func pairOf(s *plan.SMP) string {
	if !s.Node.IsSwitch() {
		return s.Node.Description
	}
	in, out := mad.SplitSLtoVLModifier(s.Modifier)
	from := string('0' + rune(in))
	if s.Modifier>>17 == 1 {
		from = "*"
	}
	return s.Node.Description + " " + from + "-" + string('0'+rune(out))
}

// TestLanesAreWritten: what differs from what ports hold is written, once they
// were read, and nothing more.
func TestLanesAreWritten(t *testing.T) {
	onEmulator(t, "fat-tree:k=4", emu.Config{VLs: 15}, func(e emulated) {
		v, rules, held := e.sweep(), plan.DefaultPortRules(), plan.NewHeld()
		rules.QoS = plan.DefaultQoSRules()
		all := 0
		for range plan.Lanes(v, rules) {
			all++
		}
		// 48 links have two ends with four parts of arbitration tables; a switch
		// has 4 ports and its own, an adapter one.
		if want := 96*4 + 20*4*5 + 16; all != want {
			t.Errorf("%d tables, want %d", all, want)
		}
		if read := e.read(held, slices.Collect(plan.UnknownLanes(v, rules, held))); read != all {
			t.Errorf("%d tables read of %d", read, all)
		}
		// The emulator's own mapping has level 15 in lane 0, and all lanes have
		// low priority.
		if sent, want := e.send(held, plan.LaneStage(v, rules, held)), 96*2+20*4*5+16; sent != want {
			t.Errorf("%d tables written, want %d", sent, want)
		}
		rest := slices.Collect(plan.UnknownLanes(v, rules, held))
		if sent := e.send(held, plan.LaneStage(v, rules, held)); sent+len(rest) != 0 {
			t.Errorf("%d tables written again, %d unknown", sent, len(rest))
		}
		own := v.Nodes[v.Own.Node]
		wantMapping, wantLow := mappingOf(15), lowOf(15)
		if got := e.get(own, mad.AttrSLtoVLMapping, 0); !slices.Equal(got[:8], wantMapping.AppendTo(nil)) {
			t.Errorf("mapping % x", got[:8])
		}
		if got := e.get(own, mad.AttrVLArbitration, mad.VLArbitrationModifier(mad.VLArbitrationLowFirst, 0)); !slices.Equal(got, wantLow.AppendTo(nil)) {
			t.Errorf("low priority % x", got)
		}
		held.Forget(own.GUID())
		if n := len(slices.Collect(plan.UnknownLanes(v, rules, held))); n != 5 {
			t.Errorf("%d tables unknown of a node that was forgotten, want 5", n)
		}
	})
}

// TestHighLimit: the limit of high priority goes with the links.
func TestHighLimit(t *testing.T) {
	onEmulator(t, "single:hosts=2", emu.Config{}, func(e emulated) {
		rules, held := plan.DefaultPortRules(), plan.NewHeld()
		rules.QoS = plan.DefaultQoSRules()
		rules.QoS.Adapter.HighLimit, rules.QoS.External.HighLimit = 3, 4
		e.address(held, rules)
		stages, _ := plan.Links(e.sweep(), rules)
		e.send(held, stages...)
		for _, n := range e.sweep().Nodes {
			for i := range n.Ports {
				if _, _, ok := n.Peer(uint8(i)); ok && n.Ports[i].Info.VLHighLimit != uint8(3+btoi(n.IsSwitch())) {
					e.Errorf("%s port %d: limit %d", n.Label(), i, n.Ports[i].Info.VLHighLimit)
				}
			}
		}
	})
}

// TestTables: what is held of a port's tables.
func TestTables(t *testing.T) {
	h, guid := plan.NewHeld(), ib.GUID(7)
	mapping, all := mappingOf(4), mappingOf(2)
	look := func(want mad.SLtoVLMapping, wantKnown, wantOK bool) {
		t.Helper()
		data, known, ok := h.Mapping(guid, 2, 1)
		if got, _ := mad.ParseSLtoVLMapping(data[:]); got != want || known != wantKnown || ok != wantOK {
			t.Errorf("%v, %v, %v", got, known, ok)
		}
	}
	look(mad.SLtoVLMapping{}, false, false)
	h.Told(guid, 0, mad.AttrSLtoVLMapping, mad.SLtoVLModifier(2, 1), append(mapping.AppendTo(nil), 9), true)
	look(mapping, true, true)
	h.Doubt(guid, 0, mad.AttrSLtoVLMapping, mad.SLtoVLModifier(2, 1))
	look(mad.SLtoVLMapping{}, false, false)
	h.Told(guid, 0, mad.AttrSLtoVLMapping, mad.SLtoVLModifier(2, 1), nil, false)
	look(mad.SLtoVLMapping{}, true, false)
	h.Told(guid, 0, mad.AttrSLtoVLMapping, 1<<17|1, all.AppendTo(nil), true)
	look(all, true, true)
	h.Forget(guid)
	look(mad.SLtoVLMapping{}, false, false)
}
