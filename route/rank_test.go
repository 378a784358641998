package route_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"heddle/fabric"
	"heddle/ib"
	"heddle/route"
)

// TestRanksOfForms: fat trees and trimmed trees have ranks, whole and damaged;
// fabrics with hosts on every switch have none.
func TestRanksOfForms(t *testing.T) {
	tests := []struct {
		form string
		ok   bool
		want []int // switches of each rank
	}{
		{"fat-tree:k=4", true, []int{4, 8, 8}},
		{"fat-tree:k=8,lost=0.1,seed=3", true, []int{16, 32, 32}},
		{"bluelight", true, []int{8, 272, 544}},
		{"taihulight", true, []int{32, 1280, 2560}},
		{"single:hosts=3", true, []int{1}},
		{"torus:4x4x4", false, nil},
		{"dragonfly:a=4,p=2,h=2", false, nil},
		{"ring:n=5", false, nil},
	}
	for _, test := range tests {
		t.Run(test.form, func(t *testing.T) {
			g := route.NewGraph(generate(t, test.form), route.Selection{})
			ranks, ok := route.Ranks(g)
			var got []int
			for _, r := range ranks {
				for len(got) <= int(r) {
					got = append(got, 0)
				}
				got[r]++
			}
			if ok != test.ok {
				t.Fatalf("ranked: %v, want %v", ok, test.ok)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("switches by rank (-want +got):\n%s", diff)
			}
		})
	}
}

// TestRanksWithManagementNode: a host on a spine, or an aggregation node on
// every switch, does not make a leaf of it.
func TestRanksWithManagementNode(t *testing.T) {
	for _, aggregation := range []bool{false, true} {
		f := spineAndLeaves(aggregation)
		ranks, ok := route.Ranks(route.NewGraph(f, route.Selection{}))
		if diff := cmp.Diff(route.Order{0, 1, 1}, ranks); !ok || diff != "" {
			t.Errorf("aggregation nodes %v: ranked %v (-want +got):\n%s", aggregation, ok, diff)
		}
	}
}

// spineAndLeaves is a spine, 0, with one host and two leaves with three each;
// or with aggregation nodes on all.
func spineAndLeaves(aggregation bool) *fabric.Fabric {
	var b fabric.Builder
	for i := range 3 {
		b.AddNode(fabric.Node{GUID: ib.GUID(i + 1), Kind: fabric.Switch, NumPorts: 8}, fabric.Place{})
	}
	next, port := ib.GUID(10), [3]uint16{}
	cable := func(x fabric.NodeID, y fabric.NodeID, yPort uint16) {
		port[x]++
		b.Cable(fabric.End{Node: x, Port: port[x]}, fabric.End{Node: y, Port: yPort}, ib.LinkRate{}, fabric.Place{})
	}
	host := func(x fabric.NodeID, aggregation bool) {
		id := b.AddNode(fabric.Node{GUID: next, Kind: fabric.Adapter, NumPorts: 1, Aggregation: aggregation}, fabric.Place{})
		next++
		cable(x, id, 1)
	}
	for leaf := fabric.NodeID(1); leaf < 3; leaf++ {
		cable(0, leaf, 8)
		for range 3 {
			host(leaf, false)
		}
	}
	for x := range fabric.NodeID(3) {
		if aggregation || x == 0 {
			host(x, aggregation)
		}
	}
	f, _ := b.Build()
	return f
}

// TestOrderForLeavesOneTop: in a grown order, all ways up end at one switch of
// each component; in any order of OrderFor, some switch is above all leaves.
func TestOrderForHasRoots(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := route.NewGraph(drawFabric(t), route.Selection{})
		o := route.OrderFor(g)
		g = g.Ordered(o)
		leaves := map[int32][]int32{}
		tops := map[int32]int{}
		for v := range int32(g.NumVertices()) {
			if !g.Usable(v) {
				continue
			}
			if len(g.Up(v)) == 0 {
				tops[g.Part(v)]++
			}
			if g.HostsAt(v) > 0 {
				leaves[g.Part(v)] = append(leaves[g.Part(v)], v)
			}
		}
		_, ranked := route.Ranks(g)
		for part, n := range tops {
			if n != 1 && !ranked {
				t.Errorf("%d switches of component %d have no other above them", n, part)
			}
		}
		for part, list := range leaves {
			if radius(g, list) == route.Far {
				t.Errorf("no switch of component %d is above all leaves", part)
			}
		}
	})
}

// TestOrderForKeepsHeights: in whole trees of switches the order costs no height
// and no choice of roots that matters.
func TestOrderForKeepsHeights(t *testing.T) {
	for _, form := range []string{"fat-tree:k=8", "trimmed:supernodes=4,leaves=4,hosts=4,mids=4,tops=2,planes=2"} {
		free := lay(t, form, "random:200x9", "fulb")
		g := free.g.Ordered(route.OrderFor(free.g))
		up := layAll(t, g, hopsOf(t, g), groupsOf(free.d), minihop(t), noOptions)
		a, b := route.Measure(free.s, free.d), route.Measure(up.s, up.d)
		if diff := cmp.Diff(a.Heights, b.Heights); diff != "" {
			t.Errorf("%s: heights (-free +ordered):\n%s", form, diff)
		}
	}
}

func groupsOf(d *route.Demand) []fabric.Group {
	groups := make([]fabric.Group, d.NumGroups())
	for i := range groups {
		groups[i] = d.Group(i)
	}
	return groups
}
