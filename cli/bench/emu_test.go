package bench

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"heddle/fabric"
	"heddle/fabric/topology"
	"heddle/internal/peer"

	"github.com/google/go-cmp/cmp"
)

func generate(t *testing.T, spec string) *fabric.Fabric {
	t.Helper()
	f, err := topology.Generate(spec)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestMissingPeer: what is not installed is told with its package, before
// anything runs.
func TestMissingPeer(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	e := Emu{Peer: true, Runs: 1, Program: "no such program"}
	_, err := e.BringUp(t.Context(), "fat-tree:k=4")
	var missing *peer.MissingError
	if !errors.As(err, &missing) || missing.Name != "ibsim" || missing.Package != "ibsim-utils" {
		t.Errorf("BringUp = %v", err)
	}
}

func TestServerThatDoesNotStart(t *testing.T) {
	for _, program := range []string{"no such program", "/bin/false"} {
		e := Emu{Runs: 1, SMPs: 1, Program: program}
		if list, err := e.Throughput(t.Context(), "fat-tree:k=4"); err == nil {
			t.Errorf("%s serves: %v", program, list)
		}
	}
}

func TestFabricsThatCannotBe(t *testing.T) {
	for _, spec := range []string{"nonsense", "ring:n=4,hosts=0"} {
		if _, err := (&Emu{}).stage(t.Context(), spec); err == nil {
			t.Errorf("%s is a stage", spec)
		}
	}
}

// TestDirectedRoutes walks each route: they lead to all nodes, once each, and
// not through adapters.
func TestDirectedRoutes(t *testing.T) {
	for _, spec := range []string{"fat-tree:k=4", "torus:3x3", "single:hosts=2"} {
		f := generate(t, spec)
		from := f.Adapters()[0]
		var reached []fabric.NodeID
		last := 0
		for _, route := range directedRoutes(f, from) {
			if len(route) < last {
				t.Errorf("%s: route %v comes after a longer one", spec, route)
			}
			last = len(route)
			reached = append(reached, walk(t, f, from, route))
		}
		slices.Sort(reached)
		if n := len(slices.Compact(reached)); n != f.NumNodes() || n != len(reached) {
			t.Errorf("%s: %d routes lead to %d of %d nodes", spec, len(reached), n, f.NumNodes())
		}
	}
}

func walk(t *testing.T, f *fabric.Fabric, at fabric.NodeID, route []uint8) fabric.NodeID {
	t.Helper()
	for i, port := range route {
		if i > 0 && f.Node(at).Kind != fabric.Switch {
			t.Fatalf("route %v leads through an adapter", route)
		}
		peer, ok := f.Peer(fabric.End{Node: at, Port: uint16(port)})
		if !ok {
			t.Fatalf("route %v leads nowhere", route)
		}
		at = peer.Node
	}
	return at
}

func TestLimits(t *testing.T) {
	for spec, want := range map[string]string{
		"fat-tree:k=4":  "-N 2048 -S 256 -P 13312",
		"fat-tree:k=16": "-N 2048 -S 320 -P 13312",
		"fat-tree:k=24": "-N 4176 -S 720 -P 24912",
	} {
		if got := strings.Join(limits(generate(t, spec)), " "); got != want {
			t.Errorf("limits of %s are %q, want %q", spec, got, want)
		}
	}
}

func TestUsage(t *testing.T) {
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("this system has no /proc:", err)
	}
	u, err := usageOf(os.Getpid())
	if err != nil || u.peak < 1<<20 || u.cpu < 0 {
		t.Errorf("usageOf this process = %+v, %v", u, err)
	}
	if u, err := usageOf(-1); err == nil {
		t.Errorf("usageOf no process = %+v", u)
	}
}

func TestCPUTicks(t *testing.T) {
	for _, test := range []struct {
		stat string
		want uint64
		ok   bool
	}{
		{"77 (ibsim) S 1 77 77 0 -1 4194304 100 0 0 0 12 30 0 0 20", 42, true},
		{"77 (a ) b) S 1 77 77 0 -1 4194304 100 0 0 0 1 2\n", 3, true},
		{"77 (ibsim) S 1 77 77 0 -1 4194304 100 0 0 0 12", 0, false},
		{"77 (ibsim) S 1 77 77 0 -1 4194304 100 0 0 0 x 30", 0, false},
		{"77 (ibsim) S 1 77 77 0 -1 4194304 100 0 0 0 12 x", 0, false},
		{"", 0, false},
	} {
		if got, err := cpuTicks([]byte(test.stat)); (err == nil) != test.ok || test.ok && got != test.want {
			t.Errorf("cpuTicks(%q) = %d, %v", test.stat, got, err)
		}
	}
}

func TestFigures(t *testing.T) {
	half := metric[float64]{"half", "s", func(x float64) float64 { return x / 2 }}
	s := &stage{spec: "fabric", peerName: "ibsim 0.10", with: []string{"OpenSM 3"}}
	list := figures(s, "a case", [][]float64{{30, 10, 20}, {8, 4}}, []metric[float64]{half})
	list = append(list, figures(s, "no ratio", [][]float64{{1}, {0}}, []metric[float64]{half})...)
	alone := &stage{spec: "fabric"}
	list = append(list, figures(alone, "alone", [][]float64{{2469}}, []metric[float64]{half})...)
	head := []string{"", "unit", "heddle", "ibsim 0.10", "ratio", "runs"}
	want := []Grid{
		{"a case, fabric", head, [][]string{{"half", "s", "10", "3", "3.33", "3"}}, "With OpenSM 3."},
		{"no ratio, fabric", head, [][]string{{"half", "s", "0.5", "0", "-", "1"}}, "With OpenSM 3."},
		{"alone, fabric", []string{"", "unit", "heddle", "runs"}, [][]string{{"half", "s", "1234", "1"}}, ""},
	}
	if diff := cmp.Diff(want, FigureGrids(list)); diff != "" {
		t.Errorf("grids (-want +got):\n%s", diff)
	}
}
