package route_test

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"heddle/fabric"
	"heddle/fabric/pattern"
	"heddle/fabric/topology"
	"heddle/ib"
	"heddle/route"
	"heddle/route/multicast"
)

// drawFabric draws a small fabric: of a known form, with cables lost, so that it
// may be in pieces, or a wild one with parallel cables, self links, adapters
// with two ports and switches that cannot multicast; perhaps with dead nodes.
func drawFabric(t *rapid.T) *fabric.Fabric {
	f := drawForm(t)
	if rapid.Bool().Draw(t, "wild") {
		f = drawWild(t)
	}
	var dead []fabric.NodeID
	for range rapid.IntRange(0, 2).Draw(t, "dead nodes") {
		dead = append(dead, fabric.NodeID(rapid.IntRange(0, f.NumNodes()-1).Draw(t, "dead")))
	}
	return f.Without(dead, nil)
}

func drawForm(t *rapid.T) *fabric.Fabric {
	n := func(low, high int) int { return rapid.IntRange(low, high).Draw(t, "n") }
	texts := []func() string{
		func() string { return fmt.Sprintf("random:switches=%d,degree=%d,hosts=%d", n(1, 80), n(2, 5), n(1, 3)) },
		func() string { return fmt.Sprintf("torus:%dx%dx%d,e=%d", n(2, 5), n(2, 4), n(2, 4), n(1, 2)) },
		func() string { return fmt.Sprintf("ring:n=%d", n(3, 40)) },
		func() string { return fmt.Sprintf("fat-tree:k=%d", 2*n(1, 3)) },
		func() string { return fmt.Sprintf("dragonfly:a=%d,p=%d,h=%d", n(2, 4), n(1, 2), n(1, 2)) },
		func() string { return "trimmed:supernodes=4,leaves=3,hosts=2,mids=4,tops=2,planes=2" },
	}
	text := rapid.SampledFrom(texts).Draw(t, "form")()
	text += rapid.SampledFrom([]string{"", ",lost=0.1", ",lost=0.4"}).Draw(t, "lost")
	s, err := topology.Parse(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	f, _ := s.Build()
	return f
}

// drawWild draws a fabric without any form.
func drawWild(t *rapid.T) *fabric.Fabric {
	const ports = 12
	var b fabric.Builder
	switches := rapid.IntRange(1, 20).Draw(t, "switches")
	hosts := rapid.IntRange(0, 20).Draw(t, "hosts")
	add := func(i int, kind fabric.Kind, ports uint16, mcap int32) {
		b.AddNode(fabric.Node{GUID: ib.GUID(i + 1), Kind: kind, NumPorts: ports, MulticastCap: mcap}, fabric.Place{})
	}
	for i := range switches {
		mcap := rapid.SampledFrom([]int32{fabric.CapUnknown, fabric.CapUnknown, 100, 0}).Draw(t, "mcap")
		add(i, fabric.Switch, ports, mcap)
	}
	for i := range hosts {
		add(switches+i, fabric.Adapter, 2, fabric.CapUnknown)
	}
	used := map[fabric.End]bool{}
	free := func(node, ports int) (fabric.End, bool) {
		e := fabric.End{Node: fabric.NodeID(node), Port: uint16(rapid.IntRange(1, ports).Draw(t, "port"))}
		taken := used[e]
		used[e] = true
		return e, !taken
	}
	join := func(x, xports, y, yports int) {
		from, ok := free(x, xports)
		if to, ok2 := free(y, yports); ok && ok2 {
			b.Cable(from, to, ib.LinkRate{}, fabric.Place{})
		}
	}
	for i := range hosts {
		join(switches+i, 2, rapid.IntRange(0, switches-1).Draw(t, "leaf"), ports)
		join(switches+i, 2, rapid.IntRange(0, switches-1).Draw(t, "leaf"), ports)
	}
	for range rapid.IntRange(0, 3*switches).Draw(t, "cables") {
		join(rapid.IntRange(0, switches-1).Draw(t, "from"), ports, rapid.IntRange(0, switches-1).Draw(t, "to"), ports)
	}
	f, _ := b.Build()
	return f
}

// drawGroups draws groups of adapter ports and, where switches are asked for, of
// switches too; some are empty, of one member, or on one switch.
func drawGroups(t *rapid.T, f *fabric.Fabric, switches bool) []fabric.Group {
	ends := f.EndPorts()
	if switches {
		for _, id := range f.Switches() {
			ends = append(ends, fabric.End{Node: id})
		}
	}
	var groups []fabric.Group
	if len(ends) == 0 {
		return groups
	}
	for i := range rapid.IntRange(1, 12).Draw(t, "groups") {
		group := fabric.Group{Name: fmt.Sprintf("group-%d", i)}
		size := rapid.IntRange(0, min(len(ends), 20)).Draw(t, "size")
		for _, k := range rapid.SliceOfNDistinct(rapid.IntRange(0, len(ends)-1), 0, size, rapid.ID).Draw(t, "members") {
			group.Members = append(group.Members, ends[k])
		}
		groups = append(groups, group)
	}
	return groups
}

// drawGraph draws a graph, perhaps ordered by OrderFor, and its hop table.
func drawGraph(t *rapid.T, f *fabric.Fabric) (*route.Graph, *route.Hops) {
	g := route.NewGraph(f, route.Selection{MulticastOnly: rapid.Bool().Draw(t, "multicast only")})
	if rapid.Bool().Draw(t, "ordered") {
		g = g.Ordered(route.OrderFor(g))
	}
	return g, hopsOf(t, g)
}

type fataler interface {
	Helper()
	Fatal(args ...any)
}

func hopsOf(t fataler, g *route.Graph) *route.Hops {
	t.Helper()
	h, err := route.NewHops(g, 2)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// routed is a graph with a demand that an engine laid trees for.
type routed struct {
	g *route.Graph
	h *route.Hops
	d *route.Demand
	s *route.State
}

func layAll(t fataler, g *route.Graph, h *route.Hops, groups []fabric.Group, e multicast.Engine, o multicast.Options) routed {
	t.Helper()
	r := routed{g, h, route.NewDemand(g, groups), route.NewState(g, h)}
	if _, err := route.All(r.s, r.d, route.NewFinder(h), e.New(g, h, o), time.Now); err != nil {
		t.Fatal(err)
	}
	return r
}

// lay is a generated fabric and pattern laid by an engine.
func lay(t testing.TB, form, groups, engine string) routed {
	t.Helper()
	f := generate(t, form)
	made, err := pattern.Generate(f, groups)
	if err != nil {
		t.Fatal(err)
	}
	return layGroups(t, f, made, engine)
}

func layGroups(t testing.TB, f *fabric.Fabric, groups []fabric.Group, engine string) routed {
	t.Helper()
	e, err := multicast.Lookup(engine)
	if err != nil {
		t.Fatal(err)
	}
	g := route.NewGraph(f, route.Selection{MulticastOnly: true})
	return layAll(t, g, hopsOf(t, g), groups, e, multicast.Options{})
}

func generate(t testing.TB, form string) *fabric.Fabric {
	t.Helper()
	f, err := topology.Generate(form)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func noFaults(t interface {
	Helper()
	Errorf(format string, args ...any)
}, faults []route.Fault,
) {
	t.Helper()
	for i, f := range faults {
		if i == 5 {
			t.Errorf("and %d more", len(faults)-i)
			return
		}
		t.Errorf("%s: %v", f.Kind, f)
	}
}

// bfs is the plain search that hop tables are held against: hops from x, going
// up only in an ordered graph, to every vertex; route.Far where there is none.
func bfs(g *route.Graph, x int32) []byte {
	hops := make([]byte, g.NumVertices())
	for v := range hops {
		hops[v] = route.Far
	}
	if !g.Usable(x) {
		return hops
	}
	hops[x] = 0
	queue := []int32{x}
	for len(queue) > 0 {
		v := queue[0]
		queue = queue[1:]
		for _, a := range g.Up(v) {
			if hops[a.To] == route.Far {
				hops[a.To] = hops[v] + 1
				queue = append(queue, a.To)
			}
		}
	}
	return hops
}

var noOptions multicast.Options

func minihop(t fataler) multicast.Engine {
	t.Helper()
	e, err := multicast.Lookup("minihop")
	if err != nil {
		t.Fatal(err)
	}
	return e
}
