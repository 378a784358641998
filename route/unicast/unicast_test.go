package unicast_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"heddle/fabric"
	"heddle/fabric/topology"
	"heddle/ib"
	"heddle/route"
	"heddle/route/unicast"
)

// net is a fabric that is ready for unicast.
type net struct {
	f    *fabric.Fabric
	g    *route.Graph
	h    *route.Hops
	lids *route.LIDs
}

type fataler interface {
	Helper()
	Fatal(args ...any)
}

func newNet(t fataler, f *fabric.Fabric, lmc uint8) net {
	t.Helper()
	g := route.NewGraph(f, route.Selection{})
	h, err := route.NewHops(g, 2)
	if err != nil {
		t.Fatal(err)
	}
	lids, err := route.AssignLIDs(f, lmc)
	if err != nil {
		t.Fatal(err)
	}
	return net{f, g, h, lids}
}

func generate(t fataler, form string) *fabric.Fabric {
	t.Helper()
	s, err := topology.Parse(form)
	if err != nil {
		t.Fatal(err)
	}
	f, _ := s.Build()
	return f
}

func (n net) route(t fataler, engine string, o unicast.Options) *route.LFTs {
	t.Helper()
	e, err := unicast.Lookup(engine)
	if err != nil {
		t.Fatal(err)
	}
	o.Workers = 2
	tables, err := e.Route(n.g, n.h, n.lids, o)
	if err != nil {
		t.Fatal(err)
	}
	return tables
}

func drawNet(t *rapid.T) net {
	form := rapid.SampledFrom([]string{
		"random:switches=30,degree=4,hosts=2", "random:switches=17,degree=3,hosts=1", "torus:4x3x3,e=2",
		"fat-tree:k=4", "fat-tree:k=6", "dragonfly:a=4,p=2,h=2", "ring:n=9", "single:hosts=5",
		"trimmed:supernodes=3,leaves=3,hosts=2,mids=4,tops=2,planes=2", "hypercube:d=4",
	}).Draw(t, "form")
	form += rapid.SampledFrom([]string{"", ",lost=0.1", ",lost=0.3"}).Draw(t, "lost")
	f := generate(t, form)
	var dead []fabric.NodeID
	for range rapid.IntRange(0, 2).Draw(t, "dead") {
		dead = append(dead, fabric.NodeID(rapid.IntRange(0, f.NumNodes()-1).Draw(t, "node")))
	}
	return newNet(t, f.Without(dead, nil), uint8(rapid.IntRange(0, 3).Draw(t, "lmc")))
}

// TestEnginesReachAll is the conformance test of all unicast engines.
func TestEnginesReachAll(t *testing.T) {
	for _, e := range unicast.Engines() {
		t.Run(e.Name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				n := drawNet(t)
				for _, fault := range route.CheckLFTs(n.route(t, e.Name, unicast.Options{})) {
					t.Error(fault)
				}
			})
		})
	}
}

// TestMinhopIsMinimal: by minhop, each path is as long as the shortest.
func TestMinhopIsMinimal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := drawNet(t)
		tables := n.route(t, "minhop", unicast.Options{})
		for l := ib.MinUnicastLID; l <= n.lids.Top(); l++ {
			owner, ok := n.lids.Owner(l)
			if !ok {
				continue
			}
			leaf, ok := n.f.Leaf(owner)
			if !ok || n.g.Vertex(leaf.Node) < 0 {
				continue
			}
			to := n.g.Vertex(leaf.Node)
			for v := range int32(n.g.NumVertices()) {
				checkStep(t, n, tables, v, to, l)
			}
		}
	})
}

func checkStep(t *rapid.T, n net, tables *route.LFTs, v, to int32, l ib.LID) {
	port := tables.Tables[v].Lookup(l)
	switch d := n.h.To(to)[v]; {
	case d == route.Far:
		if port != route.NoPort {
			t.Fatalf("switch %d has port %d for LID %d, which it cannot reach", v, port, l)
		}
	case d > 0:
		peer, ok := tables.Exit(v, l)
		if !ok || n.h.To(to)[n.g.Vertex(peer.Node)] != d-1 {
			t.Fatalf("switch %d sends LID %d to %v, no nearer", v, l, peer)
		}
	}
}

// TestUpdownHasNoCycles: whatever the fabric, packets that updown routes never
// wait for each other in a ring, also with roots that are given.
func TestUpdownHasNoCycles(t *testing.T) {
	e, err := unicast.Lookup("updown")
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		n := drawNet(t)
		o := unicast.Options{Workers: 2}
		if rapid.Bool().Draw(t, "given") {
			o.Roots = rapid.SliceOfN(rapid.Int32Range(0, int32(n.g.NumVertices())-1), 1, 4).Draw(t, "roots")
		}
		tables, err := e.Route(n.g, n.h, n.lids, o)
		if err != nil {
			if len(o.Roots) == 0 {
				t.Fatal(err)
			}
			return // these roots connect not all
		}
		d := route.NewDependencies(n.g)
		d.AddPaths(tables)
		if c := d.Cycle(); c.Cyclic() {
			t.Errorf("cycle: %s", c.Text(n.f))
		}
	})
}

// TestUpdownConnects: with Connect, all that minhop reaches is reached, from
// every switch and also the switches themselves, without a loop.
func TestUpdownConnects(t *testing.T) {
	without := 0
	rapid.Check(t, func(t *rapid.T) {
		n := drawNet(t)
		want := n.arrivals(n.route(t, "minhop", unicast.Options{}))
		if got := n.arrivals(n.route(t, "updown", unicast.Options{Connect: true})); got != want {
			t.Errorf("%d pairs of a switch and a LID, minhop has %d", got, want)
		}
		without += want - n.arrivals(n.route(t, "updown", unicast.Options{}))
	})
	if without == 0 {
		t.Error("no net had a switch without an allowed path to another: nothing was tested")
	}
}

// arrivals counts the pairs of a switch and a LID that the tables lead to the
// LID's owner.
func (n net) arrivals(tables *route.LFTs) (count int) {
	for v := range int32(n.g.NumVertices()) {
		for l := ib.MinUnicastLID; l <= n.lids.Top(); l++ {
			if owner, ok := n.lids.Owner(l); ok && n.arrives(tables, v, l, owner) {
				count++
			}
		}
	}
	return count
}

func (n net) arrives(tables *route.LFTs, v int32, l ib.LID, owner fabric.End) bool {
	for range n.g.NumVertices() + 1 {
		if n.g.Node(v) == owner.Node {
			return true
		}
		peer, ok := tables.Exit(v, l)
		if !ok || peer == owner {
			return ok
		}
		if v = n.g.Vertex(peer.Node); v < 0 {
			return false
		}
	}
	return false
}

// TestUpdownWithoutWay: in a row of three switches whose ends are the roots, the
// way from one to the other goes down before it goes up.
func TestUpdownWithoutWay(t *testing.T) {
	n := newNet(t, generate(t, "mesh:3"), 0)
	e, err := unicast.Lookup("updown")
	if err != nil {
		t.Fatal(err)
	}
	_, err = e.Route(n.g, n.h, n.lids, unicast.Options{Workers: 1, Roots: []int32{0, 2}})
	if err == nil || !strings.Contains(err.Error(), n.g.Label(0)) || !strings.Contains(err.Error(), n.g.Label(2)) {
		t.Errorf("error %v, want one that names the two ends", err)
	}
}

// TestFindRoots: switches in the middle; ranks have no need of them.
func TestFindRoots(t *testing.T) {
	for _, test := range []struct {
		form string
		want []int32
	}{
		{"fat-tree:k=4", []int32{16, 17, 18, 19}},
		{"trimmed:supernodes=4,leaves=2,hosts=2,mids=2,tops=3", []int32{16, 17, 18}},
		{"random:switches=2,degree=1,hosts=3", []int32{0}},
		{"mesh:5", []int32{2}},
		{"single:hosts=4", []int32{0}},
	} {
		n := newNet(t, generate(t, test.form), 0)
		if diff := cmp.Diff(test.want, unicast.FindRoots(n.g, n.h)); diff != "" {
			t.Errorf("roots of %s (-want +got):\n%s", test.form, diff)
		}
	}
}

// TestBalance: in a fat tree each leaf switch sends as many LIDs up by each of its
// ports as by any other, to one.
func TestBalance(t *testing.T) {
	for _, e := range unicast.Engines() {
		n := newNet(t, generate(t, "fat-tree:k=8"), 0)
		tables := n.route(t, e.Name, unicast.Options{})
		for leaf := range 32 {
			count := map[uint8]int{}
			for l := ib.MinUnicastLID; l <= n.lids.Top(); l++ {
				if owner, ok := n.lids.Owner(l); ok && n.f.Node(owner.Node).Kind == fabric.Adapter {
					if port := tables.Tables[leaf][l]; port <= 4 {
						count[port]++
					}
				}
			}
			for port, got := range count {
				if got != 31 { // 124 hosts elsewhere by 4 ports
					t.Errorf("%s: leaf %d sends %d LIDs by port %d, want 31", e.Name, leaf, got, port)
				}
			}
		}
	}
}

// TestLMCSpreads: the four LIDs of a host in another pod of a fat tree leave a
// leaf by four different switches.
func TestLMCSpreads(t *testing.T) {
	n := newNet(t, generate(t, "fat-tree:k=8"), 2)
	tables := n.route(t, "minhop", unicast.Options{})
	for l := ib.LID(4); l <= n.lids.Top(); l += 4 {
		owner, ok := n.lids.Owner(l)
		if !ok || n.f.Node(owner.Node).Kind == fabric.Switch {
			continue
		}
		if leaf, _ := n.f.Leaf(owner); leaf.Node == 0 {
			continue
		}
		ports := slices.Clone(tables.Tables[0][l : l+4])
		slices.Sort(ports)
		if diff := cmp.Diff(route.LFT{1, 2, 3, 4}, ports); diff != "" {
			t.Fatalf("ports of the LIDs from %d on (-want +got):\n%s", l, diff)
		}
	}
}

// TestSystemsBeforeSwitches: with two LIDs and ports to two switches of one system
// and one of another, both systems are used.
func TestSystemsBeforeSwitches(t *testing.T) {
	var b fabric.Builder
	add := func(guid ib.GUID, system ib.GUID, kind fabric.Kind) fabric.NodeID {
		return b.AddNode(fabric.Node{GUID: guid, SystemGUID: system, Kind: kind, NumPorts: 8}, fabric.Place{})
	}
	near, far := add(1, 0, fabric.Switch), add(2, 0, fabric.Switch)
	for i, system := range []ib.GUID{100, 100, 200} {
		mid := add(ib.GUID(10+i), system, fabric.Switch)
		for side, end := range []fabric.NodeID{near, far} {
			b.Cable(fabric.End{Node: end, Port: uint16(i + 1)}, fabric.End{Node: mid, Port: uint16(side + 1)}, ib.LinkRate{}, fabric.Place{})
		}
	}
	host := add(20, 0, fabric.Adapter)
	b.Cable(fabric.End{Node: far, Port: 8}, fabric.End{Node: host, Port: 1}, ib.LinkRate{}, fabric.Place{})
	f, _ := b.Build()
	n := newNet(t, f, 1)
	table := n.route(t, "minhop", unicast.Options{}).Tables[n.g.Vertex(near)]
	first := n.lids.Top() - 1
	if a, z := table[first], table[first+1]; a != 1 || z != 3 {
		t.Errorf("the LIDs leave by ports %d and %d, want 1 and 3", a, z)
	}
}

func TestLookup(t *testing.T) {
	_, err := unicast.Lookup("fastest")
	if err == nil || !strings.Contains(err.Error(), "minhop, updown") {
		t.Errorf("Lookup of no engine: %v", err)
	}
}

func BenchmarkEngines(b *testing.B) {
	for _, e := range unicast.Engines() {
		b.Run(e.Name, func(b *testing.B) {
			n := newNet(b, generate(b, "fat-tree:k=24"), 0)
			for b.Loop() {
				if _, err := e.Route(n.g, n.h, n.lids, unicast.Options{Workers: 1}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
