package compare

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"heddle/fabric"
	"heddle/fabric/pattern"
	"heddle/fabric/topology"
	"heddle/route"
	"heddle/route/multicast"

	"github.com/google/go-cmp/cmp"
)

// problemOf puts a pattern on a generated fabric, be it in pieces.
func problemOf(t *testing.T, spec, groups string, order func(*route.Graph) route.Order) *Problem {
	t.Helper()
	parsed, err := topology.Parse(spec)
	if err != nil {
		t.Fatal(err)
	}
	f, _ := parsed.Build()
	list, err := pattern.Generate(f, groups)
	if err != nil {
		t.Fatal(err)
	}
	var o route.Order
	if order != nil {
		o = order(route.NewGraph(f, route.Selection{}))
	}
	network, err := NewNetwork(f, o)
	if err != nil {
		t.Fatal(err)
	}
	return network.Problem(list)
}

func runOf(t *testing.T, name string, effort int) Run {
	t.Helper()
	runs, err := Runs([]string{name}, []int{effort})
	if err != nil {
		t.Fatal(err)
	}
	return runs[0]
}

func TestRuns(t *testing.T) {
	tests := []struct {
		names   []string
		efforts []int
		want    string
		err     string
	}{
		{[]string{"fulb"}, []int{1}, "fulb", ""},
		{[]string{"weave", "minihop"}, []int{2, 3}, "weave/2 weave/3 minihop", ""},
		{[]string{"all"}, []int{1}, "minihop minihop-new sssp sssp-new fulb weave/1", ""},
		{[]string{"sssp-new-heap"}, []int{1}, "sssp-new-heap", ""},
		{[]string{"nonsense"}, []int{1}, "", "no engine"},
		{[]string{"weave"}, []int{4}, "", "no effort 4"},
		{[]string{"weave"}, []int{0}, "", "no effort 0"},
		{[]string{"fulb"}, []int{4}, "fulb", ""},
	}
	for _, test := range tests {
		runs, err := Runs(test.names, test.efforts)
		if (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
			t.Errorf("Runs(%v, %v): error %v, want %q", test.names, test.efforts, err, test.err)
		}
		var labels []string
		for _, r := range runs {
			labels = append(labels, r.Label())
		}
		if got := strings.Join(labels, " "); got != test.want {
			t.Errorf("Runs(%v, %v) = %s, want %s", test.names, test.efforts, got, test.want)
		}
	}
}

func TestRouteEachEngine(t *testing.T) {
	for _, spec := range []string{"fat-tree:k=4", "torus:3x4,e=2", "dragonfly:a=2,p=2,h=1", "single:hosts=9"} {
		p := problemOf(t, spec, "random:20x4", nil)
		for _, e := range multicast.Engines() {
			r := p.Route(Run{Engine: e, Effort: e.Efforts})
			if !r.Valid || r.Error != "" || len(r.Faults) > 0 {
				t.Errorf("%s on %s: %+v", e.Name, spec, r.Row)
			}
			if r.Groups != 20 || r.Members != 80 || r.LowerBound > r.MaxEFI || r.MaxEFI != r.State.Top() || r.PeakBytes < 1<<20 {
				t.Errorf("%s on %s: %+v", e.Name, spec, r.Row)
			}
			if r.TotalMs < r.RootMs || r.Cyclic != r.Cycle.Cyclic() {
				t.Errorf("%s on %s: %+v", e.Name, spec, r.Row)
			}
		}
	}
}

func TestWatchIsToldOfGroups(t *testing.T) {
	p := problemOf(t, "torus:4x4", "random:640x3", nil)
	run, seen := runOf(t, "fulb", 1), 0
	run.Watch = func(n int) { seen += n }
	p.Route(run)
	if seen != 640 {
		t.Errorf("told of %d groups, want 640", seen)
	}
}

func TestEngineThatFails(t *testing.T) {
	ranks := func(g *route.Graph) route.Order {
		o, ok := route.Ranks(g)
		if !ok {
			t.Fatal("no ranks")
		}
		return o
	}
	p := problemOf(t, "fat-tree:k=4,lost=0.2,seed=2", "grid:4x4", ranks)
	r := p.Route(runOf(t, "fulb", 1))
	if !strings.Contains(r.Error, "no switch leads down to all members") || r.Valid || r.MaxEFI != 0 || r.Groups != 8 {
		t.Errorf("row %+v", r.Row)
	}
	if _, err := p.Lay(runOf(t, "fulb", 1)); err == nil {
		t.Error("Lay did not fail")
	}
}

func TestCutOffIsNamed(t *testing.T) {
	p := problemOf(t, "fat-tree:k=4,lost=0.3,seed=1", "grid:4x4", nil)
	cut := p.CutOff()
	if len(cut) != 4 || !strings.HasPrefix(cut[0].String(), "host-10 (0x02000002000000a0) port 1 of dim0-row2: no path") {
		t.Errorf("cut off: %v", cut)
	}
	p = problemOf(t, "ring:n=3,mcap=0", "random:1x2", nil)
	p.Demand = route.NewDemand(p.Graph, []fabric.Group{{Members: p.Demand.Group(0).Members}})
	if got := p.CutOff()[0].Group; got != "group 0" {
		t.Errorf("a group without a name is called %q", got)
	}
}

func TestHighWater(t *testing.T) {
	tests := []struct {
		text string
		want int64
		ok   bool
	}{
		{"Name:\theddle\nVmPeak:\t  99 kB\nVmHWM:\t    1234 kB\nVmRSS:\t 7 kB\n", 1234, true},
		{"VmHWM:\tmuch\n", 0, false},
		{"VmRSS:\t 7 kB\n", 0, false},
		{"", 0, false},
	}
	path := filepath.Join(t.TempDir(), "status")
	for _, test := range tests {
		if err := os.WriteFile(path, []byte(test.text), 0o666); err != nil {
			t.Fatal(err)
		}
		if got, err := HighWater(path); (err == nil) != test.ok || test.ok && got != test.want {
			t.Errorf("HighWater of %q = %d, %v", test.text, got, err)
		}
	}
	if _, err := HighWater(path + ".no"); err == nil {
		t.Error("no error without a file")
	}
}

func TestWriteTable(t *testing.T) {
	rows := []Row{
		{Engine: "fulb", MaxEFI: 12, AvgEFI: 2.588, LowerBound: 3, Links: 30342, MaxHeight: 3, Timing: Timing{2, 6.55, 8.55}, Valid: true},
		{Engine: "weave", Effort: 2, Error: "no way", LowerBound: 3},
	}
	const want = `  engine  max EFI  mean EFI  bound  links  height  roots ms  build ms  total ms  valid  cyclic
    fulb       12     2.588      3  30342       3       2.0       6.5       8.6    yes      no
 weave/2   failed         -      3      -       -         -         -         -     no       -
`
	var b strings.Builder
	if err := WriteTable(&b, rows); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Fields(want), strings.Fields(b.String())); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
}

// firstUsed is the loss of the first link that a tree uses.
func firstUsed(s *route.State) Loss {
	for e, n := range s.Load() {
		if n > 0 {
			a, _ := s.Graph.Ends(int32(e))
			end := fabric.End{Node: s.Graph.Node(a), Port: s.Graph.PortOf(a, int32(e))}
			return Loss{Links: []fabric.LinkID{s.Graph.Fabric().Port(end).Link}}
		}
	}
	return Loss{}
}

func TestReroute(t *testing.T) {
	for _, spec := range []string{"fat-tree:k=4", "torus:4x4", "dragonfly:a=4,p=2,h=2"} {
		p := problemOf(t, spec, "random:30x4", nil)
		used := int32(0)
		all, again, err := p.Reroute(runOf(t, "weave", 1), func(s *route.State) Loss {
			loss := firstUsed(s)
			used = s.Load()[s.Graph.Edge(loss.Links[0])]
			return loss
		})
		if err != nil {
			t.Errorf("%s: %v", spec, err)
		}
		if again.Lost != int(used) || again.Lost == 0 || again.MaxBefore == 0 || again.MaxAfter == 0 || all.TotalMs == 0 {
			t.Errorf("%s: %d trees used the link: %+v", spec, used, again)
		}
	}
}

func TestRerouteWithoutLoss(t *testing.T) {
	p := problemOf(t, "torus:4x4", "random:30x4", nil)
	_, _, err := p.Reroute(runOf(t, "fulb", 1), func(*route.State) Loss { return Loss{} })
	if !errors.Is(err, ErrNoLoss) {
		t.Errorf("error %v, want %v", err, ErrNoLoss)
	}
}

func TestJudge(t *testing.T) {
	p := problemOf(t, "torus:4x4", "random:30x4", nil)
	s := p.Route(runOf(t, "fulb", 1)).State
	before := trees(s, p.Demand)
	if err := judge(s, p.Demand, before, nil); err != nil {
		t.Errorf("nothing changed: %v", err)
	}
	before[3] = append([]int32{99}, before[3]...)
	if err := judge(s, p.Demand, before, []int{3}); err != nil {
		t.Errorf("a lost tree changed: %v", err)
	}
	if err := judge(s, p.Demand, before, nil); err == nil || !strings.Contains(err.Error(), "group 3") {
		t.Errorf("another tree changed: %v", err)
	}
	s.Take(5)
	if err := judge(s, p.Demand, before, []int{3, 5}); err == nil || !strings.Contains(err.Error(), "after rerouting") {
		t.Errorf("a tree is missing: %v", err)
	}
}
