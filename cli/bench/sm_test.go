package bench

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"heddle/fabric"
	"heddle/ib"
	"heddle/internal/peer"
	"heddle/mad"
	"heddle/sm/subnet"

	"github.com/google/go-cmp/cmp"
)

func TestLoads(t *testing.T) {
	for _, test := range []struct {
		load           Load
		adapters       int
		pattern        string
		groups, inEach int
	}{
		{"1000x8", 16, "random:1000x8", 1000, 8},
		{"20x1024", 16, "random:20x16", 20, 16},
		{"rows", 1024, "grid:16x64", 0, 0},
		{"rows", 16, "grid:8x2", 2, 8},
		{"rows", 4, "grid:2x2", 0, 0},
		{"", 16, "", 0, 0},
		{"8", 16, "", 0, 0},
		{"0x8", 16, "", 0, 0},
		{"8x1", 16, "", 0, 0},
		{"ax8", 16, "", 0, 0},
	} {
		text, _, err := test.load.pattern(test.adapters)
		if text != test.pattern || (err == nil) != (text != "") || (test.load.Check() == nil) != (err == nil) {
			t.Errorf("%q on %d adapters is %q, %v", test.load, test.adapters, text, err)
		}
		if test.groups == 0 {
			continue
		}
		groups, err := test.load.generate(generate(t, "fat-tree:k=4"))
		if err != nil || len(groups) != test.groups || len(groups[0].Members) != test.inEach {
			t.Errorf("%q: %d groups, %v", test.load, len(groups), err)
		}
	}
}

// TestRows: a row is under as few switches as can be.
func TestRows(t *testing.T) {
	f := generate(t, "fat-tree:k=4")
	groups, err := Load("rows").generate(f)
	if err != nil {
		t.Fatal(err)
	}
	leaves := map[fabric.NodeID]bool{}
	for _, member := range groups[1].Members {
		leaf, _ := f.Leaf(member)
		leaves[leaf.Node] = true
	}
	if len(leaves) != 4 {
		t.Errorf("a row of 8 is under %d switches of 2 adapters each", len(leaves))
	}
}

func TestLog(t *testing.T) {
	const log = `time=2026-05-04T10:11:12.250Z level=INFO msg="subnet up" nodes=3 asked=70 sent=12 failed=0 again=false
time=2026-05-04T10:11:12.500Z level=INFO msg="groups written" mlids=2 sent=40 failed=0
time=2026-05-04T10:11:13.000Z level=INFO msg="groups written" mlids=1 sent=2
`
	got, err := writes(log)
	at := time.Date(2026, 5, 4, 10, 11, 12, 500e6, time.UTC)
	want := []written{{at, 40}, {at.Add(500 * time.Millisecond), 2}}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("writes = %v, %v", got, err)
	}
	if _, err := writes(`time=now level=INFO msg="groups written" sent=1`); err == nil {
		t.Error("a time that is none is read")
	}
	for key, n := range map[string]int{"asked": 70, "sent": 12, "nodes": 3, "again": 0, "none": 0} {
		if got := logged(strings.SplitAfter(log, "\n")[0], key); got != n {
			t.Errorf("%s is %d, want %d", key, got, n)
		}
	}
}

// TestSpent adds up batches; what is not a time is told.
func TestSpent(t *testing.T) {
	const line = `time=2026-05-04T10:11:12.500Z level=INFO msg="groups written" mlids=2 failed=0 read=7 sent=40 routing=1.5s planning=20ms reading=0s writing=3µs` + "\n"
	got, err := spentOn("other\n" + line + line)
	want := spent{2, 14, 3 * time.Second, 40 * time.Millisecond, 0, 6 * time.Microsecond}
	if err != nil || got != want {
		t.Errorf("spent %+v, %v", got, err)
	}
	if _, err := spentOn(strings.Replace(line, "20ms", "20", 1)); err == nil {
		t.Error("a time that is none is read")
	}
}

// tree is the table of one MLID, by switch ports of a fabric.
func tree(ends ...fabric.End) cells {
	c := cells{}
	for _, e := range ends {
		at := cell{e.Node, mad.MulticastModifier(0, uint8(e.Port/16))}
		masks := c[at]
		masks[2] |= 1 << (e.Port % 16)
		c[at] = masks
	}
	return c
}

// both are the ends of the links between switches, and the switch's end of
// those of members.
func both(f *fabric.Fabric, links []fabric.LinkID, members ...fabric.End) (ends []fabric.End) {
	for _, id := range links {
		ends = append(ends, f.Link(id).A, f.Link(id).B)
	}
	for _, m := range members {
		leaf, _ := f.Leaf(m)
		ends = append(ends, leaf)
	}
	return ends
}

// TestTables looks at trees on a ring of three switches with an adapter each.
func TestTables(t *testing.T) {
	f := generate(t, "ring:n=3")
	members := f.EndPorts()
	members = slices.DeleteFunc(slices.Clone(members), func(e fabric.End) bool { return f.Node(e.Node).Kind == fabric.Switch })
	var ring []fabric.LinkID
	for id := range f.NumLinks() {
		l := f.Link(fabric.LinkID(id))
		if f.Node(l.A.Node).Kind == fabric.Switch && f.Node(l.B.Node).Kind == fabric.Switch {
			ring = append(ring, fabric.LinkID(id))
		}
	}
	const mlid = ib.FirstMLID + 2
	for _, test := range []struct {
		name  string
		table cells
		load  load
		wrong string
	}{
		{"right", tree(both(f, ring[:2], members...)...), load{1, 2}, ""},
		{"loop", tree(both(f, ring, members...)...), load{1, 3}, "twice"},
		{"cut", tree(both(f, ring[:1], members...)...), load{1, 1}, "comes to 2 ports, and 3 are members"},
		{"member missing", tree(both(f, ring[:2], members[:2]...)...), load{1, 2}, "comes to 2 ports, and 3 are members"},
		{"nothing", cells{}, load{}, "comes to 0 ports, and 3 are members"},
	} {
		if got := test.table.load(f, []ib.MLID{mlid, mlid + 1}); got != test.load {
			t.Errorf("%s: load %+v, want %+v", test.name, got, test.load)
		}
		err := test.table.check(f, members, mlid)
		if (err == nil) != (test.wrong == "") || err != nil && !strings.Contains(err.Error(), test.wrong) {
			t.Errorf("%s: %v", test.name, err)
		}
	}
	a, b := tree(both(f, ring[:2])...), tree(both(f, ring[:1])...)
	if got := []int{a.changes(nil), a.changes(a), b.changes(a), a.changes(b)}; !slices.Equal(got, []int{3, 0, 2, 2}) {
		t.Errorf("changes are %v", got)
	}
}

// TestSMPeerIsMissing: what is not installed is told before anything runs.
func TestSMPeerIsMissing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	m := SM{Peer: true, Runs: 1}
	_, err := m.BringUp(t.Context(), "fat-tree:k=4")
	var missing *peer.MissingError
	if !errors.As(err, &missing) || missing.Name != "ibsim" {
		t.Errorf("BringUp = %v", err)
	}
}

func TestManagerThatDoesNotStart(t *testing.T) {
	for _, program := range []string{"no such program", "/bin/false"} {
		m := SM{Runs: 1, Queries: 1, Program: program, Emulated: true}
		if list, err := m.Paths(t.Context(), "fat-tree:k=4"); err == nil {
			t.Errorf("%s manages: %v", program, list)
		}
		if list, err := m.Ready(t.Context(), "fat-tree:k=4", "2x4"); err == nil {
			t.Errorf("%s has groups: %v", program, list)
		}
		if list, err := m.Failover(t.Context(), "fat-tree:k=4", "2x4"); err == nil {
			t.Errorf("%s takes over: %v", program, list)
		}
	}
}

// TestOrder: both orders have each join once.
func TestOrder(t *testing.T) {
	f := generate(t, "ring:n=3")
	member := f.EndPorts()
	groups := []fabric.Group{{Members: member[:1]}, {Members: member[:3]}, {Members: member[1:3]}}
	for together, want := range map[bool][]int{false: {0, 1, 1, 1, 2, 2}, true: {0, 1, 2, 1, 2, 1}} {
		j := joiner{groups: groups, together: together, view: &subnet.View{Fabric: f}}
		all, groupOf := j.order()
		if !slices.Equal(groupOf, want) || len(all) != len(want) {
			t.Errorf("together %v: %d joins of groups %v, want %v", together, len(all), groupOf, want)
		}
	}
}

func TestSMFigures(t *testing.T) {
	f := filling{
		load: load{5, 9}, joins: 2 * time.Second, total: 3 * time.Second, sets: 11, cells: 10, cpu: time.Second / 2,
		client: 4 * time.Second, ground: 6 * time.Second,
	}
	var got []float64
	for _, m := range fillingMetrics() {
		got = append(got, m.value(f))
	}
	if diff := cmp.Diff([]float64{5, 9, 3, 2, 1, 11, 10, 0.5, 4, 6}, got); diff != "" {
		t.Errorf("figures (-want +got):\n%s", diff)
	}
}
