package route_test

import (
	"testing"

	"heddle/fabric"
	"heddle/route"
)

// TestDragonflyKeepsHeights: under its order, trees in a dragonfly are as low as
// without one, or one hop higher where a router died, and the maximum EFI is well
// below the number of groups.
func TestDragonflyKeepsHeights(t *testing.T) {
	free := lay(t, "dragonfly:a=8,p=4,h=4", "random:400x12", "fulb")
	want := route.Measure(free.s, free.d).MaxHeight
	for i, dead := range [][]fabric.NodeID{nil, {5}} {
		f := free.g.Fabric().Without(dead, nil)
		g := route.NewGraph(f, route.Selection{})
		g = g.Ordered(route.OrderFor(g))
		up := layAll(t, g, hopsOf(t, g), groupsOf(free.d), minihop(t), noOptions)
		m := route.Measure(up.s, up.d)
		if m.MaxHeight > want+i || m.MaxEFI > 300 {
			t.Errorf("dead %v: height %d, maximum EFI %d, want at most %d and 300", dead, m.MaxHeight, m.MaxEFI, want+i)
		}
	}
}
