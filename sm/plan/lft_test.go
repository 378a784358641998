package plan_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/emu"
	"heddle/ib"
	"heddle/mad"
	"heddle/route"
	"heddle/route/unicast"
	"heddle/sm/plan"
	"heddle/sm/subnet"
)

// routed is the tables that min-hop routing makes for a view.
func (e emulated) routed(v *subnet.View) *route.LFTs {
	e.Helper()
	g := route.NewGraph(v.Fabric, route.Selection{})
	h, err := route.NewHops(g, 1)
	if err != nil {
		e.Fatal(err)
	}
	lids, err := route.LIDsOf(v.Fabric)
	if err != nil {
		e.Fatal(err)
	}
	engine, err := unicast.Lookup("minhop")
	if err != nil {
		e.Fatal(err)
	}
	tables, err := engine.Route(g, h, lids, unicast.Options{Workers: 1})
	if err != nil {
		e.Fatal(err)
	}
	return tables
}

// counts are how many SMPs the stages have.
func counts(stages []plan.Stage) string {
	var text strings.Builder
	for _, s := range stages {
		fmt.Fprintf(&text, "%s %d, ", s.Name, len(s.SMPs))
	}
	return text.String()
}

// TestUnicast writes tables; then nothing, and only what changed. What the
// switches hold is asked of them.
func TestUnicast(t *testing.T) {
	onEmulator(t, "fat-tree:k=4", emu.Config{}, func(e emulated) { // 20 switches, 36 LIDs
		held := plan.NewHeld()
		v := e.address(held, plan.DefaultPortRules())
		tables := e.routed(v)
		step := func(name, want string) {
			e.Helper()
			stages := plan.Unicast(v, tables, held)
			if list := plan.Unread(v, tables, held); name == "new" && len(list) > 0 {
				e.Errorf("%d blocks to be read of switches that forward nothing", len(list))
			}
			if got := counts(stages); got != want {
				e.Errorf("%s: %s, want %s", name, got, want)
			}
			e.send(held, stages...)
			e.checkLFTs(v, tables, held)
			v = e.sweep()
		}
		step("new", "lft-top 20, lft 20, ")
		step("again", "lft-top 0, lft 0, ")
		tables.Tables[3][5] = mad.NoPort
		step("one entry", "lft-top 0, lft 1, ")
		held.Forget(v.Nodes[tables.Graph.Node(7)].GUID())
		step("one switch was gone", "lft-top 0, lft 1, ")
		held = plan.NewHeld()
		v.Nodes[tables.Graph.Node(5)].Stale = 1
		if list := plan.Unread(v, tables, held); len(list) != 19 || list[0].Attr != mad.AttrLinearForwarding {
			e.Errorf("%d blocks to be read, want one of each switch that answers", len(list))
		}
		step("nothing is known", "lft-top 0, lft 20, ")
	})
}

// TestUnicastOfLongTables: a LID beyond the first block, with which the tops
// change, and blocks of which one changes.
func TestUnicastOfLongTables(t *testing.T) {
	onEmulator(t, "single:hosts=4", emu.Config{}, func(e emulated) {
		held := plan.NewHeld()
		v := e.address(held, plan.DefaultPortRules())
		e.send(held, plan.Unicast(v, e.routed(v), held)...)
		v = e.sweep()
		lids, err := plan.AssignLIDs(v, plan.LIDRules{Reassign: true, Keep: map[ib.GUID]plan.LIDRange{v.Nodes[4].Ports[1].GUID: {First: 200, Last: 200}}})
		if err != nil {
			e.Fatal(err)
		}
		e.send(held, plan.Addresses(v, lids, plan.DefaultPortRules()))
		v.Rebuild()
		tables := e.routed(v)
		stages := plan.Unicast(v, tables, held)
		if got, want := counts(stages), "lft-top 1, lft 4, "; got != want {
			e.Errorf("%s, want %s", got, want)
		}
		e.send(held, stages...)
		e.checkLFTs(v, tables, held)
		tables.Tables[0][200] = mad.NoPort
		stages = plan.Unicast(e.sweep(), tables, held)
		if got, want := counts(stages), "lft-top 0, lft 1, "; got != want || stages[1].SMPs[0].Modifier != 3 {
			e.Errorf("%s, want %s, of block 3", got, want)
		}
	})
}

// checkLFTs reads the tables of all switches and their tops.
func (e emulated) checkLFTs(v *subnet.View, tables *route.LFTs, held *plan.Held) {
	e.Helper()
	for vertex, want := range tables.Tables {
		n := v.Nodes[tables.Graph.Node(int32(vertex))]
		var got []uint8
		for block := range (len(want) + 63) / 64 {
			part, err := mad.ParseLinearForwarding(e.get(n, mad.AttrLinearForwarding, uint32(block)))
			if err != nil {
				e.Fatal(err)
			}
			if *held.Switch(n.GUID()).LFT[block] != part {
				e.Errorf("%s: block %d is not known as it is", n.Label(), block)
			}
			got = append(got, part[:]...)
		}
		if diff := cmp.Diff([]uint8(want), got[:len(want)]); diff != "" {
			e.Errorf("%s (-want +got):\n%s", n.Label(), diff)
		}
		info, err := mad.ParseSwitchInfo(e.get(n, mad.AttrSwitchInfo, 0))
		if err != nil || info.LinearFDBTop != uint16(len(want)-1) {
			e.Errorf("%s: top %d, want %d, %v", n.Label(), info.LinearFDBTop, len(want)-1, err)
		}
	}
}

// get reads an attribute.
func (e emulated) get(n *subnet.Node, attr mad.AttrID, modifier uint32) (data []byte) {
	e.Helper()
	asked := false
	take := func() (bool, bool) { first := !asked; asked = true; return true, first }
	request := func(bool) subnet.Request {
		return subnet.Request{Node: n, Path: n.Path, Method: mad.MethodGet, Attr: attr, Modifier: modifier}
	}
	_, err := subnet.Exchange(e.Context(), e.port, subnet.Options{}, take, request, func(_ bool, d *mad.Datagram, err error) error {
		if err == nil {
			data = append(data, d.Data()...)
		}
		return err
	})
	if err != nil {
		e.Fatal(err)
	}
	return data
}
