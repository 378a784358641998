package topology

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"heddle/fabric"
	"heddle/ib"
)

// texts draws, for each form of the registry, texts of small fabrics.
var texts = map[string]func(*rapid.T) string{
	"fat-tree": func(t *rapid.T) string {
		return fmt.Sprintf("fat-tree:k=%d,levels=%d,hosts=%d", 2*between(t, "half", 1, 5), between(t, "levels", 2, 3), between(t, "hosts", 1, 6))
	},
	"trimmed": func(t *rapid.T) string {
		planes := between(t, "planes", 1, 3)
		return fmt.Sprintf("trimmed:supernodes=%d,leaves=%d,hosts=%d,mids=%d,tops=%d,planes=%d", between(t, "supernodes", 1, 5),
			between(t, "leaves", 1, 4), between(t, "hosts", 1, 3), planes*between(t, "mids", 1, 3), between(t, "tops", 1, 3), planes)
	},
	"torus": func(t *rapid.T) string { return "torus:" + drawSizes(t) },
	"mesh":  func(t *rapid.T) string { return "mesh:" + drawSizes(t) },
	"hypercube": func(t *rapid.T) string {
		return fmt.Sprintf("hypercube:d=%d,e=%d", between(t, "d", 0, 6), between(t, "e", 1, 3))
	},
	"ring": func(t *rapid.T) string {
		return fmt.Sprintf("ring:n=%d,e=%d", between(t, "n", 1, 9), between(t, "e", 1, 3))
	},
	"dragonfly": func(t *rapid.T) string {
		a, h := between(t, "a", 1, 5), between(t, "h", 1, 3)
		return fmt.Sprintf("dragonfly:a=%d,p=%d,h=%d,g=%d,arrangement=%s", a, between(t, "p", 1, 3), h, between(t, "g", 1, a*h+1),
			rapid.SampledFrom([]string{"palmtree", "relative", "absolute"}).Draw(t, "arrangement"))
	},
	"random": func(t *rapid.T) string {
		return fmt.Sprintf("random:switches=%d,degree=%d,hosts=%d,seed=%d", between(t, "switches", 1, 40), between(t, "degree", 2, 6), between(t, "hosts", 1, 3), rapid.Uint64().Draw(t, "seed"))
	},
	"single": func(t *rapid.T) string { return fmt.Sprintf("single:hosts=%d", between(t, "hosts", 1, 254)) },
}

// fixed are the texts of the forms that have few.
var fixed = map[string][]string{
	"bluelight":  {"bluelight", "bluelight:tops=16", "bluelight:leaves=8x32", "bluelight:tops=16,leaves=8x32"},
	"taihulight": {"taihulight"},
}

func between(t *rapid.T, name string, lo, hi int) int { return rapid.IntRange(lo, hi).Draw(t, name) }

func drawSizes(t *rapid.T) string {
	var text strings.Builder
	for i, n := range rapid.SliceOfN(rapid.IntRange(1, 5), 1, 4).Draw(t, "sizes") {
		if i > 0 {
			text.WriteString("x")
		}
		text.WriteString(fmt.Sprint(n))
	}
	return fmt.Sprintf("%s,e=%d", text.String(), between(t, "e", 1, 3))
}

// TestEveryForm holds what the package promises of all fabrics.
func TestEveryForm(t *testing.T) {
	for _, name := range Names() {
		draw := texts[name]
		if draw == nil && fixed[name] == nil {
			t.Errorf("no texts of the form %s to test", name)
		}
		t.Run(name, func(t *testing.T) {
			for _, text := range fixed[name] {
				checkForm(t, text)
			}
			if draw != nil {
				rapid.Check(t, func(t *rapid.T) { checkForm(t, draw(t)) })
			}
		})
	}
}

func checkForm(t rapid.TB, text string) {
	s, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	f, faults := s.Build()
	for _, fault := range faults {
		if fault.Kind != fabric.FaultLimit || !s.shape.size().beyond {
			t.Errorf("%s: %v", text, fault)
		}
	}
	checkSize(t, s, f)
	checkOrder(t, f)
	checkNames(t, f)
	checkPorts(t, f)
	checkSame(t, f, text)
}

// checkSize holds the fabric against what its size told; the number of cables
// of a random one is only a limit.
func checkSize(t rapid.TB, s Spec, f *fabric.Fabric) {
	want, got := s.shape.size(), count(f)
	ports := 0
	for _, id := range f.Switches() {
		ports = max(ports, int(f.Node(id).NumPorts))
	}
	_, inexact := s.shape.(random)
	if got.switches != want.switches || got.hosts != want.hosts || ports > want.ports || got.links > want.cables {
		t.Errorf("%v: %+v with %d ports, want %+v", s, got, ports, want)
	}
	if !inexact && (got.links != want.cables || ports != want.ports) {
		t.Errorf("%v: %d cables and %d ports, want %d and %d", s, got.links, ports, want.cables, want.ports)
	}
	if parts := f.Components(); len(parts) != 1 {
		t.Errorf("%v: %d parts", s, len(parts))
	}
}

// checkOrder: switches come first, and end ports are in aware order.
func checkOrder(t rapid.TB, f *fabric.Fabric) {
	for i, id := range append(slices.Clone(f.Switches()), f.Adapters()...) {
		if int(id) != i {
			t.Errorf("node %d stands at %d", id, i)
		}
	}
	last := fabric.End{Node: fabric.NoNode}
	for _, e := range f.EndPorts() {
		leaf, ok := f.Leaf(e)
		if !ok || leaf.Node < last.Node || leaf.Node == last.Node && leaf.Port <= last.Port {
			t.Errorf("%s is on %s, after %v", f.EndLabel(e), f.EndLabel(leaf), last)
		}
		last = leaf
	}
}

func checkNames(t rapid.TB, f *fabric.Fabric) {
	names, guids := map[string]bool{}, map[ib.GUID]bool{}
	for i := range f.NumNodes() {
		n := f.Node(fabric.NodeID(i))
		if !n.GUID.IsValid() || names[n.Name] || guids[n.GUID] {
			t.Errorf("%s is there twice", n.Label())
		}
		names[n.Name], guids[n.GUID] = true, true
		if e, ok := f.ByPortGUID(n.GUID + ib.GUID(n.NumPorts)); n.Kind == fabric.Adapter && (!ok || e.Node != fabric.NodeID(i)) {
			t.Errorf("%s is not found by its port's GUID", n.Label())
		}
	}
}

// checkPorts: end nodes have the highest ports, and no two cables join the
// same pair of switches.
func checkPorts(t rapid.TB, f *fabric.Fabric) {
	for _, id := range f.Switches() {
		hosts, seen := false, map[fabric.NodeID]bool{}
		for e, peer := range f.Ports(id) {
			isHost := f.Node(peer.Node).Kind == fabric.Adapter
			if hosts && !isHost {
				t.Errorf("%s is above the end nodes", f.EndLabel(e))
			}
			hosts = isHost
			if seen[peer.Node] {
				t.Errorf("%s is a second cable", f.EndLabel(e))
			}
			seen[peer.Node] = true
		}
	}
}

// checkSame: the same text gives the same fabric.
func checkSame(t rapid.TB, f *fabric.Fabric, text string) {
	again, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	g, _ := again.Build()
	for i := range f.NumNodes() {
		if id := fabric.NodeID(i); f.Node(id) != g.Node(id) {
			t.Fatalf("%s: node %d is %+v, then %+v", text, i, f.Node(id), g.Node(id))
		}
	}
	for i := range f.NumLinks() {
		if id := fabric.LinkID(i); f.Link(id) != g.Link(id) {
			t.Fatalf("%s: link %d is %+v, then %+v", text, i, f.Link(id), g.Link(id))
		}
	}
}

// TestDragonflyGroups: each pair of groups has exactly one global cable, and
// each global cable follows the definition from both of its ends.
func TestDragonflyGroups(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, err := Parse(texts["dragonfly"](t))
		if err != nil {
			t.Fatal(err)
		}
		d := s.shape.(dragonfly)
		f, _ := s.Build()
		pairs := map[[2]int]int{}
		for i := range f.NumLinks() {
			l := f.Link(fabric.LinkID(i))
			from, to := int(l.A.Node)/d.a, int(l.B.Node)/d.a
			if f.Node(l.A.Node).Kind != fabric.Switch || from == to {
				continue
			}
			pairs[[2]int{min(from, to), max(from, to)}]++
			d.checkGlobal(t, l.A, l.B)
			d.checkGlobal(t, l.B, l.A)
		}
		if want := d.g * (d.g - 1) / 2; len(pairs) != want {
			t.Errorf("%v: %d pairs of groups are joined, want %d", s, len(pairs), want)
		}
		for pair, n := range pairs {
			if n != 1 {
				t.Errorf("%v: groups %v have %d cables", s, pair, n)
			}
		}
	})
}

// checkGlobal computes the number of the global port from the port's, and from
// it the group that the cable must lead to.
func (d dragonfly) checkGlobal(t *rapid.T, from, to fabric.End) {
	group, k := int(from.Node)/d.a, int(from.Node)%d.a*d.h+int(from.Port)-d.a
	var want int
	switch d.arrangement {
	case "palmtree":
		want = ((group-k-1)%d.g + d.g) % d.g
	case "relative":
		want = (group + k + 1) % d.g
	case "absolute":
		want = k
		if k >= group {
			want++
		}
	}
	if got := int(to.Node) / d.a; got != want {
		t.Errorf("%+v: global port %d of group %d leads to %d, want %d", d, k, group, got, want)
	}
}

// TestRandomDegree: no switch has more cables than asked for, and few have
// fewer.
func TestRandomDegree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, degree := between(t, "switches", 20, 60), between(t, "degree", 2, 6)
		f, err := Generate(fmt.Sprintf("random:switches=%d,degree=%d,seed=%d", n, degree, rapid.Uint64().Draw(t, "seed")))
		if err != nil {
			t.Fatal(err)
		}
		links := 0
		for _, id := range f.Switches() {
			own := int(f.Node(id).NumPorts) - 1
			if own > degree {
				t.Errorf("switch %d has %d cables, want at most %d", id, own, degree)
			}
			links += own
		}
		if links < n*degree-2*degree*degree {
			t.Errorf("%d ends of cables, want about %d", links, n*degree)
		}
	})
}

// TestTorusNeighbours computes the neighbours of each switch from coordinates.
func TestTorusNeighbours(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x, y, z := between(t, "x", 1, 5), between(t, "y", 1, 5), between(t, "z", 1, 5)
		f, err := Generate(fmt.Sprintf("torus:%dx%dx%d", x, y, z))
		if err != nil {
			t.Fatal(err)
		}
		id := func(i, j, k int) fabric.NodeID { return fabric.NodeID(i%x + x*(j%y+y*(k%z))) }
		for i := range x {
			for j := range y {
				for k := range z {
					here := id(i, j, k)
					checkStep(t, f, here, id(i+1, j, k), 1, x, i == x-1)
					checkStep(t, f, here, id(i, j+1, k), 3, y, j == y-1)
					checkStep(t, f, here, id(i, j, k+1), 5, z, k == z-1)
				}
			}
		}
	})
}

func checkStep(t *rapid.T, f *fabric.Fabric, here, next fabric.NodeID, port uint16, size int, last bool) {
	peer, ok := f.Peer(fabric.End{Node: here, Port: port})
	want := size > 2 || size == 2 && !last
	if ok != want || ok && peer != (fabric.End{Node: next, Port: port + 1}) {
		t.Errorf("switch %d port %d leads to %v (%v), want switch %d port %d (%v)", here, port, peer, ok, next, port+1, want)
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"fat-tree:k=4", "fat-tree:k=4,levels=2,hosts=3", "torus:3x2x1,e=2", "mesh:4", "ring:n=4", "hypercube:d=3",
		"dragonfly:a=2,p=1,h=1,g=2,arrangement=relative", "bluelight:tops=16,leaves=8x32", "taihulight",
		"trimmed:supernodes=2,leaves=2,hosts=2,mids=2,tops=1,planes=2", "random:switches=9,degree=3,seed=7",
		"single:hosts=8,rate=4xNDR,mcap=0", "fat-tree:k=4,lost=0.9,seed=3", "torus:99999999x99999999", "x:", "",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse(text)
		if (err == nil) != (s.shape != nil) {
			t.Fatalf("spec %v and error %v", s, err)
		}
		if err != nil {
			return
		}
		size := s.shape.size()
		if size.check() != nil || size.switches < 1 {
			t.Errorf("size %+v was let through", size)
		}
		if size.switches+size.hosts > 3000 || size.cables > 10000 {
			return
		}
		g, faults := s.Build()
		if n := len(g.Switches()); n != size.switches {
			t.Errorf("%d switches, want %d", n, size.switches)
		}
		if bad := fabric.Errors(faults); len(bad) > 0 && s.lost == 0 {
			t.Errorf("faults %v", bad)
		}
	})
}
