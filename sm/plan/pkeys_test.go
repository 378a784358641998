package plan_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/emu"
	"heddle/ib"
	"heddle/mad"
	"heddle/sm/partition"
	"heddle/sm/plan"
	"heddle/sm/subnet"
)

func partitions(t *testing.T, text string) *partition.Config {
	t.Helper()
	c, faults, err := partition.Read(strings.NewReader(text), partition.Options{})
	if err != nil || len(faults) > 0 {
		t.Fatal(err, faults)
	}
	return c
}

// many is a partition for each of n keys, with all ports.
func many(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "A=%#x:ALL=full;", i+1)
	}
	return b.String()
}

// TestPKeys writes tables, looks what the ports hold then, and plans once
// more, which is nothing to do; over a history of configurations.
func TestPKeys(t *testing.T) {
	onEmulator(t, "fat-tree:k=4", emu.Config{PKeys: 70}, func(e emulated) {
		steps := []struct {
			text  string
			sent  int // to each of 36 ports
			own   string
			other string
		}{
			{"Default=0x7fff:ALL=full;", 0, "ffff", "ffff"},
			{"A=0x10:ALL=full;B=0x11:ALL;", 1, "ffff 8010 0011", "7fff 8010 0011"},
			{"B=0x11:ALL=full;C=0x12:ALL;", 1, "ffff 0012 8011", "7fff 0012 8011"},
			{"C=0x12,indx0:ALL;B=0x11:ALL=full;", 1, "0012 ffff 8011", "0012 7fff 8011"},
			{"Default=0x7fff:ALL=full;", 1, "ffff", "ffff"},
			{many(69), 3, "", ""},
			{"Z=69:ALL=full;", 3, "ffff" + strings.Repeat(" 0", 68) + " 8045", "7fff" + strings.Repeat(" 0", 68) + " 8045"},
		}
		held := plan.NewHeld()
		for _, step := range steps {
			rules := plan.PKeyRules{Partitions: partitions(e.T, step.text)}
			v := e.sweep()
			stage, short := plan.PKeys(v, rules)
			if len(short) > 0 || stage.Name != "pkeys" {
				e.Errorf("%s: %v", step.text, short)
			}
			if n := e.send(held, stage); n != step.sent*len(v.Nodes) {
				e.Errorf("%s: %d SMPs for %d nodes, want %d for each", step.text, n, len(v.Nodes), step.sent)
			}
			e.checkTables(e.sweep(), v, step.own, step.other)
			if stage, _ := plan.PKeys(e.sweep(), rules); len(stage.SMPs) > 0 {
				e.Errorf("%s: the second time %d SMPs", step.text, len(stage.SMPs))
			}
		}
	})
}

// checkTables wants ports to hold what was planned, and that to be as said, "0"
// for empty entries.
func (e emulated) checkTables(told, planned *subnet.View, own, other string) {
	e.Helper()
	for i, n := range told.Nodes {
		for _, number := range n.Addressed() {
			want := other
			if told.Own.Node == n.ID {
				want = own
			}
			table, plan := n.Ports[number].PKeys, planned.Nodes[i].Ports[number].PKeys
			if diff := cmp.Diff(tableText(plan), tableText(table)); diff != "" || want != "" && tableText(table) != want {
				e.Errorf("%s port %d holds %s, want %s, planned %s", n.Label(), number, tableText(table), want, tableText(plan))
			}
		}
	}
}

func tableText(table []ib.PKey) string {
	var words []string
	for _, k := range table {
		if k == 0 {
			words = append(words, "0")
		} else {
			words = append(words, fmt.Sprintf("%04x", uint16(k)))
		}
	}
	text := strings.Join(words, " ")
	for strings.HasSuffix(text, " 0") {
		text = strings.TrimSuffix(text, " 0")
	}
	return text
}

func TestPKeysDoNotFit(t *testing.T) {
	onEmulator(t, "single:hosts=2", emu.Config{PKeys: 2}, func(e emulated) {
		v := e.sweep()
		stage, short := plan.PKeys(v, plan.PKeyRules{Partitions: partitions(e.T, "A=0x10:ALL_CAS=full;B=0x11:ALL_CAS;")})
		if len(short) != 2 || !strings.HasSuffix(short[0].Error(), "port 1: the P_Key table has 2 entries, no room for [0x0011]") {
			e.Errorf("%v", short)
		}
		e.send(plan.NewHeld(), stage)
		e.checkTables(e.sweep(), v, "ffff 8010", "")
	})
}

func TestManagerInAllPartitions(t *testing.T) {
	onEmulator(t, "single:hosts=2", emu.Config{}, func(e emulated) {
		v := e.sweep()
		rules := plan.PKeyRules{Partitions: partitions(e.T, "A=0x10:ALL;B=0x11:7=full;C=0x12,indx0:SELF;"), ManagerInAll: true}
		stage, _ := plan.PKeys(v, rules)
		e.send(plan.NewHeld(), stage)
		e.checkTables(e.sweep(), v, "8012 8010 8011 ffff", "7fff 0010")
	})
}

// TestPKeysLeavesAlone: a port that did not tell its table is not written, and
// without a configuration the default one holds.
func TestPKeysLeavesAlone(t *testing.T) {
	v := viewOf([]aPort{{1, mad.NodeCA, 1}, {2, mad.NodeRouter, 2}, {3, mad.NodeSwitch, 3}}, true)
	v.Nodes[1].Ports[1].PKeys = []ib.PKey{0}
	stage, short := plan.PKeys(v, plan.PKeyRules{})
	if len(short) > 0 || len(stage.SMPs) != 1 || stage.SMPs[0].Node != v.Nodes[1] || stage.SMPs[0].Attr != mad.AttrPKeyTable {
		t.Fatalf("%+v, %v", stage, short)
	}
	table, err := mad.ParsePKeyTable(stage.SMPs[0].Data[:])
	if err != nil || table != (mad.PKeyTable{ib.DefaultPKey}) {
		t.Errorf("%v, %v", table, err)
	}
}
