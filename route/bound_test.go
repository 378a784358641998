package route_test

import (
	"math/bits"
	"testing"

	"pgregory.net/rapid"

	"heddle/fabric"
	"heddle/route"
	"heddle/route/multicast"
)

// TestBoundsOfTrees holds the least numbers of edges that LowerBound adds up
// against the smallest trees there are.
func TestBoundsOfTrees(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := drawFabric(t)
		g := route.NewGraph(f, route.Selection{})
		h := hopsOf(t, g)
		for _, group := range drawGroups(t, f, true) {
			group.Members = group.Members[:min(6, len(group.Members))]
			leaves := route.NewDemand(g, []fabric.Group{group}).Leaves(0)
			if len(leaves) < 2 {
				continue
			}
			want := smallest(g, leaves)
			if got := route.SpanBound(h, leaves); got > want {
				t.Errorf("by the spanning tree %d edges, but %d suffice for %v", got, want, leaves)
			}
			if got := route.AscentBound(g, leaves); got > want {
				t.Errorf("by dual ascent %d edges, but %d suffice for %v", got, want, leaves)
			}
		}
	})
}

// smallest is the number of edges of the smallest tree over some leaves, by the
// algorithm of Dreyfus and Wagner.
func smallest(g *route.Graph, leaves []int32) int {
	const far = 1 << 20
	n, full := g.NumVertices(), 1<<len(leaves)
	hops := make([][]byte, n)
	for v := range hops {
		hops[v] = bfs(g, int32(v))
	}
	cost := make([][]int, full)
	for set := 1; set < full; set++ {
		cost[set] = make([]int, n)
		for v := range n {
			cost[set][v] = far
			if bits.OnesCount(uint(set)) == 1 {
				cost[set][v] = int(hops[leaves[bits.TrailingZeros(uint(set))]][v])
			}
			for part := (set - 1) & set; part > 0; part = (part - 1) & set {
				cost[set][v] = min(cost[set][v], cost[part][v]+cost[set^part][v])
			}
		}
		for v := range n {
			for u := range n {
				cost[set][v] = min(cost[set][v], cost[set][u]+int(hops[u][v]))
			}
		}
	}
	return cost[full-1][leaves[0]]
}

// TestBoundOfAnyPartition: no partition gives a bound that an engine's trees are
// below.
func TestBoundOfAnyPartition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := drawFabric(t)
		g := route.NewGraph(f, route.Selection{MulticastOnly: true})
		h := hopsOf(t, g)
		e := rapid.SampledFrom(multicast.Engines()).Draw(t, "engine")
		r := layAll(t, g, h, drawGroups(t, f, true), e, noOptions)
		parts := rapid.Int32Range(1, int32(g.NumVertices())).Draw(t, "parts")
		label := rapid.SliceOfN(rapid.Int32Range(0, parts-1), g.NumVertices(), g.NumVertices()).Draw(t, "label")
		m := route.Measure(r.s, r.d)
		if b := route.PartBound(g, r.d, h, label, parts); b > m.MaxEFI {
			t.Errorf("the partition gives %d, the maximum EFI is %d", b, m.MaxEFI)
		}
	})
}

// TestKnownBounds: what each argument is there for.
func TestKnownBounds(t *testing.T) {
	for _, test := range []struct {
		form, groups string
		want         int
	}{
		{"single:hosts=8", "grid:4x2", 0},
		{"fat-tree:k=16", "grid:16x64", 2},                         // a leaf: 9 groups by 8 links
		{"bluelight", "grid:32x32x34,procs=4", 16},                 // a supernode: 1024 groups by 64 links
		{"dragonfly:a=8,p=4,h=4", "grid:33x32,order=oblivious", 3}, // all 33 groups by 528 links
		{"torus:10x8x8,e=2", "grid:32x40,order=oblivious", 3},      // volume
		{"torus:6x6x6", "random:300x8", 8},                         // volume
		{"torus:12x10x10,e=2", "grid:40x60", 2},                    // volume
		{"ring:n=20", "grid:10x2,order=oblivious", 5},              // halves
	} {
		r := lay(t, test.form, test.groups, "minihop")
		if got := route.LowerBound(r.g, r.d, r.h); got != test.want {
			t.Errorf("%s %s: bound %d, want %d", test.form, test.groups, got, test.want)
		}
	}
}

// TestMoreStepsBoundNoLess: the dual ascent only adds.
func TestMoreStepsBoundNoLess(t *testing.T) {
	r := lay(t, "torus:6x6x6", "random:300x8", "minihop")
	none, all := route.LowerBoundWithin(r.g, r.d, r.h, 0), route.LowerBoundWithin(r.g, r.d, r.h, 1<<29)
	if none >= all {
		t.Errorf("the bound is %d without the dual ascent, %d with it", none, all)
	}
}

func BenchmarkLowerBound(b *testing.B) {
	for _, c := range [][2]string{{"dragonfly:a=18,p=9,h=9", "grid:81x27x12"}, {"torus:30x20x20,e=2", "random:2000x16"}} {
		b.Run(c[0], func(b *testing.B) {
			r := lay(b, c[0], c[1], "minihop")
			for b.Loop() {
				route.LowerBound(r.g, r.d, r.h)
			}
		})
	}
}
