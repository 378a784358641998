package route_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"heddle/fabric"
	"heddle/fabric/topology"
	"heddle/route"
)

// TestHopsOn holds mended tables against tables made anew, through a history of
// losses and returns.
func TestHopsOn(t *testing.T) {
	specs := []string{
		"fat-tree:k=4", "fat-tree:k=6", "torus:5x4,e=1", "torus:3x3x3,e=1", "ring:n=9",
		"dragonfly:a=3,p=1,h=1", "random:switches=17,degree=3,hosts=1,seed=4", "random:switches=70,degree=3,hosts=1,seed=1",
	}
	rapid.Check(t, func(t *rapid.T) {
		f, err := topology.Generate(rapid.SampledFrom(specs).Draw(t, "fabric"))
		if err != nil {
			t.Fatal(err)
		}
		var order route.Order
		g := route.NewGraph(f, route.Selection{})
		if rapid.Bool().Draw(t, "ordered") {
			order = make(route.Order, g.NumVertices())
			for v := range order {
				order[v] = int32(rapid.IntRange(0, 5).Draw(t, "rank"))
			}
			g = g.Ordered(order)
		}
		h := hopsFor(t, g)
		for range rapid.IntRange(1, 4).Draw(t, "steps") {
			f = change(t, f)
			g = g.On(f)
			if h, err = h.On(g); err != nil {
				t.Fatal(err)
			}
			sameHops(t, h, hopsFor(t, route.NewGraph(f, route.Selection{Order: order})))
		}
	})
}

func hopsFor(t *rapid.T, g *route.Graph) *route.Hops {
	h, err := route.NewHops(g, 1)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// change takes some nodes and links out, and brings some back.
func change(t *rapid.T, f *fabric.Fabric) *fabric.Fabric {
	nodes := rapid.SliceOfN(rapid.SampledFrom(f.Switches()), 0, 2)
	links := rapid.SliceOfN(rapid.IntRange(0, f.NumLinks()-1), 0, 4)
	pick := func(name string) (ids []fabric.LinkID) {
		for _, l := range links.Draw(t, name) {
			ids = append(ids, fabric.LinkID(l))
		}
		return ids
	}
	f = f.Without(nodes.Draw(t, "dead switches"), pick("dead links"))
	return f.With(nodes.Draw(t, "switches back"), pick("links back"))
}

func sameHops(t *rapid.T, got, want *route.Hops) {
	for r := range int32(len(want.To(0))) {
		if a, b := fmt.Sprint(got.To(r)), fmt.Sprint(want.To(r)); a != b {
			t.Fatalf("hops to %d\ngot  %s\nwant %s", r, a, b)
		}
		if a, b := fmt.Sprint(got.From(r)), fmt.Sprint(want.From(r)); a != b {
			t.Fatalf("hops from %d\ngot  %s\nwant %s", r, a, b)
		}
	}
	if got.Max() < want.Max() {
		t.Fatalf("max %d, want at least %d", got.Max(), want.Max())
	}
}
