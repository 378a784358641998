package multicast

import "heddle/route"

// sprout is a tree that can be changed: rooted, with parents, children and
// depths by vertex. What it holds of a vertex is valid where has says so.
type sprout struct {
	workspace
	root   int32
	parent []int32 // by vertex; -1 for the root
	edge   []int32 // by vertex: the edge to the parent
	depth  []int32 // by vertex: hops from the root
	child  []int32 // by vertex: the first child, or -1
	next   []int32 // by vertex: the next child of the same parent, or -1
	leaf   []int32 // by vertex: the stamp of the last group with a leaf there
	turn   int32   // the stamp of this group's leaves
}

func newSprout(g *route.Graph, h *route.Hops) sprout {
	n := g.NumVertices()
	slab := make([]int32, 6*n)
	cut := func() (s []int32) { s, slab = slab[:n:n], slab[n:]; return s }
	return sprout{
		workspace: newWorkspace(g, h),
		parent:    cut(), edge: cut(), depth: cut(), child: cut(), next: cut(), leaf: cut(),
	}
}

// group sets the leaves of the trees to come.
func (t *sprout) group(leaves []int32) {
	t.turn++
	for _, v := range leaves {
		t.leaf[v] = t.turn
	}
}

func (t *sprout) isLeaf(v int32) bool { return t.leaf[v] == t.turn }

// plant starts a tree that is its root alone.
func (t *sprout) plant(root int32) {
	t.stamp++
	t.root = root
	t.enter(root)
	t.parent[root], t.edge[root], t.depth[root] = -1, -1, 0
}

// enter takes a vertex into the tree, without a parent as yet.
func (t *sprout) enter(v int32) {
	t.mark[v] = t.stamp
	t.child[v] = -1
}

// hang makes p the parent of v.
func (t *sprout) hang(v, p, edge int32) {
	t.parent[v], t.edge[v] = p, edge
	t.next[v] = t.child[p]
	t.child[p] = v
	t.depth[v] = t.depth[p] + 1
}

// unhang takes v from its parent's children.
func (t *sprout) unhang(v int32) {
	p := t.parent[v]
	if t.child[p] == v {
		t.child[p] = t.next[v]
		return
	}
	c := t.child[p]
	for t.next[c] != v {
		c = t.next[c]
	}
	t.next[c] = t.next[v]
}

// prune takes v and its branch off, and drops the vertices above that were in
// the tree for its sake alone.
func (t *sprout) prune(v int32) {
	for {
		p := t.parent[v]
		t.unhang(v)
		if t.child[p] >= 0 || t.isLeaf(p) || p == t.root {
			return
		}
		t.mark[p] = 0
		v = p
	}
}

// fork tells whether v has two children or more.
func (t *sprout) fork(v int32) bool { return t.child[v] >= 0 && t.next[t.child[v]] >= 0 }

// preorder appends v and all below it, parents first.
func (t *sprout) preorder(v int32, out []int32) []int32 {
	for top := v; ; v = t.next[v] {
		out = append(out, v)
		for t.child[v] >= 0 {
			v = t.child[v]
			out = append(out, v)
		}
		for v != top && t.next[v] < 0 {
			v = t.parent[v]
		}
		if v == top {
			return out
		}
	}
}

// list appends the edges of the tree, each after the one above it.
func (t *sprout) list(edges []int32) []int32 {
	at := len(edges)
	edges = t.preorder(t.root, edges)
	for i := at + 1; i < len(edges); i++ {
		edges[i-1] = t.edge[edges[i]]
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
