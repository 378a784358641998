package route_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"heddle/fabric/topology"
	"heddle/route"
)

// TestOrderForDamagedTrees: a fat tree that lost links keeps its ranks, but for
// few edges, and a switch above all leaves.
func TestOrderForDamagedTrees(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec := fmt.Sprintf("%s,lost=%.2f,seed=%d",
			rapid.SampledFrom([]string{"fat-tree:k=6", "fat-tree:k=8", "fat-tree:k=8,levels=2"}).Draw(t, "form"),
			rapid.Float64Range(0, 0.15).Draw(t, "lost"), rapid.IntRange(1, 99).Draw(t, "seed"))
		f, err := topology.Generate(spec)
		if err != nil {
			t.Skip("the loss cut the fabric in pieces")
		}
		g := route.NewGraph(f, route.Selection{})
		ranks, ok := route.Ranks(g)
		if !ok {
			t.Fatalf("%s: no ranks", spec)
		}
		ordered := g.Ordered(route.OrderFor(g))
		if n, most := against(ordered, ranks), leafCount(g)+g.NumVertices(); n > most {
			t.Errorf("%s: %d edges against the ranks", spec, n)
		}
		if !hasTop(t, ordered) {
			t.Errorf("%s: no switch is above all leaves", spec)
		}
	})
}

// against counts the arcs that lead up in the graph and down by rank.
func against(g *route.Graph, ranks route.Order) (n int) {
	for v := range int32(g.NumVertices()) {
		for _, a := range g.Up(v) {
			if ranks[a.To] > ranks[v] {
				n++
			}
		}
	}
	return n
}

func leafCount(g *route.Graph) (n int) {
	for v := range int32(g.NumVertices()) {
		if g.HostsAt(v) > 0 {
			n++
		}
	}
	return n
}

func hasTop(t *rapid.T, g *route.Graph) bool {
	h, err := route.NewHops(g, 1)
	if err != nil {
		t.Fatal(err)
	}
	for r := range int32(g.NumVertices()) {
		all := true
		for v := range int32(g.NumVertices()) {
			all = all && (g.HostsAt(v) == 0 || h.To(r)[v] != route.Far)
		}
		if all {
			return true
		}
	}
	return false
}

// TestOrderForKeepsRoots: with few links lost, valley-free trees are as well
// spread as others.
func TestOrderForKeepsRoots(t *testing.T) {
	f, err := topology.Generate("fat-tree:k=12,lost=0.03")
	if err != nil {
		t.Fatal(err)
	}
	g := route.NewGraph(f, route.Selection{})
	ranks, _ := route.Ranks(g)
	if n := against(g.Ordered(route.OrderFor(g)), ranks); n == 0 || n > 20 {
		t.Errorf("%d edges against the ranks; some are needed, but few", n)
	}
}
