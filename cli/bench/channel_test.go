package bench

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"heddle/channel"
	"heddle/channel/measure"
	"heddle/cli/perf"
	"heddle/internal/peer"
	"heddle/verbs"
	"heddle/verbs/sim"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestCorrelation(t *testing.T) {
	for _, test := range []struct {
		x, y       []float64
		line, rank float64
	}{
		{[]float64{1, 2, 3}, []float64{10, 20, 30}, 1, 1},
		{[]float64{1, 2, 3}, []float64{3, 2, 1}, -1, -1},
		{[]float64{1, 2, 3, 4}, []float64{1, 2, 3, 1000}, 0.7756, 1},
		{[]float64{1, 1, 2, 2}, []float64{1, 2, 1, 2}, 0, 0},
		{[]float64{1, 1, 1}, []float64{1, 2, 3}, 0, 0},
		{[]float64{1, 2}, []float64{5, 5}, 0, 0},
	} {
		line, rank := correlation(test.x, test.y), rankCorrelation(test.x, test.y)
		if math.Abs(line-test.line) > 1e-4 || math.Abs(rank-test.rank) > 1e-4 {
			t.Errorf("%v and %v: %v and %v, want %v and %v", test.x, test.y, line, rank, test.line, test.rank)
		}
	}
	if got, want := ranks([]float64{7, 5, 7, 9}), []float64{2.5, 1, 2.5, 4}; !slices.Equal(got, want) {
		t.Errorf("ranks %v, want %v", got, want)
	}
}

// TestCorrelationIsOfShape: no scale and no order of the pairs changes it, and it
// is between -1 and 1.
func TestCorrelationIsOfShape(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.Map(rapid.IntRange(-1000, 1000), func(n int) float64 { return float64(n) })
		x := rapid.SliceOfN(number, 2, 30).Draw(t, "x")
		y := rapid.SliceOfN(number, len(x), len(x)).Draw(t, "y")
		c := correlation(x, y)
		if math.Abs(c) > 1+1e-9 || math.Abs(rankCorrelation(x, y)) > 1+1e-9 {
			t.Fatalf("%v", c)
		}
		scaled := make([]float64, len(x))
		for i := range x {
			scaled[i] = 3*x[i] + 7
		}
		slices.Reverse(scaled)
		slices.Reverse(y)
		if got := correlation(scaled, y); math.Abs(got-c) > 1e-6 {
			t.Fatalf("%v after scaling, %v before", got, c)
		}
	})
}

func TestPivot(t *testing.T) {
	f := func(kind string, size int, ours float64) ChannelFigure {
		return ChannelFigure{Figure: Figure{Ours: ours}, Channel: kind, Size: size}
	}
	got := pivot("T", "kind", []ChannelFigure{f("a", 8, 1), f("b", 1024, 2.5), f("a", 2<<20, 3), f("b", 8, 4)}, byChannel, bySize)
	want := Grid{Title: "T", Head: []string{"kind", "8 B", "1 KiB", "2 MiB"}, Rows: [][]string{{"a", "1", "-", "3"}, {"b", "4", "2.5", "-"}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func trialOf(via string, test perf.Test, size int, values ...float64) *channelTrial {
	return &channelTrial{spec: perf.ChannelSpec{Via: via, Test: test, Size: size}, values: values}
}

func TestBars(t *testing.T) {
	for _, test := range []struct {
		test      perf.Test
		size      int
		ours, ucx float64
		bar       float64 // 0 for none
		holds     bool
	}{
		{perf.Latency, 8, 0.9, 1, 0.9, true},
		{perf.Latency, 8, 0.91, 1, 0.9, false},
		{perf.Latency, 64, 1, 1, 1, true},
		{perf.Latency, 4096, 1.1, 1, 1, false},
		{perf.Latency, 16384, 5, 1, 0, false},
		{perf.Latency, 65536, 0.79, 1, 0.8, true},
		{perf.Stream, 64, 1.2, 1, 1.2, true},
		{perf.Stream, 8, 1.1, 1, 1.2, false},
		{perf.Stream, 65536, 1.1, 1, 1, true},
	} {
		c := contest{
			test: test.test, size: test.size, ours: []*channelTrial{trialOf("send", test.test, test.size, test.ours)},
			ucx: []*channelTrial{trialOf("", test.test, test.size, test.ucx)}, unix: trialOf("unix", test.test, test.size, 9),
			to: trialOf("tcp", test.test, test.size, 10),
		}
		list := c.figures("UCX")
		f := list[0]
		if (f.Bar == nil) != (test.bar == 0) || f.Bar != nil && (*f.Bar != test.bar || *f.Holds != test.holds) {
			t.Errorf("%s of %d: %+v", test.test, test.size, f)
		}
		if len(list) != 3 || list[1].PeerName != "Unix socket" || *list[2].Peer != 10 || f.Channel != "send" {
			t.Errorf("%+v", list)
		}
	}
}

// TestFinalists are the best of the heats, and the better peer counts.
func TestFinalists(t *testing.T) {
	for test, want := range map[perf.Test][]string{perf.Latency: {"a", "d", "b"}, perf.Stream: {"c", "b", "d"}} {
		c := contest{test: test, unix: trialOf("unix", test, 8), to: trialOf("tcp", test, 8), heats: []*channelTrial{
			trialOf("a", test, 8, 1), trialOf("b", test, 8, 3), trialOf("c", test, 8, 4), trialOf("d", test, 8, 2),
		}}
		var got []string
		for _, t := range c.all(time.Second)[:3] {
			got = append(got, t.spec.Via)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", test, got, want)
		}
	}
	list := []*channelTrial{trialOf("x", perf.Latency, 8, 3), trialOf("y", perf.Latency, 8, 1, 2, 9), trialOf("z", perf.Latency, 8, 4)}
	if got := best(list); got != list[1] {
		t.Errorf("%v is the best", got)
	}
	for size, least := range map[int]int{8: 100_000, 65536: 1000} {
		if n := ucxIters(perf.Latency, size, 20*time.Millisecond); n < least || n > 2*least+30_000 {
			t.Errorf("%d messages of %d bytes", n, size)
		}
	}
}

func TestNotes(t *testing.T) {
	f := func(kind string, size, ends int, ours float64, unit string) ChannelFigure {
		return ChannelFigure{Figure: Figure{Ours: ours, Unit: unit}, Channel: kind, Size: size, Ends: ends}
	}
	list := []ChannelFigure{f("ring-zero", 8, 0, 2, "us"), f("ring-bell", 8, 0, 1, "us"), f("ring-flag", 8, 0, 4, "us")}
	if got, want := ringNote(list), "ring-bell to the best other ring: 0.50 at 8 B (ring-zero)."; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	for i := range list {
		list[i].Unit = "M/s"
	}
	if got, want := ringNote(list), "ring-bell to the best other ring: 0.25 at 8 B (ring-flag)."; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := ringNote(list[1:2]); got != "" {
		t.Errorf("%q of one ring", got)
	}
	crowd := []ChannelFigure{f("a", 8, 1, 4, ""), f("a", 8, 64, 2, ""), f("b", 8, 1, 1, ""), f("b", 8, 64, 3, "")}
	if got, want := crowdNote(crowd, "senders"), "The rate of 64 senders to that of 1: a 0.50, b 3.00."; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := crowdNote(crowd[:1], "senders"); got != "" {
		t.Errorf("%q of one number", got)
	}
}

func TestMetricsCountRequestsOfBatches(t *testing.T) {
	var m metrics
	m.add("a", &measure.Row{HRT: 1, Send: 1}, 0.1, 10)
	m.add("b", &measure.Row{HRT: 4, Recv: 2, Batch: 4, RoomRecv: 0.25}, 0.4, 2)
	if !slices.Equal(m.requests, []float64{1, 0.5}) || !slices.Equal(m.all, []float64{1, 0.75}) || !slices.Equal(m.time, []float64{0.1, 0.5}) {
		t.Errorf("%+v", m)
	}
	if got := m.note(); !strings.HasPrefix(got, "Correlation over 2 kinds (and that of ranks): HRT and latency 1.00 (1.00), requests") {
		t.Errorf("%q", got)
	}
}

// TestMeasureAlone measures a simulated device in this process, all that is asked.
func TestMeasureAlone(t *testing.T) {
	n, err := sim.New(sim.Config{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	d, err := n.Add("ib")
	if err != nil {
		t.Fatal(err)
	}
	names, asks := QuestionNames()
	var seen []string
	c := Channel{
		Questions: names, Runs: 2, Time: time.Microsecond, Sizes: []int{64}, Ends: []int{1, 2}, Kinds: []string{"ring-bell", "cast-bell"},
		Watch: func(what string) { seen = append(seen, what) },
	}
	answers, err := c.Measure(t.Context(), VerbsDevice{Device: d, Provider: "sim", Alone: true})
	if err != nil {
		t.Fatal(err)
	}
	if len(answers) != len(names) || len(asks) != len(names) {
		t.Fatalf("%d answers to %d questions", len(answers), len(names))
	}
	for i, a := range answers {
		if a.Question != names[i] || len(a.Figures) == 0 || len(a.Grids) == 0 {
			t.Errorf("%s: %+v", names[i], a)
		}
		for _, f := range a.Figures {
			if f.Question != a.Question || f.Device != "sim/ib" || f.Runs < 1 || f.Case == "" || math.IsNaN(f.Ours) {
				t.Errorf("%+v", f)
			}
		}
		for _, g := range a.Grids {
			for _, row := range g.Rows {
				if len(row) != len(g.Head) {
					t.Errorf("%s: row %q under %q", g.Title, row, g.Head)
				}
			}
		}
	}
	if !slices.Contains(seen, "sim/ib: latency of ring-bell, 64 B, run 1 of 2") {
		t.Errorf("watched %q", seen)
	}
	var b strings.Builder
	if err := WriteCSV(&b, answers); err != nil || strings.Count(b.String(), "\n") < 20 {
		t.Errorf("%v: %s", err, b.String())
	}
}

// TestQuestionsAreOfKinds: each question has kinds, which are there.
func TestQuestionsAreOfKinds(t *testing.T) {
	c := &Channel{}
	for name, of := range map[string]func(*channel.Kind) bool{
		"zero-copy": ofEachSort, "rings": isRing, "senders": forSenders, "readers": forReaders, "metrics": all,
	} {
		if got := len(c.kinds(of)); got < 4 {
			t.Errorf("%s: %d kinds", name, got)
		}
	}
}

func TestMeasureFails(t *testing.T) {
	n, err := sim.New(sim.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	d, err := n.Add("ib")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c := Channel{Questions: []string{"rings"}, Runs: 1, Time: time.Microsecond}
	if _, err := c.Measure(ctx, VerbsDevice{Device: d, Provider: "sim", Alone: true}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if got := lacksMemory(&verbs.Caps{DeviceMemory: true}); got != "has no FETCH_AND_ADD" {
		t.Errorf("%q", got)
	}
	if got := (&channelTrial{ucx: peer.UCXRun{Test: "tag_lat", Size: 8}}).String(); got != "tag_lat, 8 B" {
		t.Errorf("%q", got)
	}
}
