package multicast

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"heddle/fabric/topology"
	"heddle/route"
)

// bed is a small fabric with loads, on which trees are grown.
type bed struct {
	g    *route.Graph
	h    *route.Hops
	load []int32
}

func drawBed(t *rapid.T) bed {
	f, err := topology.Generate(rapid.SampledFrom([]string{
		"fat-tree:k=4", "torus:5x4x3,e=1", "torus:7x6,e=1", "dragonfly:a=4,p=1,h=1", "random:switches=30,degree=4,hosts=1,seed=3",
		"trimmed:supernodes=4,leaves=3,hosts=1,mids=4,tops=2,planes=2",
	}).Draw(t, "fabric"))
	if err != nil {
		t.Fatal(err)
	}
	b := bed{g: route.NewGraph(f, route.Selection{})}
	if b.h, err = route.NewHops(b.g, 1); err != nil {
		t.Fatal(err)
	}
	b.load = make([]int32, b.g.NumEdges())
	for e := range b.load {
		b.load[e] = int32(rapid.IntRange(0, 6).Draw(t, "load"))
	}
	return b
}

// grow builds a tree for some leaves on one of their centers.
func (b bed) grow(t *rapid.T) (w *weave, radius int32) {
	all := make([]int32, b.g.NumVertices())
	for v := range all {
		all[v] = int32(v)
	}
	leaves := rapid.SliceOfNDistinct(rapid.SampledFrom(all), 2, min(12, len(all)), rapid.ID[int32]).Draw(t, "leaves")
	c := route.NewScanFinder(b.h).Find(leaves)
	w = newWeave(b.g, b.h, Options{}).(*weave)
	w.most = allLabels
	w.set(slope{20, 0.1}, int(slices.Max(b.load)))
	w.group(leaves)
	root := firstRoot(c, nil)
	sum, _ := w.build(root, leaves, c.Radius, b.load, math.Inf(1))
	checkSprout(t, w, leaves, int32(c.Radius))
	if got := w.price(b.load); math.Abs(got-sum) > 1e-9*sum {
		t.Fatalf("build says that the tree costs %v, its edges cost %v", sum, got)
	}
	return w, int32(c.Radius)
}

func (w *weave) price(load []int32) float64 { return w.sum(w.list(nil), load) }

// checkSprout holds parents, children, depths and leaves against each other.
func checkSprout(t *rapid.T, w *weave, leaves []int32, radius int32) {
	seen := map[int32]bool{}
	for _, v := range w.preorder(w.root, nil) {
		if seen[v] {
			t.Fatalf("vertex %d twice in the tree", v)
		}
		seen[v] = true
		if v == w.root {
			continue
		}
		s, p := w.at[v], w.at[w.at[v].parent]
		a, b := w.g.Ends(s.edge)
		if !(a == v && b == s.parent) && !(b == v && a == s.parent) {
			t.Fatalf("edge %d joins %d and %d, not %d and %d", s.edge, a, b, v, s.parent)
		}
		if s.depth != p.depth+1 || s.depth > radius {
			t.Fatalf("vertex %d at depth %d below one at %d, radius %d", v, s.depth, p.depth, radius)
		}
		if s.child < 0 && !w.isLeaf(v) {
			t.Fatalf("vertex %d is in the tree for nobody", v)
		}
	}
	for _, v := range leaves {
		if !seen[v] {
			t.Fatalf("leaf %d is not in the tree", v)
		}
	}
	for v := range w.at {
		if w.has(int32(v)) != seen[int32(v)] {
			t.Fatalf("vertex %d: marked %v, in the tree %v", v, w.has(int32(v)), seen[int32(v)])
		}
	}
}

// leavesOf lists the leaves of the group at hand.
func (w *weave) leavesOf() (list []int32) {
	for v := range int32(len(w.at)) {
		if w.isLeaf(v) {
			list = append(list, v)
		}
	}
	return list
}

func TestMovesKeepTheTreeAndTheirWord(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := drawBed(t)
		w, radius := b.grow(t)
		before := w.price(b.load)
		for _, change := range []func(int32, []int32) float64{w.moveAll, w.dissolveAll, w.moveAll} {
			gain := change(radius, b.load)
			checkSprout(t, w, w.leavesOf(), radius)
			after := w.price(b.load)
			if gain > 1e-9 || math.Abs(after-before-gain) > 1e-6*before {
				t.Fatalf("price %v -> %v, but the change is said to be %v", before, after, gain)
			}
			before = after
		}
	})
}

func TestListRestores(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := drawBed(t)
		w, radius := b.grow(t)
		edges := w.list(nil)
		w.restore(w.root, edges)
		checkSprout(t, w, w.leavesOf(), radius)
		again := w.list(nil)
		slices.Sort(edges)
		slices.Sort(again)
		if diff := cmp.Diff(edges, again); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestSortedListsParentsFirst(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := drawBed(t)
		w, radius := b.grow(t)
		edges := rapid.Permutation(w.list(nil)).Draw(t, "order")
		root := w.root
		w.restore(root, w.sorted(route.Tree{Root: root, Edges: edges}))
		checkSprout(t, w, w.leavesOf(), radius)
	})
}
