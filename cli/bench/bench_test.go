package bench

import (
	"errors"
	"strings"
	"testing"

	"heddle/cli/compare"
	"heddle/fabric/pattern"
	"heddle/fabric/topology"
	"heddle/route"

	"github.com/google/go-cmp/cmp"
)

func TestCasesAreInOrderAndCanBeRead(t *testing.T) {
	for i, c := range append(Table(), Large()...) {
		if c.Row != i+1 {
			t.Errorf("case %d is row %d", i, c.Row)
		}
		if _, err := topology.Parse(c.Fabric); err != nil {
			t.Error(err)
		}
		if _, err := pattern.Parse(c.Pattern); err != nil {
			t.Error(err)
		}
	}
	for _, n := range append(SpeedRows(), RerouteRows()...) {
		if n < 1 || n > len(Table()) {
			t.Errorf("no row %d", n)
		}
	}
}

func TestTarget(t *testing.T) {
	p := Published{1, false, 2, 3, 4, 5, 6, 7, 8}
	for _, test := range []struct {
		engine string
		effort int
		want   int
	}{
		{"minihop", 0, 0},
		{"minihop-new", 0, 2},
		{"sssp", 0, 0},
		{"sssp-new", 0, 3},
		{"fulb", 0, 4},
		{"weave", 1, 6},
		{"weave", 2, 7},
		{"weave", 3, 8},
	} {
		if got := p.Target(test.engine, test.effort); got != test.want {
			t.Errorf("Target(%s, %d) = %d, want %d", test.engine, test.effort, got, test.want)
		}
	}
}

func TestGrid(t *testing.T) {
	g := Grid{Title: "Title", Head: []string{"row", "name"}, Rows: [][]string{{"1", "a"}, {"22", "long"}}, Note: "A note."}
	const text = "Title\nrow  name\n1    a\n22   long\nA note.\n\n"
	const markdown = "## Title\n\n| row | name |\n| --- | --- |\n| 1 | a |\n| 22 | long |\n\nA note.\n\n"
	var b strings.Builder
	if err := g.Text(&b); err != nil || b.String() != text {
		t.Errorf("text %q, %v", b.String(), err)
	}
	b.Reset()
	if err := g.Markdown(&b); err != nil || b.String() != markdown {
		t.Errorf("markdown %q, %v", b.String(), err)
	}
}

// small are cases that take no time.
func small() []Case {
	return []Case{
		{1, "fat-tree:k=4", "grid:4x4,order=oblivious", Published{2, false, 3, 3, 3, 4, 5, 6, 7}},
		{2, "fat-tree:k=4", "random:9x3", Published{2, true, 0, 0, 8, 4, 0, 0, 0}},
		{3, "torus:4x4", "random:30x3", Published{}},
	}
}

func runs(t *testing.T, efforts []int, names ...string) []compare.Run {
	t.Helper()
	list, err := compare.Runs(names, efforts)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestQuality(t *testing.T) {
	var seen []string
	var entries []Entry
	b := Bench{
		Watch: func(s string) { seen = append(seen, s) },
		Peak:  func(c Case, _ compare.Run) (int64, error) { return int64(c.Row) * 1e6, nil },
	}
	err := b.Quality(small(), runs(t, []int{1, 2}, "fulb", "weave"), func(e Entry) error {
		entries = append(entries, e)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		if !e.Valid || e.PeakBytes != int64(e.Number)*1e6 {
			t.Errorf("%+v", e)
		}
		got = append(got, e.Fabric+" "+e.Pattern+" "+e.Label())
	}
	want := []string{
		"fat-tree:k=4 grid:4x4,order=oblivious fulb", "fat-tree:k=4 grid:4x4,order=oblivious weave/1", "fat-tree:k=4 grid:4x4,order=oblivious weave/2",
		"fat-tree:k=4 random:9x3 fulb", "fat-tree:k=4 random:9x3 weave/1", "fat-tree:k=4 random:9x3 weave/2",
		"torus:4x4 random:30x3 fulb", "torus:4x4 random:30x3 weave/1", "torus:4x4 random:30x3 weave/2",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
	if len(seen) != 11 || seen[0] != "fat-tree:k=4" || seen[1] != "row 1 fulb" || seen[7] != "torus:4x4" {
		t.Errorf("watched %q", seen)
	}
	checkGrids(t, entries)
}

func checkGrids(t *testing.T, entries []Entry) {
	t.Helper()
	grids := QualityGrids(entries)
	for _, g := range grids {
		if len(g.Rows) != 3 {
			t.Errorf("%s has %d rows", g.Title, len(g.Rows))
		}
		for _, row := range g.Rows {
			if len(row) != len(g.Head) {
				t.Errorf("%s: row %q under %q", g.Title, row, g.Head)
			}
		}
	}
	maximum := grids[0]
	if diff := cmp.Diff([]string{"row", "fabric", "pattern", "bound", "fulb", "weave/1", "weave/2", "join"}, maximum.Head); diff != "" {
		t.Errorf("head (-want +got):\n%s", diff)
	}
	if got := maximum.Rows[0][3] + " " + maximum.Rows[0][4] + " " + maximum.Rows[0][7]; got != "2 (2) 3 (3) 4" {
		t.Errorf("row 1: %s", got)
	}
	if got := maximum.Rows[1][3]; !strings.HasSuffix(got, " (~2)") {
		t.Errorf("an estimate is shown as %q", got)
	}
	if got := maximum.Rows[2][4]; strings.Contains(got, "(") {
		t.Errorf("without a published figure %q is shown", got)
	}
	if QualityGrids(nil) != nil {
		t.Error("tables of nothing")
	}
}

func TestQualityFails(t *testing.T) {
	stop := errors.New("stop")
	all := runs(t, []int{1}, "fulb")
	tell := func(Entry) error { return nil }
	for name, got := range map[string]error{
		"fabric":  (&Bench{}).Quality([]Case{{Fabric: "ring:n=x"}}, all, tell),
		"pattern": (&Bench{}).Quality([]Case{{Fabric: "ring:n=4", Pattern: "grid:9"}}, all, tell),
		"peak":    (&Bench{Peak: func(Case, compare.Run) (int64, error) { return 0, stop }}).Quality(small(), all, tell),
		"tell":    (&Bench{}).Quality(small(), all, func(Entry) error { return stop }),
	} {
		if got == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestSpeed(t *testing.T) {
	var list []Speed
	tell := func(s Speed) error { list = append(list, s); return nil }
	if err := (&Bench{}).Speed(small()[:1], runs(t, []int{1}, "fulb", "weave"), 3, tell); err != nil {
		t.Fatal(err)
	}
	if err := (&Bench{PeerBudget: 1}).Speed(small()[:1], runs(t, []int{1}, "fulb"), 3, tell); err != nil {
		t.Fatal(err)
	}
	for i, peerRuns := range []int{3, 3, 1} {
		s := list[i]
		if s.Runs != 3 || s.PeerRuns != peerRuns || s.Ours <= 0 || s.Peer <= 0 || s.Ratio != s.Ours/s.Peer || s.Faster != s.Peer/s.Ours {
			t.Errorf("%+v", s)
		}
	}
	if g := SpeedGrid(list); len(g.Rows) != 3 || len(g.Rows[0]) != len(g.Head) {
		t.Errorf("%+v", g)
	}
}

func TestMedian(t *testing.T) {
	self := func(x float64) float64 { return x }
	for _, test := range []struct {
		list []float64
		want float64
	}{{[]float64{5}, 5}, {[]float64{9, 1, 5}, 5}, {[]float64{4, 1, 2, 9}, 3}} {
		if got := median(test.list, self); got != test.want {
			t.Errorf("median(%v) = %v, want %v", test.list, got, test.want)
		}
	}
}

func TestReroute(t *testing.T) {
	var list []Reroute
	tell := func(r Reroute) error { list = append(list, r); return nil }
	if err := (&Bench{}).Reroute(small(), runs(t, []int{1}, "weave"), 2, tell); err != nil {
		t.Fatal(err)
	}
	if len(list) != 5 { // a torus has no switch without hosts
		t.Fatalf("%d results, want 5", len(list))
	}
	for _, r := range list {
		if r.Lost < 1 || r.Lost > r.Groups || r.Ours <= 0 || r.Peer <= 0 || r.Ratio != r.Ours/r.Peer || r.Ours != r.TotalMs {
			t.Errorf("%+v", r)
		}
	}
	if g := RerouteGrid(list); len(g.Rows) != 5 || len(g.Rows[0]) != len(g.Head) {
		t.Errorf("%+v", g)
	}
}

func TestLossesAreTheLargest(t *testing.T) {
	f, err := topology.Generate("fat-tree:k=4")
	if err != nil {
		t.Fatal(err)
	}
	g := route.NewGraph(f, route.Selection{})
	h, err := route.NewHops(g, 1)
	if err != nil {
		t.Fatal(err)
	}
	s := route.NewState(g, h)
	s.Put(0, route.Tree{Root: g.Up(0)[1].To, Edges: []int32{g.Up(0)[1].Edge}})
	link := losses()[0].find(s).Links[0]
	if got := g.Edge(link); got != g.Up(0)[1].Edge {
		t.Errorf("the most loaded link is edge %d, want %d", got, g.Up(0)[1].Edge)
	}
	if got := losses()[1].find(s).Nodes[0]; got != g.Node(g.Up(0)[1].To) {
		t.Errorf("the most used switch is node %d, want %d", got, g.Node(g.Up(0)[1].To))
	}
}
