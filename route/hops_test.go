package route_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"heddle/route"
)

func TestHopsAreThoseOfASearch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g, h := drawGraph(t, drawFabric(t))
		for x := range int32(g.NumVertices()) {
			want := bfs(g, x)
			if diff := cmp.Diff(want, h.From(x)); diff != "" {
				t.Fatalf("hops from %d (-want +got):\n%s", x, diff)
			}
			for r, d := range want {
				if h.To(int32(r))[x] != d {
					t.Fatalf("hops from %d to %d are %d in To, %d in From", x, r, h.To(int32(r))[x], d)
				}
			}
		}
		noFaults(t, route.CheckHops(g, h))
	})
}

// TestFindersAgree: the fast finders find what the scan of OpenSM finds, and
// that what plain searches say. The number of switches is seldom a multiple of
// 8 or 64.
func TestFindersAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := drawFabric(t)
		g, h := drawGraph(t, f)
		d := route.NewDemand(g, drawGroups(t, f, true))
		finders := map[string]route.Finder{"scan": route.NewScanFinder(h), "word": route.NewWordFinder(h), "chosen": route.NewFinder(h)}
		if h.Max() <= route.MaxBallRadius {
			finders["ball"] = route.NewBallFinder(h)
		}
		for i := range d.NumGroups() {
			leaves := d.Leaves(i)
			if len(leaves) == 0 {
				continue
			}
			want, least := centers(g, leaves)
			for name, finder := range finders {
				c := finder.Find(leaves)
				if c.Radius != least {
					t.Fatalf("%s: radius %d, want %d", name, c.Radius, least)
				}
				if diff := cmp.Diff(want, members(c, g.NumVertices())); diff != "" {
					t.Fatalf("%s: centers of %v (-want +got):\n%s", name, leaves, diff)
				}
			}
		}
	})
}

func centers(g *route.Graph, leaves []int32) (list []int32, least byte) {
	least = byte(radius(g, leaves))
	if least == route.Far {
		return nil, least
	}
	rows := make([][]byte, len(leaves))
	for k, leaf := range leaves {
		rows[k] = bfs(g, leaf)
	}
	for v := range int32(g.NumVertices()) {
		if !slices.ContainsFunc(rows, func(row []byte) bool { return row[v] > least }) {
			list = append(list, v)
		}
	}
	return list, least
}

// members lists what is in a set; all of its words are looked at.
func members(c route.Centers, n int) (list []int32) {
	for v := range int32(len(c.Set) * 64) {
		if c.Has(v) {
			list = append(list, v)
		}
	}
	if len(list) > 0 && int(list[len(list)-1]) >= n {
		list = append(list, -1) // beyond the last vertex
	}
	return list
}

func TestCheckHopsFindsErrors(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g, h := drawGraph(t, drawFabric(t))
		n := int32(g.NumVertices())
		r, x := rapid.Int32Range(0, n-1).Draw(t, "to"), rapid.Int32Range(0, n-1).Draw(t, "from")
		old := h.To(r)[x]
		h.To(r)[x] = rapid.Byte().Filter(func(b byte) bool { return b != old }).Draw(t, "hops")
		if len(route.CheckHops(g, h)) == 0 {
			t.Errorf("%d hops in place of %d from %d to %d are no fault", h.To(r)[x], old, x, r)
		}
	})
}
