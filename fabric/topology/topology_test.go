package topology

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/fabric"
	"heddle/ib"
)

func generate(t testing.TB, text string) *fabric.Fabric {
	t.Helper()
	f, err := Generate(text)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// counts is what a fabric consists of.
type counts struct{ switches, links, hosts int }

func count(f *fabric.Fabric) counts {
	hosts := len(f.Adapters())
	return counts{len(f.Switches()), f.NumLinks() - hosts, hosts}
}

func TestCounts(t *testing.T) {
	for text, want := range map[string]counts{
		"fat-tree:k=40":              {2000, 32000, 16000},
		"torus:30x20x20,e=2":         {12000, 36000, 24000},
		"dragonfly:a=18,p=9,h=9":     {2934, 38142, 26406},
		"bluelight":                  {824, 6528, 8704},
		"bluelight:tops=16":          {832, 8704, 8704},
		"bluelight:leaves=8x32":      {552, 4352, 8704},
		"taihulight":                 {3872, 30720, 40960},
		"fat-tree:k=4,levels=2":      {6, 8, 8},
		"fat-tree:k=4,hosts=7":       {20, 32, 56},
		"torus:5x2x1":                {10, 15, 10},
		"torus:1":                    {1, 0, 1},
		"mesh:5x4":                   {20, 31, 20},
		"ring:n=4":                   {4, 4, 4},
		"ring:n=2,e=3":               {2, 1, 6},
		"hypercube:d=4":              {16, 32, 16},
		"hypercube:d=0":              {1, 0, 1},
		"single:hosts=254":           {1, 0, 254},
		"dragonfly:a=4,p=2,h=2,g=3":  {12, 21, 24},
		"random:switches=2,degree=1": {2, 1, 2},
		"random:switches=1,hosts=3":  {1, 0, 3},
		"fat-tree:k=40,lost=0.1":     {2000, 28800, 16000},
		"trimmed:supernodes=3,leaves=2,hosts=5,mids=4,tops=2,planes=2": {22, 48, 30},
	} {
		if got := count(generate(t, text)); got != want {
			t.Errorf("%s: %+v, want %+v", text, got, want)
		}
	}
}

// wires lists the cables of each switch in the order of its ports.
func wires(f *fabric.Fabric) string {
	var b strings.Builder
	for _, s := range f.Switches() {
		b.WriteString(f.Node(s).Name + ":")
		for e, peer := range f.Ports(s) {
			fmt.Fprintf(&b, " %d-%s", e.Port, f.Node(peer.Node).Name)
			if peer.Node < fabric.NodeID(len(f.Switches())) {
				fmt.Fprintf(&b, ":%d", peer.Port)
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func TestWires(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"fat-tree:k=2", `
leaf-p0-0: 1-agg-p0-0:1 2-host-0
leaf-p1-0: 1-agg-p1-0:1 2-host-1
agg-p0-0: 1-leaf-p0-0:1 2-core-0:1
agg-p1-0: 1-leaf-p1-0:1 2-core-0:2
core-0: 1-agg-p0-0:2 2-agg-p1-0:2
`},
		{"fat-tree:k=4,levels=2,hosts=1", `
leaf-0: 1-spine-0:1 2-spine-1:1 3-host-0
leaf-1: 1-spine-0:2 2-spine-1:2 3-host-1
leaf-2: 1-spine-0:3 2-spine-1:3 3-host-2
leaf-3: 1-spine-0:4 2-spine-1:4 3-host-3
spine-0: 1-leaf-0:1 2-leaf-1:1 3-leaf-2:1 4-leaf-3:1
spine-1: 1-leaf-0:2 2-leaf-1:2 3-leaf-2:2 4-leaf-3:2
`},
		{"torus:3x2,e=2", `
switch-0-0: 1-switch-1-0:2 2-switch-2-0:1 3-switch-0-1:4 5-host-00 6-host-01
switch-1-0: 1-switch-2-0:2 2-switch-0-0:1 3-switch-1-1:4 5-host-02 6-host-03
switch-2-0: 1-switch-0-0:2 2-switch-1-0:1 3-switch-2-1:4 5-host-04 6-host-05
switch-0-1: 1-switch-1-1:2 2-switch-2-1:1 4-switch-0-0:3 5-host-06 6-host-07
switch-1-1: 1-switch-2-1:2 2-switch-0-1:1 4-switch-1-0:3 5-host-08 6-host-09
switch-2-1: 1-switch-0-1:2 2-switch-1-1:1 4-switch-2-0:3 5-host-10 6-host-11
`},
		{"mesh:3", `
switch-0: 1-switch-1:2 3-host-0
switch-1: 1-switch-2:2 2-switch-0:1 3-host-1
switch-2: 2-switch-1:1 3-host-2
`},
		{"hypercube:d=2", `
switch-00: 1-switch-01:1 2-switch-10:2 3-host-0
switch-01: 1-switch-00:1 2-switch-11:2 3-host-1
switch-10: 1-switch-11:1 2-switch-00:2 3-host-2
switch-11: 1-switch-10:1 2-switch-01:2 3-host-3
`},
		{"dragonfly:a=2,p=1,h=1", `
router-g0-0: 1-router-g0-1:1 2-router-g2-1:2 3-host-0
router-g0-1: 1-router-g0-0:1 2-router-g1-0:2 3-host-1
router-g1-0: 1-router-g1-1:1 2-router-g0-1:2 3-host-2
router-g1-1: 1-router-g1-0:1 2-router-g2-0:2 3-host-3
router-g2-0: 1-router-g2-1:1 2-router-g1-1:2 3-host-4
router-g2-1: 1-router-g2-0:1 2-router-g0-0:2 3-host-5
`},
		{"dragonfly:a=2,p=1,h=1,arrangement=relative", `
router-g0-0: 1-router-g0-1:1 2-router-g1-1:2 3-host-0
router-g0-1: 1-router-g0-0:1 2-router-g2-0:2 3-host-1
router-g1-0: 1-router-g1-1:1 2-router-g2-1:2 3-host-2
router-g1-1: 1-router-g1-0:1 2-router-g0-0:2 3-host-3
router-g2-0: 1-router-g2-1:1 2-router-g0-1:2 3-host-4
router-g2-1: 1-router-g2-0:1 2-router-g1-0:2 3-host-5
`},
		{"dragonfly:a=2,p=1,h=1,arrangement=absolute", `
router-g0-0: 1-router-g0-1:1 2-router-g1-0:2 3-host-0
router-g0-1: 1-router-g0-0:1 2-router-g2-0:2 3-host-1
router-g1-0: 1-router-g1-1:1 2-router-g0-0:2 3-host-2
router-g1-1: 1-router-g1-0:1 2-router-g2-1:2 3-host-3
router-g2-0: 1-router-g2-1:1 2-router-g0-1:2 3-host-4
router-g2-1: 1-router-g2-0:1 2-router-g1-1:2 3-host-5
`},
		{"trimmed:supernodes=2,leaves=1,hosts=1,mids=4,tops=1,planes=2", `
leaf-s0-0: 1-mid-s0-0:1 2-mid-s0-1:1 3-mid-s0-2:1 4-mid-s0-3:1 5-host-0
leaf-s1-0: 1-mid-s1-0:1 2-mid-s1-1:1 3-mid-s1-2:1 4-mid-s1-3:1 5-host-1
mid-s0-0: 1-leaf-s0-0:1 2-top-0-0:1
mid-s0-1: 1-leaf-s0-0:2 2-top-1-0:1
mid-s0-2: 1-leaf-s0-0:3 2-top-0-0:2
mid-s0-3: 1-leaf-s0-0:4 2-top-1-0:2
mid-s1-0: 1-leaf-s1-0:1 2-top-0-0:3
mid-s1-1: 1-leaf-s1-0:2 2-top-1-0:3
mid-s1-2: 1-leaf-s1-0:3 2-top-0-0:4
mid-s1-3: 1-leaf-s1-0:4 2-top-1-0:4
top-0-0: 1-mid-s0-0:2 2-mid-s0-2:2 3-mid-s1-0:2 4-mid-s1-2:2
top-1-0: 1-mid-s0-1:2 2-mid-s0-3:2 3-mid-s1-1:2 4-mid-s1-3:2
`},
	} {
		if diff := cmp.Diff(strings.TrimPrefix(test.want, "\n"), wires(generate(t, test.text))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.text, diff)
		}
	}
}

// TestFatTreeCores holds the cores of each aggregation switch against the
// definition.
func TestFatTreeCores(t *testing.T) {
	const k = 8
	f := generate(t, "fat-tree:k=8")
	leaves, cores := k*k/2, k*k
	for pod := range k {
		for j := range k / 2 {
			var want, got []int
			for i := range k / 2 {
				want = append(want, cores+j*k/2+i)
			}
			for _, peer := range f.Ports(fabric.NodeID(leaves + pod*k/2 + j)) {
				if int(peer.Node) >= cores {
					got = append(got, int(peer.Node))
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("aggregation %d of pod %d: cores %v, want %v", j, pod, got, want)
			}
		}
	}
}

func TestRegular(t *testing.T) {
	type degree struct{ links, hosts int }
	for text, want := range map[string]map[degree]int{
		"fat-tree:k=8":          {{4, 4}: 32, {8, 0}: 48},
		"fat-tree:k=8,levels=2": {{4, 4}: 8, {8, 0}: 4},
		"torus:3x4x5,e=2":       {{6, 2}: 60},
		"torus:4x2":             {{3, 1}: 8},
		"hypercube:d=5,e=2":     {{5, 2}: 32},
		"dragonfly:a=4,p=2,h=2": {{5, 2}: 36},
		"dragonfly:a=4,p=2,h=2,arrangement=relative": {{5, 2}: 36},
		"dragonfly:a=4,p=2,h=2,arrangement=absolute": {{5, 2}: 36},
		"bluelight":  {{8, 16}: 544, {24, 0}: 272, {272, 0}: 8},
		"taihulight": {{8, 16}: 2560, {24, 0}: 1280, {320, 0}: 32},
	} {
		f := generate(t, text)
		got := map[degree]int{}
		for _, s := range f.Switches() {
			var d degree
			for _, peer := range f.Ports(s) {
				if f.Node(peer.Node).Kind == fabric.Switch {
					d.links++
				} else {
					d.hosts++
				}
			}
			got[d]++
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}

// diameter is the greatest distance between two switches.
func diameter(f *fabric.Fabric) int {
	most := 0
	for _, start := range f.Switches() {
		dist := map[fabric.NodeID]int{start: 0}
		for queue := []fabric.NodeID{start}; len(queue) > 0; queue = queue[1:] {
			for _, peer := range f.Ports(queue[0]) {
				if _, seen := dist[peer.Node]; !seen && f.Node(peer.Node).Kind == fabric.Switch {
					dist[peer.Node] = dist[queue[0]] + 1
					most = max(most, dist[peer.Node])
					queue = append(queue, peer.Node)
				}
			}
		}
	}
	return most
}

func TestDiameter(t *testing.T) {
	for text, want := range map[string]int{
		"fat-tree:k=6":          4,
		"fat-tree:k=6,levels=2": 2,
		"torus:5x4x3":           5,
		"mesh:5x4x3":            9,
		"hypercube:d=6":         6,
		"ring:n=9":              4,
		"single:hosts=3":        0,
		"dragonfly:a=4,p=1,h=2": 3,
		"trimmed:supernodes=3,leaves=2,hosts=1,mids=2,tops=2": 4,
	} {
		if got := diameter(generate(t, text)); got != want {
			t.Errorf("%s: diameter %d, want %d", text, got, want)
		}
	}
}

func TestOptions(t *testing.T) {
	f := generate(t, "ring:n=3,rate=12xNDR,mcap=100")
	for i := range f.NumLinks() {
		if got, want := f.Link(fabric.LinkID(i)).Rate, (ib.LinkRate{Width: ib.Width12x, Speed: ib.NDR}); got != want {
			t.Errorf("link %d: %v, want %v", i, got, want)
		}
	}
	for _, s := range f.Switches() {
		if got := f.Node(s).MulticastCap; got != 100 {
			t.Errorf("switch %d: capacity %d", s, got)
		}
	}
	plain := generate(t, "ring:n=3")
	if got := plain.Link(0).Rate.String(); got != "4xHDR" {
		t.Errorf("rate %v by default", got)
	}
	if got := plain.Node(0).MulticastCap; got != fabric.CapUnknown {
		t.Errorf("capacity %d by default", got)
	}
	if got := generate(t, "ring:n=3,mcap=0").Node(0).MulticastCap; got != 0 {
		t.Errorf("capacity %d, want 0", got)
	}
}

func TestLost(t *testing.T) {
	whole := generate(t, "fat-tree:k=8")
	one, other := generate(t, "fat-tree:k=8,lost=0.2"), generate(t, "fat-tree:k=8,lost=0.2,seed=2")
	if got, want := count(one), (counts{80, 205, 128}); got != want {
		t.Errorf("%+v left, want %+v", got, want)
	}
	if wires(one) == wires(other) {
		t.Error("two seeds lose the same cables")
	}
	for i := range one.NumLinks() {
		l := one.Link(fabric.LinkID(i))
		if peer, ok := whole.Peer(l.A); !ok || peer != l.B {
			t.Errorf("%s is cabled to %s, which the whole tree is not", one.EndLabel(l.A), one.EndLabel(l.B))
		}
	}
	s, err := Parse("ring:n=8,lost=1")
	if err != nil {
		t.Fatal(err)
	}
	if f, faults := s.Build(); len(fabric.Errors(faults)) != 7 || len(f.Components()) != 8 {
		t.Errorf("8 islands: faults %v", faults)
	}
}

func TestLIDs(t *testing.T) {
	f := generate(t, "fat-tree:k=4")
	next := ib.LID(1)
	for _, id := range f.Switches() {
		if got := f.Port(fabric.End{Node: id}).LID; got != next {
			t.Errorf("%s: LID %v, want %v", f.Node(id).Name, got, next)
		}
		next++
	}
	for _, e := range f.EndPorts() {
		if got := f.Port(e).LID; got != next {
			t.Errorf("%s: LID %v, want %v", f.EndLabel(e), got, next)
		}
		next++
	}
	// 242 switches and 57,600 end nodes are more than there are LIDs.
	large := generate(t, "trimmed:supernodes=1,leaves=240,hosts=240,mids=1,tops=1")
	for i := range large.NumNodes() {
		for p := range large.Node(fabric.NodeID(i)).NumPorts + 1 {
			if e := (fabric.End{Node: fabric.NodeID(i), Port: p}); large.Port(e).LID != 0 {
				t.Fatalf("%s has LID %v", large.EndLabel(e), large.Port(e).LID)
			}
		}
	}
}

func TestManyPortsAreWarnedOf(t *testing.T) {
	s, err := Parse("bluelight")
	if err != nil {
		t.Fatal(err)
	}
	_, faults := s.Build()
	if len(faults) != 8 || len(fabric.Errors(faults)) != 0 || faults[0].Kind != fabric.FaultLimit {
		t.Errorf("faults %v, want a warning for each of 8 tops", faults)
	}
}

func TestErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                         "is not known: want one of",
		"clos:k=4":                 `"clos" is not known`,
		"fat-tree":                 "k is missing",
		"fat-tree:k=5":             `k is "5": want an even number`,
		"fat-tree:k=0":             "k is",
		"fat-tree:k=4,levels=4":    "levels is",
		"fat-tree:k=254":           "are too many: 1048576 together are the limit",
		"fat-tree:k=200,hosts=200": "a switch would have 300 ports, 254 are possible",
		"torus":                    "the first value is missing",
		"torus:30x0":               `size 2 is "0"`,
		"torus:1000000x1000000":    "are too many",
		"torus:1000000x1000000x1000000x1000000x1000000": "are too many",
		"torus:1000x1000":                       "are too many",
		"torus:4x4,e=251":                       "a switch would have 255 ports",
		"mesh:4x4,wrap=1":                       "does not know the key wrap",
		"ring:n=-1":                             "n is",
		"hypercube:d=21":                        "d is",
		"hypercube:d=20":                        "are too many",
		"dragonfly:a=2,p=1":                     "h is missing",
		"dragonfly:a=2,p=1,h=1,g=4":             `g is "4": want a whole number from 1 to 3`,
		"dragonfly:a=200,p=30,h=40":             "a switch would have 269 ports",
		"dragonfly:a=100,p=50,h=100":            "are too many",
		"dragonfly:a=2,p=1,h=1,arrangement=odd": "want palmtree or relative or absolute",
		"dragonfly:a=200,p=1,h=50,g=2600":       "cables between switches are too many",
		"bluelight:tops=9":                      "tops is",
		"bluelight:leaves=16x15":                "leaves is",
		"taihulight:tops=8":                     "does not know the key tops",
		"trimmed:supernodes=2,leaves=2,hosts=2,mids=3,tops=1,planes=2": "planes is",
		"trimmed:supernodes=2,leaves=2,hosts=252,mids=3,tops=1":        "255 ports",
		"trimmed:supernodes=65535,leaves=1,hosts=1,mids=2,tops=1":      "131070 ports, 65535 are possible",
		"random:switches=3,degree=1":                                   "degree is",
		"random:switches=300,degree=253,hosts=2":                       "255 ports",
		"single:hosts=255":                                             "hosts is",
		"single:hosts=1,rate=9xHDR":                                    "rate is",
		"single:hosts=1,mcap=-1":                                       "mcap is",
		"single:hosts=1,lost=half":                                     "lost is",
		"ring:n=8,lost=1":                                              "cut off",
	} {
		f, err := Generate(text)
		if f != nil || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", text, err, want)
		}
	}
}

func TestIs(t *testing.T) {
	for text, want := range map[string]bool{
		"fat-tree:k=40": true, "bluelight": true, "torus:": true,
		"": false, "my.topo": false, "./torus": false, `C:\torus`: false, "fat-tree.net": false,
	} {
		if got := Is(text); got != want {
			t.Errorf("Is(%q) = %v", text, got)
		}
	}
}

func TestUsage(t *testing.T) {
	for _, name := range Names() {
		if u := Usage(name); !strings.HasPrefix(u, name) || !strings.Contains(u, "\n") {
			t.Errorf("usage of %s: %q", name, u)
		}
	}
	if u := Usage("clos"); u != "" {
		t.Errorf("usage of nothing: %q", u)
	}
}

func ExampleGenerate() {
	f, err := Generate("dragonfly:a=4,p=2,h=2")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(len(f.Switches()), "routers,", len(f.EndPorts()), "end nodes")
	fmt.Println(f.Node(f.Switches()[5]).Name)
	// Output:
	// 36 routers, 72 end nodes
	// router-g1-1
}

func BenchmarkGenerate(b *testing.B) {
	for _, text := range []string{"fat-tree:k=40", "torus:30x20x20,e=2", "dragonfly:a=32,p=16,h=16"} {
		b.Run(text, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				generate(b, text)
			}
		})
	}
}
