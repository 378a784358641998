package route_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"heddle/fabric"
	"heddle/route"
	"heddle/route/multicast"
)

// TestMeasuresOfKnownTrees measures two trees on a ring of six switches with a
// host each, laid by hand.
func TestMeasuresOfKnownTrees(t *testing.T) {
	f := generate(t, "ring:n=6")
	ends := f.EndPorts()
	groups := []fabric.Group{
		{Members: []fabric.End{ends[0], ends[1], ends[2]}},
		{Members: []fabric.End{ends[1], {Node: 3}}},
		{Members: []fabric.End{ends[4], {Node: 4}}},
		{Members: []fabric.End{{Node: 5}}},
	}
	r := layGroups(t, f, groups, "minihop")
	want := route.Measures{
		Groups: 4, Members: 8, Edges: 6, MaxEFI: 2, AvgEFI: 4.0 / 6, Uses: 4, Links: 3,
		Histogram: []int{3, 2, 1}, MaxHeight: 2, Heights: []int{1, 1, 2},
	}
	if diff := cmp.Diff(want, route.Measure(r.s, r.d)); diff != "" {
		t.Errorf("measures (-want +got):\n%s", diff)
	}
}

// TestMeasuresAddUp holds measures against sums that are made another way.
func TestMeasuresAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := drawFabric(t)
		groups := drawGroups(t, f, true)
		g := route.NewGraph(f, route.Selection{MulticastOnly: true})
		r := layAll(t, g, hopsOf(t, g), groups, multicast.Engines()[0], multicast.Options{})
		m := route.Measure(r.s, r.d)
		want := route.Measures{Groups: len(groups), Members: -len(r.d.CutOff())}
		for i, group := range groups {
			want.Members += len(group.Members)
			tree := r.s.Tree(i)
			want.Uses += len(tree.Edges)
			want.MaxHeight = max(want.MaxHeight, memberHeight(g, tree, group.Members))
		}
		for e := range int32(g.NumEdges()) {
			if g.EdgeUp(e) {
				want.Edges++
				want.MaxEFI = max(want.MaxEFI, int(r.s.Load()[e]))
			}
		}
		got := route.Measures{Groups: m.Groups, Members: m.Members, Uses: m.Uses, MaxHeight: m.MaxHeight, Edges: m.Edges, MaxEFI: m.MaxEFI}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("measures (-want +got):\n%s", diff)
		}
		edges, groupsByHeight, weighted := 0, 0, 0
		for load, n := range m.Histogram {
			edges += n
			weighted += load * n
		}
		for _, n := range m.Heights {
			groupsByHeight += n
		}
		if edges != m.Edges || weighted != m.Uses || groupsByHeight != m.Groups {
			t.Errorf("histograms do not add up: %+v", m)
		}
	})
}

func memberHeight(g *route.Graph, tree route.Tree, members []fabric.End) int {
	height := 0
	if len(members) < 2 || tree.Root < 0 {
		return 0
	}
	for _, m := range members {
		leaf, ok := g.Fabric().Leaf(m)
		if !ok {
			continue
		}
		v := g.Vertex(leaf.Node)
		h := treeHeight(g, tree, []int32{v})
		if h >= 0 && leaf != m {
			h++
		}
		height = max(height, h)
	}
	return height
}

func TestHeightBelowOneSwitch(t *testing.T) {
	r := lay(t, "single:hosts=4", "grid:4", "fulb")
	if m := route.Measure(r.s, r.d); m.MaxHeight != 1 || m.MaxEFI != 0 || m.Edges != 0 || m.AvgEFI != 0 {
		t.Errorf("four hosts below one switch: %+v", m)
	}
}

func BenchmarkMeasure(b *testing.B) {
	r := lay(b, "dragonfly:a=18,p=9,h=9", "grid:81x27x12,order=oblivious", "fulb")
	for b.Loop() {
		route.Measure(r.s, r.d)
	}
}
