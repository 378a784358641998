package plan_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"heddle/ib"
	"heddle/mad"
	"heddle/sm/plan"
	"heddle/sm/subnet"
)

// aPort is a node with one port that has a LID: its GUID, what it is, and the
// LID that it has.
type aPort struct {
	guid ib.GUID
	kind mad.NodeType
	lid  ib.LID
}

// viewOf is what a sweep saw of ports.
func viewOf(ports []aPort, enhanced bool) *subnet.View {
	v := &subnet.View{}
	for _, p := range ports {
		n := &subnet.Node{Info: mad.NodeInfo{NodeType: p.kind, NodeGUID: p.guid, NumPorts: 1}, Ports: make([]subnet.Port, 2)}
		n.Switch.EnhancedPort0 = enhanced
		number := 1
		if n.IsSwitch() {
			number = 0
		}
		n.Ports[number] = subnet.Port{Answered: true, GUID: p.guid, Info: mad.PortInfo{LID: p.lid}}
		v.Nodes = append(v.Nodes, n)
	}
	return v
}

// assign is AssignLIDs with the result in the order of the nodes.
func assign(ports []aPort, enhanced bool, r plan.LIDRules) ([]plan.LIDRange, error) {
	v := viewOf(ports, enhanced)
	lids, err := plan.AssignLIDs(v, r)
	if err != nil {
		return nil, err
	}
	list := make([]plan.LIDRange, len(ports))
	for ref, own := range lids {
		for i, n := range v.Nodes {
			if n == ref.Node {
				list[i] = own
			}
		}
	}
	return list, nil
}

func TestAssignLIDs(t *testing.T) {
	type keep = map[ib.GUID]plan.LIDRange
	const ca, sw = mad.NodeCA, mad.NodeSwitch
	one := func(lid ib.LID) plan.LIDRange { return plan.LIDRange{First: lid, Last: lid} }
	tests := []struct {
		name  string
		ports []aPort
		rules plan.LIDRules
		want  []plan.LIDRange
	}{
		{"new ones, switches first", []aPort{{1, ca, 0}, {2, sw, 0}, {3, ca, 0}}, plan.LIDRules{}, []plan.LIDRange{one(2), one(1), one(3)}},
		{"two have one LID", []aPort{{1, ca, 1}, {2, ca, 1}}, plan.LIDRules{}, []plan.LIDRange{one(1), one(2)}},
		{"two had one LID", []aPort{{1, ca, 0}, {2, ca, 0}}, plan.LIDRules{Keep: keep{1: one(1), 2: one(1)}}, []plan.LIDRange{one(1), one(2)}},
		{"two had and have one LID", []aPort{{1, ca, 1}, {2, ca, 1}}, plan.LIDRules{Keep: keep{1: one(1), 2: one(1)}}, []plan.LIDRange{one(1), one(2)}},
		{"of two who have one LID, the one who had it", []aPort{{1, ca, 5}, {2, ca, 5}}, plan.LIDRules{Keep: keep{2: one(5)}}, []plan.LIDRange{one(1), one(5)}},
		{"what is unique stays", []aPort{{1, ca, 5}, {2, ca, 5}, {3, ca, 7}, {4, ca, 0}}, plan.LIDRules{Keep: keep{4: one(7)}}, []plan.LIDRange{one(1), one(2), one(7), one(3)}},
		{"who has one keeps it, whatever it had", []aPort{{1, ca, 5}}, plan.LIDRules{Keep: keep{1: one(3)}}, []plan.LIDRange{one(5)}},
		{"what others had is not given", []aPort{{1, ca, 0}, {2, ca, 0}}, plan.LIDRules{Keep: keep{9: {First: 1, Last: 2}}}, []plan.LIDRange{one(3), one(4)}},
		{"unless nothing else is left", []aPort{{1, ca, 0}, {2, ca, 0}}, plan.LIDRules{Keep: keep{9: {First: 1, Last: 0xBFFE}}}, []plan.LIDRange{one(0xBFFF), one(1)}},
		{"no unicast LID", []aPort{{1, ca, 0xC000}, {2, ca, 0xFFFF}, {3, ca, 0xBFFF}}, plan.LIDRules{Keep: keep{1: one(0xC000), 2: {First: 0, Last: 0xFFFF}}}, []plan.LIDRange{one(1), one(2), one(0xBFFF)}},
		{"a GUID of two", []aPort{{1, ca, 0}, {1, ca, 0}}, plan.LIDRules{Keep: keep{1: one(4)}}, []plan.LIDRange{one(4), one(1)}},
		{"no GUID", []aPort{{0, ca, 0}, {0, ca, 0}}, plan.LIDRules{}, []plan.LIDRange{one(1), one(2)}},
		{"reassigned", []aPort{{1, ca, 9}, {2, ca, 1}, {3, ca, 5}}, plan.LIDRules{Reassign: true, Keep: keep{1: one(3)}}, []plan.LIDRange{one(3), one(1), one(2)}},
		{"LMC", []aPort{{1, ca, 0}, {2, sw, 0}, {3, ca, 0}}, plan.LIDRules{LMC: 2}, []plan.LIDRange{{First: 4, Last: 7}, one(1), {First: 8, Last: 11}}},
		{"LMC, unaligned and overlapping", []aPort{{1, ca, 6}, {2, ca, 4}, {3, ca, 8}, {4, sw, 9}}, plan.LIDRules{LMC: 2}, []plan.LIDRange{{First: 8, Last: 11}, {First: 4, Last: 7}, {First: 12, Last: 15}, one(1)}},
		{"LMC, at the end", []aPort{{1, ca, 0xBFFC}}, plan.LIDRules{LMC: 2}, []plan.LIDRange{{First: 0xBFFC, Last: 0xBFFF}}},
		{"LMC, beyond the end", []aPort{{1, ca, 0}, {2, ca, 0}}, plan.LIDRules{LMC: 1, Keep: keep{9: {First: 1, Last: 0xBFFD}}}, []plan.LIDRange{{First: 0xBFFE, Last: 0xBFFF}, {First: 2, Last: 3}}},
		{"LMC at port 0", []aPort{{2, sw, 0}}, plan.LIDRules{LMC: 1, LMCPort0: true}, []plan.LIDRange{{First: 2, Last: 3}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := assign(test.ports, test.rules.LMCPort0, test.rules)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestLMCAtPort0IsForEnhancedOnes(t *testing.T) {
	got, err := assign([]aPort{{2, mad.NodeSwitch, 0}}, false, plan.LIDRules{LMC: 1, LMCPort0: true})
	if err != nil || got[0] != (plan.LIDRange{First: 1, Last: 1}) {
		t.Errorf("%v, %v", got, err)
	}
}

func TestLIDsRunOut(t *testing.T) {
	var ports []aPort
	for i := range ib.NumUnicastLIDs/128 + 1 {
		ports = append(ports, aPort{ib.GUID(i + 1), mad.NodeCA, 0})
	}
	_, err := assign(ports, false, plan.LIDRules{LMC: 7})
	if want := "no LID is free for 0x0000000000000180 port 1"; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	if _, err := assign(ports[1:], false, plan.LIDRules{LMC: 7}); err != nil {
		t.Error(err)
	}
}

// TestAssignLIDsProperty: LIDs are unique and aligned, who has some that nobody
// else claims keeps them, and after a port has them nothing changes any more.
func TestAssignLIDsProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lid := rapid.Map(rapid.IntRange(0, 20), func(n int) ib.LID { return ib.LID(n) })
		rules := plan.LIDRules{LMC: uint8(rapid.IntRange(0, 2).Draw(t, "LMC")), Reassign: rapid.Bool().Draw(t, "reassign"), Keep: map[ib.GUID]plan.LIDRange{}}
		var ports []aPort
		for i := range rapid.IntRange(1, 8).Draw(t, "ports") {
			kind := rapid.SampledFrom([]mad.NodeType{mad.NodeCA, mad.NodeSwitch, mad.NodeRouter}).Draw(t, "kind")
			ports = append(ports, aPort{ib.GUID(i + 1), kind, lid.Draw(t, "LID")})
			first := lid.Draw(t, "kept")
			rules.Keep[ib.GUID(i+1+i%2)] = plan.LIDRange{First: first, Last: first + lid.Draw(t, "kept for")%4}
		}
		got, err := assign(ports, false, rules)
		if err != nil {
			t.Fatal(err)
		}
		owner := map[ib.LID]int{}
		for i, own := range got {
			size := own.Last - own.First + 1
			if !own.First.IsUnicast() || own.First%size != 0 || own.LMC() != lmcOf(ports[i], rules) {
				t.Fatalf("port %d has %v", i, own)
			}
			for l := own.First; l <= own.Last; l++ {
				if other, taken := owner[l]; taken {
					t.Fatalf("%d and %d have LID %v: %v", i, other, l, got)
				}
				owner[l] = i
			}
		}
		checkStay(t, ports, got, rules)
		for i := range ports {
			ports[i].lid = got[i].First
		}
		rules.Reassign = false
		again, err := assign(ports, false, rules)
		if diff := cmp.Diff(got, again); diff != "" || err != nil {
			t.Fatalf("%v, again (-first +second):\n%s", err, diff)
		}
	})
}

func lmcOf(p aPort, r plan.LIDRules) uint8 {
	if p.kind == mad.NodeSwitch {
		return 0
	}
	return r.LMC
}

// checkStay wants ports with good LIDs that no other port claims to keep them.
func checkStay(t *rapid.T, ports []aPort, got []plan.LIDRange, r plan.LIDRules) {
	claims := map[ib.LID]int{}
	visit := func(p aPort, f func(ib.LID)) bool {
		size := ib.LID(1) << lmcOf(p, r)
		if p.lid == 0 || p.lid%size != 0 {
			return false
		}
		for l := p.lid; l < p.lid+size; l++ {
			f(l)
		}
		return true
	}
	for _, p := range ports {
		visit(p, func(l ib.LID) { claims[l]++ })
	}
	for i, p := range ports {
		alone := !r.Reassign
		good := visit(p, func(l ib.LID) { alone = alone && claims[l] == 1 })
		if good && alone && got[i].First != p.lid {
			t.Fatalf("port %d had LID %v alone, has %v: %s", i, p.lid, got[i], fmt.Sprint(ports))
		}
	}
}
