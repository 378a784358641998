package route_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"heddle/fabric"
	"heddle/ib"
	"heddle/route"
	"heddle/route/multicast"
	"heddle/route/unicast"
)

// waits is a channel-dependency graph with maps, made in the plainest way.
type waits map[route.Channel]map[route.Channel]bool

func (w waits) add(in, out route.Channel) {
	if w[in] == nil {
		w[in] = map[route.Channel]bool{}
	}
	w[in][out] = true
}

// addTrees looks at all pairs of edges of each tree.
func (w waits) addTrees(s *route.State) {
	for i := range s.NumTrees() {
		var channels []route.Channel
		for _, e := range s.Tree(i).Edges {
			l := s.Graph.Link(e)
			channels = append(channels, route.Channel{From: l.A, To: l.B}, route.Channel{From: l.B, To: l.A})
		}
		for _, in := range channels {
			for _, out := range channels {
				if in.To.Node == out.From.Node && in.To != out.From {
					w.add(in, out)
				}
			}
		}
	}
}

// addPaths follows the path of each LID from each host's switch.
func (w waits) addPaths(t *route.LFTs) {
	f := t.Graph.Fabric()
	for l := ib.MinUnicastLID; l <= t.LIDs.Top(); l++ {
		if owner, ok := t.LIDs.Owner(l); !ok || f.Node(owner.Node).Kind == fabric.Switch {
			continue
		}
		for v := range int32(t.Graph.NumVertices()) {
			if t.Graph.HostsAt(v) > 0 {
				w.addPath(t, v, l)
			}
		}
	}
}

func (w waits) addPath(t *route.LFTs, v int32, l ib.LID) {
	f := t.Graph.Fabric()
	var before route.Channel
	for hops := 0; hops <= t.Graph.NumVertices(); hops++ {
		to, ok := t.Exit(v, l)
		if !ok || t.Graph.Vertex(to.Node) < 0 {
			return
		}
		from := fabric.End{Node: t.Graph.Node(v), Port: uint16(t.Tables[v].Lookup(l))}
		if peer, ok := f.Peer(from); !ok || peer != to {
			return
		}
		channel := route.Channel{From: from, To: to}
		if hops > 0 {
			w.add(before, channel)
		}
		before, v = channel, t.Graph.Vertex(to.Node)
	}
}

// cyclic takes channels away that wait for none that is left, while there are
// such.
func (w waits) cyclic() bool {
	left := maps.Clone(w)
	for {
		before := len(left)
		for in, outs := range left {
			waiting := false
			for out := range outs {
				if _, ok := left[out]; ok {
					waiting = true
				}
			}
			if !waiting {
				delete(left, in)
			}
		}
		if len(left) == before {
			return before > 0
		}
	}
}

// TestDependencies: cycles are found where there are some, and an example is one.
func TestDependencies(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := drawFabric(t)
		g := route.NewGraph(f, route.Selection{})
		h := hopsOf(t, g)
		e := rapid.SampledFrom(multicast.Engines()).Draw(t, "engine")
		r := layAll(t, g, h, drawGroups(t, f, true), e, noOptions)
		lids, err := route.AssignLIDs(f, uint8(rapid.IntRange(0, 2).Draw(t, "lmc")))
		if err != nil {
			t.Fatal(err)
		}
		paths, err := rapid.SampledFrom(unicast.Engines()).Draw(t, "unicast").Route(g, h, lids, unicast.Options{Workers: 2})
		if err != nil {
			t.Fatal(err)
		}
		d, w := route.NewDependencies(g), waits{}
		if rapid.Bool().Draw(t, "trees") {
			d.AddTrees(r.s)
			w.addTrees(r.s)
			checkCycle(t, d, w)
		}
		if rapid.Bool().Draw(t, "paths") {
			d.AddPaths(paths)
			w.addPaths(paths)
			checkCycle(t, d, w)
		}
	})
}

func checkCycle(t *rapid.T, d *route.Dependencies, w waits) {
	c := d.Cycle()
	if c.Cyclic() != w.cyclic() {
		t.Fatalf("cyclic: %v, want %v", c.Cyclic(), w.cyclic())
	}
	for i, channel := range c {
		if next := c[(i+1)%len(c)]; !w[channel][next] {
			t.Fatalf("%v does not wait for %v", channel, next)
		}
	}
	seen := map[route.Channel]bool{}
	for _, channel := range c {
		if seen[channel] {
			t.Fatalf("%v is in the cycle twice", channel)
		}
		seen[channel] = true
	}
}

// TestKnownCycles: what the deadlock section of the domain text tells of healthy
// trees, rings and tori.
func TestKnownCycles(t *testing.T) {
	tests := []struct {
		form, groups          string
		multicast, uni, mixed bool
	}{
		{"fat-tree:k=6", "random:100x6", false, false, false},
		{"trimmed:supernodes=4,leaves=4,hosts=4,mids=4,tops=2,planes=2", "random:100x6", false, false, false},
		{"ring:n=6", "random:20x3", true, true, true},
		{"torus:4x4x3,e=2", "random:100x5", true, true, true},
		{"dragonfly:a=4,p=2,h=2", "random:100x6", true, true, true},
		{"ring:n=5", "grid:5x1", false, true, true},
	}
	for _, test := range tests {
		t.Run(test.form, func(t *testing.T) {
			r := lay(t, test.form, test.groups, "fulb")
			d := route.NewDependencies(r.g)
			d.AddTrees(r.s)
			if c := d.Cycle(); c.Cyclic() != test.multicast {
				t.Errorf("multicast is cyclic: %v, want %v", c.Cyclic(), test.multicast)
			}
			both := d
			paths := minhopPaths(t, r.g, r.h, 0)
			d = route.NewDependencies(r.g)
			d.AddPaths(paths)
			if c := d.Cycle(); c.Cyclic() != test.uni {
				t.Errorf("unicast is cyclic: %v, want %v", c.Cyclic(), test.uni)
			}
			both.AddPaths(paths)
			if c := both.Cycle(); c.Cyclic() != test.mixed {
				t.Errorf("both are cyclic: %v, want %v", c.Cyclic(), test.mixed)
			}
		})
	}
}

func minhopPaths(t fataler, g *route.Graph, h *route.Hops, lmc uint8) *route.LFTs {
	t.Helper()
	lids, err := route.AssignLIDs(g.Fabric(), lmc)
	if err != nil {
		t.Fatal(err)
	}
	e, err := unicast.Lookup("minhop")
	if err != nil {
		t.Fatal(err)
	}
	paths, err := e.Route(g, h, lids, unicast.Options{Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

func TestCycleText(t *testing.T) {
	r := lay(t, "ring:n=5", "grid:5", "minihop")
	d := route.NewDependencies(r.g)
	d.AddPaths(minhopPaths(t, r.g, r.h, 0))
	text := d.Cycle().Text(r.g.Fabric())
	if n := strings.Count(text, " -> "); n != 5 || strings.Count(text, "port") != 10 {
		t.Errorf("a ring of 5 waits in a cycle of %d: %s", n, text)
	}
	parts := strings.Split(text, ", ")
	slices.Sort(parts)
	if len(slices.Compact(parts)) != 5 {
		t.Errorf("links twice in %s", text)
	}
}

func BenchmarkDependenciesOfTrees(b *testing.B) {
	r := lay(b, "dragonfly:a=18,p=9,h=9", "grid:81x27x12,order=oblivious", "fulb")
	for b.Loop() {
		d := route.NewDependencies(r.g)
		d.AddTrees(r.s)
		if !d.Cycle().Cyclic() {
			b.Fatal("no cycle")
		}
	}
}
