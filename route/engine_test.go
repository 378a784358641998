package route_test

import (
	"errors"
	"testing"
	"time"

	"pgregory.net/rapid"

	"heddle/fabric"
	"heddle/route"
	"heddle/route/multicast"
)

// TestEnginesLayTrees is the conformance test of all multicast engines: on any
// fabric, with any groups, their trees and the tables made from them are right,
// and the bound holds.
func TestEnginesLayTrees(t *testing.T) {
	for _, e := range multicast.Engines() {
		for effort := 1; effort <= efforts(e); effort++ {
			t.Run(e.Name, func(t *testing.T) {
				rapid.Check(t, func(t *rapid.T) { checkEngine(t, e, effort) })
			})
		}
	}
}

// efforts is how many efforts an engine has.
func efforts(e multicast.Engine) int {
	if e.Name == "weave" {
		return 3
	}
	return 1
}

func checkEngine(t *rapid.T, e multicast.Engine, effort int) {
	f := drawFabric(t)
	groups := drawGroups(t, f, true)
	g := route.NewGraph(f, route.Selection{MulticastOnly: true})
	r := layAll(t, g, hopsOf(t, g), groups, e, multicast.Options{Effort: effort})
	checkRouted(t, r)
}

func checkRouted(t *rapid.T, r routed) {
	noFaults(t, route.Check(r.s, r.d))
	checkHeights(t, r)
	m := route.Measure(r.s, r.d)
	if bound := route.LowerBound(r.g, r.d, r.h); bound > m.MaxEFI {
		t.Errorf("the bound is %d, the maximum EFI %d", bound, m.MaxEFI)
	}
	mlids, err := route.AssignMLIDs(r.s, r.d)
	if err != nil {
		t.Fatal(err)
	}
	tables, err := route.NewMFTs(r.s, r.d, mlids)
	if err != nil {
		t.Fatal(err)
	}
	noFaults(t, route.CheckMFTs(tables, r.d, mlids, 0))
}

// checkHeights is the oracle for the height of trees: no switch is nearer to all
// leaves, by plain searches.
func checkHeights(t *rapid.T, r routed) {
	for i := range r.d.NumGroups() {
		leaves := r.d.Leaves(i)
		if len(leaves) == 0 {
			continue
		}
		if want, got := radius(r.g, leaves), treeHeight(r.g, r.s.Tree(i), leaves); got != want {
			t.Errorf("group %d: height %d, want %d", i, got, want)
		}
	}
}

// radius is the least, over all switches, of the most hops from a leaf.
func radius(g *route.Graph, leaves []int32) int {
	most := make([]byte, g.NumVertices())
	for _, leaf := range leaves {
		for v, d := range bfs(g, leaf) {
			most[v] = max(most[v], d)
		}
	}
	least := byte(route.Far)
	for _, d := range most {
		least = min(least, d)
	}
	return int(least)
}

// treeHeight relaxes the tree's edges until nothing changes.
func treeHeight(g *route.Graph, t route.Tree, leaves []int32) int {
	depth := map[int32]int{t.Root: 0}
	for range t.Edges {
		for _, e := range t.Edges {
			a, b := g.Ends(e)
			if _, ok := depth[a]; !ok {
				a, b = b, a
			}
			if d, ok := depth[a]; ok {
				if _, ok := depth[b]; !ok {
					depth[b] = d + 1
				}
			}
		}
	}
	height := 0
	for _, leaf := range leaves {
		d, ok := depth[leaf]
		if !ok {
			return -1
		}
		height = max(height, d)
	}
	return height
}

// TestEnginesLayTreesUpwards is the same in ordered graphs: OrderFor gives a root
// to every group of adapters, trees lead up to it, and no engine's trees wait for
// each other in a cycle.
func TestEnginesLayTreesUpwards(t *testing.T) {
	for _, e := range multicast.Engines() {
		for effort := 1; effort <= efforts(e); effort++ {
			t.Run(e.Name, func(t *testing.T) {
				rapid.Check(t, func(t *rapid.T) { checkEngineUpwards(t, e, effort) })
			})
		}
	}
}

func checkEngineUpwards(t *rapid.T, e multicast.Engine, effort int) {
	f := drawFabric(t)
	groups := drawGroups(t, f, false)
	g := route.NewGraph(f, route.Selection{MulticastOnly: true})
	g = g.Ordered(route.OrderFor(g))
	r := layAll(t, g, hopsOf(t, g), groups, e, multicast.Options{Effort: effort})
	checkRouted(t, r)
	d := route.NewDependencies(g)
	d.AddTrees(r.s)
	if c := d.Cycle(); c.Cyclic() {
		t.Errorf("cycle: %s", c.Text(f))
	}
}

// TestNoRoot: an order may leave a group without a root; that is an error that
// names the group.
func TestNoRoot(t *testing.T) {
	f := generate(t, "ring:n=4")
	g := route.NewGraph(f, route.Selection{Order: route.Order{0, 1, 0, 1}})
	groups := []fabric.Group{{Name: "tops", Members: []fabric.End{{Node: 0}, {Node: 2}}}}
	h := hopsOf(t, g)
	s, d := route.NewState(g, h), route.NewDemand(g, groups)
	_, err := route.All(s, d, route.NewFinder(h), multicast.Engines()[0].New(g, h, multicast.Options{}), time.Now)
	var none *route.NoRootError
	if !errors.As(err, &none) || none.Group != 0 || none.Name != "tops" {
		t.Errorf("All = %v, want a NoRootError of group 0 tops", err)
	}
}

// TestOneGroupAtATime routes, takes out and routes anew in any order, and finds
// the load right after each step.
func TestOneGroupAtATime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := drawFabric(t)
		groups := drawGroups(t, f, true)
		g, h := drawGraph(t, f)
		d := route.NewDemand(g, groups)
		s := route.NewState(g, h)
		finder := route.NewFinder(h)
		e := rapid.SampledFrom(multicast.Engines()).Draw(t, "engine")
		r := e.New(g, h, multicast.Options{})
		laid := map[int]bool{}
		for range rapid.IntRange(0, 20).Draw(t, "steps") {
			if d.NumGroups() == 0 {
				return
			}
			i := rapid.IntRange(0, d.NumGroups()-1).Draw(t, "group")
			if laid[i] {
				s.Take(i)
			} else if err := route.One(s, i, d.Leaves(i), finder, r); err != nil {
				return // a group of switches without a common one above
			}
			laid[i] = !laid[i]
			checkLoad(t, s)
		}
	})
}

// checkLoad counts the load anew, with maps.
func checkLoad(t *rapid.T, s *route.State) {
	load, through := map[int32]int32{}, map[int32]int32{}
	for i := range s.NumTrees() {
		tree := s.Tree(i)
		if tree.Root < 0 {
			continue
		}
		on := map[int32]bool{tree.Root: true}
		for _, e := range tree.Edges {
			load[e]++
			a, b := s.Graph.Ends(e)
			on[a], on[b] = true, true
		}
		for v := range on {
			through[v]++
		}
	}
	for e, n := range s.Load() {
		if n != load[int32(e)] {
			t.Fatalf("load of edge %d is %d, want %d", e, n, load[int32(e)])
		}
	}
	for v, n := range s.Through() {
		if n != through[int32(v)] {
			t.Fatalf("load of vertex %d is %d, want %d", v, n, through[int32(v)])
		}
	}
}

// TestSSSPCosts: the lazy sssp-new finds paths of the same cost as Dijkstra's
// algorithm does, against the same load.
func TestSSSPCosts(t *testing.T) {
	lazy, err := multicast.Lookup("sssp-new")
	if err != nil {
		t.Fatal(err)
	}
	heap, err := multicast.Lookup("sssp-new-heap")
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		f := drawFabric(t)
		groups := drawGroups(t, f, false)
		g := route.NewGraph(f, route.Selection{MulticastOnly: true})
		if rapid.Bool().Draw(t, "ordered") {
			g = g.Ordered(route.OrderFor(g))
		}
		h := hopsOf(t, g)
		s, d, finder := route.NewState(g, h), route.NewDemand(g, groups), route.NewFinder(h)
		x, y := lazy.New(g, h, multicast.Options{}), heap.New(g, h, multicast.Options{})
		for i := range d.NumGroups() {
			leaves := d.Leaves(i)
			if len(leaves) < 2 {
				continue
			}
			c := finder.Find(leaves)
			a := pathCosts(s, x.Route(s, leaves, c), leaves)
			tree := y.Route(s, leaves, c)
			b := pathCosts(s, tree, leaves)
			for k := range leaves {
				if a[k] != b[k] {
					t.Fatalf("group %d leaf %d: costs %d and %d", i, k, a[k], b[k])
				}
			}
			s.Put(i, tree)
		}
	})
}

// pathCosts gives the load on each leaf's way to the root.
func pathCosts(s *route.State, t route.Tree, leaves []int32) []int {
	cost := map[int32]int{t.Root: 0}
	for range t.Edges {
		for _, e := range t.Edges {
			a, b := s.Graph.Ends(e)
			if _, ok := cost[a]; !ok {
				a, b = b, a
			}
			if _, ok := cost[b]; !ok && len(cost) > 0 {
				if c, ok := cost[a]; ok {
					cost[b] = c + int(s.Load()[e])
				}
			}
		}
	}
	costs := make([]int, len(leaves))
	for k, leaf := range leaves {
		costs[k] = cost[leaf]
	}
	return costs
}
