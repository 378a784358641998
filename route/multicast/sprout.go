package multicast

import "heddle/route"

// sprout is a tree that can be changed: rooted, with parents, children and
// depths.
type sprout struct {
	g     *route.Graph
	h     *route.Hops
	at    []spot // by vertex
	root  int32
	stamp int32 // of this tree
	turn  int32 // of this group's leaves
	round int32 // of this change, see mover
}

// spot is what is known of a vertex, together so that a look at it costs one
// cache line.
type spot struct {
	mark  int32 // the stamp of the last tree that has the vertex
	leaf  int32 // the turn of the last group with a leaf there
	depth int32 // hops from the root
	// taken is the round in which the vertex may not be used, or minus the round
	// in which it is free although it is in the tree.
	taken int32
	// cheap is the least price of a path found to the vertex in round met.
	cheap float64
	met   int32

	parent int32 // -1 for the root
	edge   int32 // the edge to the parent
	child  int32 // the first child, or -1
	next   int32 // the next child of the same parent, or -1
}

func newSprout(g *route.Graph, h *route.Hops) sprout {
	return sprout{g: g, h: h, at: make([]spot, g.NumVertices())}
}

func (t *sprout) has(v int32) bool { return t.at[v].mark == t.stamp }

// group sets the leaves of the trees to come.
func (t *sprout) group(leaves []int32) {
	t.turn++
	for _, v := range leaves {
		t.at[v].leaf = t.turn
	}
}

func (t *sprout) isLeaf(v int32) bool { return t.at[v].leaf == t.turn }

// plant starts a tree that is its root alone.
func (t *sprout) plant(root int32) {
	t.stamp++
	t.root = root
	t.enter(root)
	r := &t.at[root]
	r.parent, r.edge, r.depth = -1, -1, 0
}

// enter takes a vertex into the tree, without a parent as yet.
func (t *sprout) enter(v int32) {
	t.at[v].mark = t.stamp
	t.at[v].child = -1
}

// hang makes p the parent of v.
func (t *sprout) hang(v, p, edge int32) {
	a, b := &t.at[v], &t.at[p]
	a.parent, a.edge = p, edge
	a.next = b.child
	b.child = v
	a.depth = b.depth + 1
}

// unhang takes v from its parent's children.
func (t *sprout) unhang(v int32) {
	p := &t.at[t.at[v].parent]
	if p.child == v {
		p.child = t.at[v].next
		return
	}
	c := p.child
	for t.at[c].next != v {
		c = t.at[c].next
	}
	t.at[c].next = t.at[v].next
}

// prune takes v and its branch off, and drops the vertices above that were in
// the tree for its sake alone.
func (t *sprout) prune(v int32) {
	for {
		p := t.at[v].parent
		t.unhang(v)
		if t.at[p].child >= 0 || t.isLeaf(p) || p == t.root {
			return
		}
		t.at[p].mark = 0
		v = p
	}
}

// fork tells whether v has two children or more.
func (t *sprout) fork(v int32) bool {
	c := t.at[v].child
	return c >= 0 && t.at[c].next >= 0
}

// preorder appends v and all below it, parents first.
func (t *sprout) preorder(v int32, out []int32) []int32 {
	for top := v; ; v = t.at[v].next {
		out = append(out, v)
		for t.at[v].child >= 0 {
			v = t.at[v].child
			out = append(out, v)
		}
		for v != top && t.at[v].next < 0 {
			v = t.at[v].parent
		}
		if v == top {
			return out
		}
	}
}

// list appends the edges of the tree, each after the one above it.
func (t *sprout) list(edges []int32) []int32 {
	first := len(edges)
	edges = t.preorder(t.root, edges)
	for i := first + 1; i < len(edges); i++ {
		edges[i-1] = t.at[edges[i]].edge
	}
	return edges[:len(edges)-1]
}

// restore makes the tree whose edges list gave.
func (t *sprout) restore(root int32, edges []int32) {
	t.plant(root)
	for _, e := range edges {
		p, v := t.g.Ends(e)
		if t.has(v) {
			p, v = v, p
		}
		t.enter(v)
		t.hang(v, p, e)
	}
}
