package route_test

import (
	"testing"

	"heddle/fabric"
	"heddle/route"
	"heddle/route/multicast"
)

// TestDragonflyKeepsHeights: under its order, trees in a dragonfly are as low as
// without one, or one hop higher where a router died, and the maximum EFI is well
// below the number of groups.
func TestDragonflyKeepsHeights(t *testing.T) {
	free := lay(t, "dragonfly:a=12,p=6,h=6", "random:400x8", "fulb")
	fulb, err := multicast.Lookup("fulb")
	if err != nil {
		t.Fatal(err)
	}
	want := route.Measure(free.s, free.d).MaxHeight
	for i, dead := range [][]fabric.NodeID{nil, {5}} {
		f := free.g.Fabric().Without(dead, nil)
		g := route.NewGraph(f, route.Selection{})
		g = g.Ordered(route.OrderFor(g))
		up := layAll(t, g, hopsOf(t, g), groupsOf(free.d), fulb, noOptions)
		m := route.Measure(up.s, up.d)
		if m.MaxHeight > want+i || m.MaxEFI > 45 {
			t.Errorf("dead %v: height %d, maximum EFI %d, want at most %d and 45", dead, m.MaxHeight, m.MaxEFI, want+i)
		}
	}
}
