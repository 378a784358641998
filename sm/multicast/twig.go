package multicast

import (
	"math"

	"heddle/route"
)

// twig is the tree at hand, as its surgeon sees it. Its memory is kept from
// tree to tree.
type twig struct {
	g     *route.Graph
	stamp int32
	in    []int32 // by vertex: the stamp of the last tree that has it
	head  []int32 // by vertex: its first half of an edge, -1 for none
	next  []int32 // by half: the next one of the same vertex
	fan   []int32 // by vertex: the number of edges
	leaf  []int32 // by vertex: the stamp of the last tree that it is a leaf of
	all   []int32 // the vertices
	edges []int32
	root  int32

	near, far []int32 // by vertex: hops from the two ends of a longest path
	order     []int32
	walk      int32
	met       []int32 // by vertex: the walk or search that last came by

	cost   []int64 // by vertex, of the search at hand
	level  []int32
	from   []route.Arc // by vertex: the way back
	front  []int32
	behind []int32
}

// on makes the twig one of a graph's family.
func (w *twig) on(g *route.Graph) {
	n := g.NumVertices()
	if w.g != nil && w.g.NumVertices() == n {
		w.g = g
		return
	}
	*w = twig{g: g}
	for _, p := range []*[]int32{&w.in, &w.head, &w.fan, &w.leaf, &w.near, &w.far, &w.met, &w.level} {
		*p = make([]int32, n)
	}
	w.cost, w.from = make([]int64, n), make([]route.Arc, n)
}

func (w *twig) has(v int32) bool { return w.in[v] == w.stamp }

// plant takes a tree that has a root.
func (w *twig) plant(t route.Tree) {
	w.stamp++
	w.root = t.Root
	w.all, w.edges, w.next = w.all[:0], w.edges[:0], w.next[:0]
	w.enter(t.Root)
	for _, e := range t.Edges {
		w.join(e)
	}
}

func (w *twig) enter(v int32) {
	if !w.has(v) {
		w.in[v], w.head[v], w.fan[v] = w.stamp, -1, 0
		w.all = append(w.all, v)
	}
}

func (w *twig) join(e int32) {
	a, b := w.g.Ends(e)
	at := int32(2 * len(w.edges))
	w.edges = append(w.edges, e)
	for side, v := range [2]int32{a, b} {
		w.enter(v)
		w.next = append(w.next, w.head[v])
		w.head[v] = at + int32(side)
		w.fan[v]++
	}
}

// other is the vertex at the other end of a half.
func (w *twig) other(half int32) int32 {
	a, b := w.g.Ends(w.edges[half>>1])
	if half&1 == 0 {
		return b
	}
	return a
}

// prune takes off all branches that lead to no leaf, and returns how many of
// the leaves are in what is left; 0 where nothing useful is.
func (w *twig) prune(leaves []int32) (kept int) {
	for _, v := range leaves {
		if w.has(v) {
			w.leaf[v] = w.stamp
			kept++
		}
	}
	if kept == 0 {
		return 0
	}
	cut := false
	for _, v := range w.all {
		for w.fan[v] == 1 && w.leaf[v] != w.stamp {
			half := w.head[v]
			for w.edges[half>>1] < 0 {
				half = w.next[half]
			}
			u := w.other(half)
			w.edges[half>>1] = -1
			w.fan[v]--
			w.fan[u]--
			cut = true
			v = u
		}
	}
	if cut {
		w.replant(leaves)
	}
	return kept
}

// replant takes the tree without the edges that were cut.
func (w *twig) replant(leaves []int32) {
	t := route.Tree{Root: w.root}
	for _, v := range leaves {
		if w.leaf[v] == w.stamp {
			t.Root = v
		}
	}
	for _, e := range w.edges {
		if e >= 0 {
			t.Edges = append(t.Edges, e)
		}
	}
	w.plant(t)
}

// spread walks the tree from a vertex, notes the hops, and returns the last
// vertex that it came to, which is a farthest.
func (w *twig) spread(from int32, hops []int32) int32 {
	w.walk++
	w.order = append(w.order[:0], from)
	w.met[from], hops[from] = w.walk, 0
	for i := 0; i < len(w.order); i++ {
		u := w.order[i]
		for half := w.head[u]; half >= 0; half = w.next[half] {
			if v := w.other(half); w.met[v] != w.walk {
				w.met[v], hops[v] = w.walk, hops[u]+1
				w.order = append(w.order, v)
			}
		}
	}
	return w.order[len(w.order)-1]
}

// connected tells whether all is connected with the root.
func (w *twig) connected() bool {
	w.spread(w.root, w.near)
	return len(w.order) == len(w.all)
}

// measure finds for each vertex how far the farthest is (see reach), and returns
// the length of a longest path.
func (w *twig) measure() int32 {
	end := w.spread(w.spread(w.root, w.near), w.near)
	w.spread(end, w.far)
	return w.near[end]
}

// reach is the most hops from a vertex of the tree to another: to one of the
// ends of a longest path.
func (w *twig) reach(v int32) int32 { return max(w.near[v], w.far[v]) }

// center is a vertex that has the least reach.
func (w *twig) center() int32 {
	w.measure()
	best := w.all[0]
	for _, v := range w.all {
		if w.reach(v) < w.reach(best) {
			best = v
		}
	}
	return best
}

// graft adds the shortest branch to a new leaf with which no path in the tree is
// longer than limit, of equals that on the least loaded links. The tree must be
// measured, and is so afterwards.
func (w *twig) graft(g *route.Graph, load []int32, leaf, limit int32) bool {
	w.walk++
	w.met[leaf], w.cost[leaf], w.level[leaf] = w.walk, 0, 0
	w.from[leaf] = route.Arc{To: -1, Edge: -1}
	w.front = append(w.front[:0], leaf)
	for d := int32(1); d <= limit && len(w.front) > 0; d++ {
		if end, ok := w.step(g, load, d, limit); ok {
			w.attach(end)
			w.measure()
			return true
		}
		w.front, w.behind = w.behind, w.front
	}
	return false
}

// step goes one hop on from the front. It returns the cheapest arc into the
// tree, as one that leads back.
func (w *twig) step(g *route.Graph, load []int32, d, limit int32) (end route.Arc, ok bool) {
	least := int64(math.MaxInt64)
	w.behind = w.behind[:0]
	for _, u := range w.front {
		for _, a := range g.Up(u) {
			n := int64(load[a.Edge]) + 1
			c := w.cost[u] + n*n
			switch {
			case w.has(a.To):
				if c < least && d+w.reach(a.To) <= limit {
					least, end, ok = c, route.Arc{To: u, Edge: a.Edge}, true
				}
			case w.met[a.To] != w.walk:
				w.met[a.To], w.level[a.To] = w.walk, d
				w.cost[a.To], w.from[a.To] = c, route.Arc{To: u, Edge: a.Edge}
				w.behind = append(w.behind, a.To)
			case w.level[a.To] == d && c < w.cost[a.To]:
				w.cost[a.To], w.from[a.To] = c, route.Arc{To: u, Edge: a.Edge}
			}
		}
	}
	return end, ok
}

// attach adds the edges of a branch, from the tree outwards.
func (w *twig) attach(a route.Arc) {
	for {
		w.join(a.Edge)
		if w.from[a.To].To < 0 {
			return
		}
		a = w.from[a.To]
	}
}
