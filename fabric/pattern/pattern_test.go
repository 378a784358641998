package pattern

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/fabric"
	"heddle/fabric/topology"
	"heddle/ib"
)

func generateFabric(t testing.TB, text string) *fabric.Fabric {
	t.Helper()
	f, err := topology.Generate(text)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// show lists groups as "name: members", with "2" for host-2.
func show(f *fabric.Fabric, groups []fabric.Group) []string {
	var lines []string
	for _, g := range groups {
		var members []string
		for _, e := range g.Members {
			members = append(members, strings.TrimPrefix(f.Node(e.Node).Name, "host-"))
		}
		lines = append(lines, g.Name+": "+strings.Join(members, " "))
	}
	return lines
}

func TestPatterns(t *testing.T) {
	placement := writeFile(t, "host-3\nhost-0\n\n# two idle\nhost-3:1\n")
	for _, test := range []struct {
		text string
		want []string
	}{
		{"grid:3x2", []string{
			"dim0-row0: 0 1 2", "dim0-row1: 3 4 5",
			"dim1-row0: 0 3", "dim1-row1: 1 4", "dim1-row2: 2 5",
		}},
		{"grid:2x1x2x2", []string{
			"dim0-row0: 0 1", "dim0-row1: 2 3", "dim0-row2: 4 5", "dim0-row3: 6 7",
			"dim2-row0: 0 2", "dim2-row1: 1 3", "dim2-row2: 4 6", "dim2-row3: 5 7",
			"dim3-row0: 0 4", "dim3-row1: 1 5", "dim3-row2: 2 6", "dim3-row3: 3 7",
		}},
		{"grid:1", nil},
		{"grid:1x1x2", []string{"dim2-row0: 0 1"}},
		{"grid:3x2,procs=2", []string{ // ranks 0 1 on end node 0, and so on
			"dim0-row0: 0 1", "dim0-row1: 1 2",
			"dim1-row0: 0 1", "dim1-row1: 0 2", "dim1-row2: 1 2",
		}},
		{"grid:4x2,procs=4", []string{
			"dim0-row0: 0", "dim0-row1: 1",
			"dim1-row0: 0 1", "dim1-row1: 0 1", "dim1-row2: 0 1", "dim1-row3: 0 1",
		}},
		{"grid:8,order=oblivious", []string{"dim0-row0: 5 0 7 1 2 3 6 4"}},
		{"grid:8,order=oblivious,seed=2", []string{"dim0-row0: 6 4 3 2 5 0 7 1"}},
		{"grid:16,procs=2,order=oblivious", []string{"dim0-row0: 3 5 4 2 1 6 0 7"}},
		{"grid:3,placement=" + placement, []string{"dim0-row0: 3 0"}},
		{"grid:2x3,procs=2,placement=" + placement, []string{
			"dim0-row0: 3", "dim0-row1: 0", "dim0-row2: 3",
			"dim1-row0: 3 0", "dim1-row1: 3 0",
		}},
		{"random:3x4", []string{"random-0: 0 1 2 3", "random-1: 4 5 0 3", "random-2: 2 6 5 7"}},
		{"random:1x4,seed=4", []string{"random-0: 5 4 7 1"}},
		{"random:1x2,placement=" + placement, []string{"random-0: 3 0"}},
		{"hierarchy:3", []string{
			"level0-0: 0 1 2", "level0-1: 3 4 5", "level0-2: 6 7", "level1-0: 0 3 6",
		}},
		{"hierarchy:2", []string{
			"level0-0: 0 1", "level0-1: 2 3", "level0-2: 4 5", "level0-3: 6 7",
			"level1-0: 0 2", "level1-1: 4 6", "level2-0: 0 4",
		}},
		{"hierarchy:4x9", []string{"level0-0: 0 1 2 3", "level0-1: 4 5 6 7", "level1-0: 0 4"}},
		{"hierarchy:2x2", []string{ // ends with two tops
			"level0-0: 0 1", "level0-1: 2 3", "level0-2: 4 5", "level0-3: 6 7",
			"level1-0: 0 2", "level1-1: 4 6",
		}},
		{"hierarchy:7", []string{"level0-0: 0 1 2 3 4 5 6", "level1-0: 0 7"}},
		{"hierarchy:8x8x8,procs=2", []string{"level0-0: 0 1 2 3", "level0-1: 4 5 6 7", "level1-0: 0 4"}},
	} {
		f := generateFabric(t, "single:hosts=8")
		groups, err := Generate(f, test.text)
		if err != nil {
			t.Errorf("%s: %v", test.text, err)
			continue
		}
		if diff := cmp.Diff(test.want, show(f, groups)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.text, diff)
		}
	}
}

func writeFile(t testing.TB, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "list")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestErrors(t *testing.T) {
	bad := writeFile(t, "host-1\nhost-1 host-2\nhost-9\nswitch\n")
	placement := writeFile(t, "host-1")
	f := generateFabric(t, "single:hosts=8")
	for text, want := range map[string]string{
		"":                                   "is not known: want one of [grid random hierarchy file]",
		"cube:3":                             `"cube" is not known`,
		"grid":                               "the first value is missing",
		"grid:3x0":                           `size 2 is "0"`,
		"grid:3x3":                           "the grid has 9 processes, the fabric room for 8 (1 on each end port)",
		"grid:3x3,procs=0":                   "procs is",
		"grid:60000x60000":                   "members, 67108864 are the limit",
		"grid:60000x60000x60000x60000x60000": "members, 67108864 are the limit",
		"grid:2,procs=65536,order=oblivious,skip=x": "want aggregation",
		"grid:2,order=random":                       "order is",
		"grid:2,order=file":                         "it needs placement=FILE",
		"grid:2,order=aware,placement=x":            "a placement file has an order of its own",
		"grid:2,placement=no/such/file":             "no such file",
		"grid:2,placement=" + bad:                   bad + ":2: error: 2 end ports on one line",
		"grid:4,placement=" + placement:             "the grid has 4 processes, the fabric room for 1",
		"grid:2,seed=x":                             "seed is",
		"grid:2,size=2":                             "does not know the key size",
		"random:3":                                  "want GROUPSxSIZE",
		"random:3x3x3":                              "want 1 to 2 sizes",
		"random:99999x99999":                        "want GROUPSxSIZE such as 2000x16, at most 67108864 members",
		"random:3x9":                                "a group has 9 members, the fabric 8 end ports",
		"random:3x3,procs=2":                        "does not know the key procs",
		"hierarchy:1":                               "want a whole number from 2",
		"hierarchy:4x1":                             `size 2 is "1"`,
		"file":                                      "want the path of a file",
		"file:no/such/file":                         "no such file",
		"file:x,procs=2":                            "does not know the key procs",
		"file:" + bad:                               bad + `:3: error: "host-9": the fabric has no such node`,
	} {
		groups, err := Generate(f, text)
		if groups != nil || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", text, err, want)
		}
	}
}

func TestTooManyRanks(t *testing.T) {
	f := generateFabric(t, "trimmed:supernodes=10,leaves=10,hosts=20,mids=1,tops=1")
	_, err := Generate(f, "hierarchy:2,procs=65536")
	if err == nil || !strings.Contains(err.Error(), "65536 processes on each of 2000 end ports are too many") {
		t.Errorf("error %v", err)
	}
}

// TestAwareOrder: ranks follow the leaf switch and its port, not the adapter's
// index; adapters with several rails have a place on each leaf (T9).
func TestAwareOrder(t *testing.T) {
	b := &fabric.Builder{}
	for i, name := range []string{"leaf-0", "leaf-1"} {
		b.AddNode(fabric.Node{GUID: ib.GUID(1 + i), Name: name, Kind: fabric.Switch, NumPorts: 8}, fabric.Place{})
	}
	for i := range 3 {
		n := b.AddNode(fabric.Node{
			GUID: ib.GUID(16 + i), Name: fmt.Sprintf("host-%d", i), Kind: fabric.Adapter, NumPorts: 2, Aggregation: i == 1,
		}, fabric.Place{})
		for rail := range 2 {
			near := fabric.End{Node: n, Port: uint16(1 + rail)}
			far := fabric.End{Node: fabric.NodeID(1 - rail), Port: uint16(7 - i)}
			b.Cable(near, far, ib.LinkRate{}, fabric.Place{})
		}
	}
	b.Cable(fabric.End{Node: 0, Port: 1}, fabric.End{Node: 1, Port: 1}, ib.LinkRate{}, fabric.Place{})
	f, faults := b.Build()
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	for text, want := range map[string][]fabric.End{
		"grid:6":                  {{Node: 4, Port: 2}, {Node: 3, Port: 2}, {Node: 2, Port: 2}, {Node: 4, Port: 1}, {Node: 3, Port: 1}, {Node: 2, Port: 1}},
		"grid:4,skip=aggregation": {{Node: 4, Port: 2}, {Node: 2, Port: 2}, {Node: 4, Port: 1}, {Node: 2, Port: 1}},
	} {
		groups, err := Generate(f, text)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, groups[0].Members); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
	dead := f.Without([]fabric.NodeID{0}, nil)
	if _, err := Generate(dead, "grid:4"); err == nil || !strings.Contains(err.Error(), "room for 3") {
		t.Errorf("with a dead leaf: %v", err)
	}
}

func TestAwareIsEndPorts(t *testing.T) {
	for _, name := range []string{"fat-tree:k=6", "torus:3x4,e=2", "dragonfly:a=4,p=2,h=2", "bluelight", "random:switches=20"} {
		f := generateFabric(t, name)
		groups, err := Generate(f, fmt.Sprintf("grid:%d", len(f.EndPorts())))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(f.EndPorts(), groups[0].Members); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestMembersDoNotOverlap(t *testing.T) {
	f := generateFabric(t, "single:hosts=4")
	groups, err := Generate(f, "grid:2x2")
	if err != nil {
		t.Fatal(err)
	}
	before := show(f, groups[1:])
	_ = append(groups[0].Members, fabric.End{Node: 0})
	if diff := cmp.Diff(before, show(f, groups[1:])); diff != "" {
		t.Errorf("appending to a group changed the next:\n%s", diff)
	}
}

func TestIs(t *testing.T) {
	for text, want := range map[string]bool{
		"grid:3x3": true, "random:": true, "hierarchy:16": true, "file:x": true,
		"": false, "groups.txt": false, "./grid": false, "grid.txt": false,
	} {
		if got := Is(text); got != want {
			t.Errorf("Is(%q) = %v", text, got)
		}
	}
}

func TestUsage(t *testing.T) {
	for _, name := range Names() {
		if u := Usage(name); !strings.HasPrefix(u, name+":") || !strings.Contains(u, "\n") {
			t.Errorf("usage of %s: %q", name, u)
		}
	}
	if u := Usage("cube"); u != "" {
		t.Errorf("usage of nothing: %q", u)
	}
}

func ExampleGenerate() {
	f, err := topology.Generate("fat-tree:k=4")
	if err != nil {
		fmt.Println(err)
		return
	}
	groups, err := Generate(f, "grid:4x2x2")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(len(groups), "groups")
	for _, e := range groups[4].Members {
		fmt.Println(groups[4].Name, f.EndLabel(e))
	}
	// Output:
	// 20 groups
	// dim1-row0 host-00 (0x0200000200000000) port 1
	// dim1-row0 host-04 (0x0200000200000040) port 1
}

// TestAllocations: the cost is a name for each group and some tables, however
// many members there are.
func TestAllocations(t *testing.T) {
	f := generateFabric(t, "fat-tree:k=16")
	for _, text := range []string{"grid:32x32", "grid:32x32,order=oblivious,procs=4", "random:200x100", "hierarchy:16"} {
		groups, err := Generate(f, text)
		if err != nil {
			t.Fatal(err)
		}
		n := testing.AllocsPerRun(5, func() {
			if _, err := Generate(f, text); err != nil {
				t.Error(err)
			}
		})
		if most := float64(2*len(groups) + 200); n > most {
			t.Errorf("%s: %v allocations for %d groups, want at most %v", text, n, len(groups), most)
		}
	}
}

func BenchmarkGenerate(b *testing.B) {
	for _, c := range []struct{ fabric, pattern string }{
		{"fat-tree:k=40", "grid:40x20x20,order=oblivious"},
		{"taihulight", "grid:64x64x40,procs=4,order=oblivious"},
		{"fat-tree:k=64", "random:20000x16"},
		{"dragonfly:a=32,p=16,h=16", "random:10000x16"},
	} {
		b.Run(c.fabric+"/"+c.pattern, func(b *testing.B) {
			f := generateFabric(b, c.fabric)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Generate(f, c.pattern); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
