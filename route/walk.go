package route

// walker goes through trees as bare sets of edges, without trust in who made
// them. It is allocated once and used for many trees.
type walker struct {
	g     *Graph
	stamp int32
	seen  []int32 // by vertex: the stamp of the last tree that has it
	met   []int32 // by vertex: the stamp of the last walk that came by
	head  []int32 // by vertex: its first half of an edge, -1 for none
	next  []int32 // by half: the next one of the same vertex
	depth []int32 // by vertex: hops from the root
	via   []int32 // by vertex: the edge towards the root, -1 for the root
	fan   []int32 // by vertex: the number of edges
	order []int32 // vertices in the order of the walk, the root first
	all   []int32 // all vertices of the tree, each once
}

func newWalker(g *Graph) *walker {
	n := g.NumVertices()
	return &walker{
		g: g, seen: make([]int32, n), met: make([]int32, n), head: make([]int32, n),
		depth: make([]int32, n), via: make([]int32, n), fan: make([]int32, n),
	}
}

// walk lays out the vertices of a tree breadth-first from its root. What cannot
// be reached from the root is in all, but not in order.
func (w *walker) walk(t Tree) {
	w.join(t)
	w.order = append(w.order[:0], t.Root)
	w.met[t.Root] = w.stamp
	w.depth[t.Root], w.via[t.Root] = 0, -1
	for i := 0; i < len(w.order); i++ {
		u := w.order[i]
		for half := w.head[u]; half >= 0; half = w.next[half] {
			e := t.Edges[half>>1]
			v := w.g.ends[e][half&1^1]
			if w.met[v] == w.stamp {
				continue
			}
			w.met[v] = w.stamp
			w.depth[v], w.via[v] = w.depth[u]+1, e
			w.order = append(w.order, v)
		}
	}
}

// join strings the halves of the edges to their vertices.
func (w *walker) join(t Tree) {
	w.stamp++
	w.all = w.all[:0]
	w.add(t.Root)
	w.next = w.next[:0]
	for i, e := range t.Edges {
		for side, v := range w.g.ends[e] {
			w.add(v)
			w.next = append(w.next, w.head[v])
			w.head[v] = int32(2*i + side)
			w.fan[v]++
		}
	}
}

func (w *walker) add(v int32) {
	if w.seen[v] != w.stamp {
		w.seen[v] = w.stamp
		w.head[v], w.fan[v] = -1, 0
		w.all = append(w.all, v)
	}
}

// reached tells whether the walk came by a vertex.
func (w *walker) reached(v int32) bool { return w.met[v] == w.stamp }

// parent is the vertex one hop nearer to the root; v is not the root.
func (w *walker) parent(v int32) int32 {
	ends := w.g.ends[w.via[v]]
	if ends[0] == v {
		return ends[1]
	}
	return ends[0]
}
