package multicast

// label is a path found by the search for a new way up: it ends at a vertex,
// after the path of label prev and one edge.
type label struct {
	vertex, edge, prev int32
	cost               float64
}

// search is the working memory of refine.
type search struct {
	labels  []label
	cheap   []float64 // by vertex: the least cost of a label there
	visited []int32 // by vertex: stamp of cheap
	round   int32
	inside  []int32 // by vertex: stamp of the subtree that is being moved
	keys, kids, snap []int32
}

func newSearch(n int) search {
	return search{cheap: make([]float64, n), visited: make([]int32, n), inside: make([]int32, n)}
}

// refine takes each branch of the tree out, leaves and forks alike, and hangs it
// where it costs least within the radius. It returns the change of cost, at
// most 0.
func (w *weave) refine(radius int32, leaves, load []int32) float64 {
	w.keys = w.keys[:0]
	w.walk(w.root, func(v int32) {
		if v != w.root && (w.isLeaf(v) || (w.child[v] >= 0 && w.next[w.child[v]] >= 0)) {
			w.keys = append(w.keys, v)
		}
	})
	sum := float64(0)
	for i := len(w.keys) - 1; i >= 0; i-- {
		if v := w.keys[i]; w.has(v) {
			sum += w.move(v, radius, load)
		}
	}
	return sum
}

// move rehangs one branch and returns the change of cost.
func (w *weave) move(v, radius int32, load []int32) float64 {
	w.round++
	below := int32(0)
	w.walk(v, func(x int32) {
		w.inside[x] = w.round
		below = max(below, w.depth[x]-w.depth[v])
	})
	// The path from v up to what others need too.
	old := float64(0)
	x := v
	for {
		p := w.parent[x]
		old += w.price[load[w.edge[x]]]
		x = p
		if x == w.root || w.isLeaf(x) || w.next[w.child[x]] >= 0 {
			break
		}
		w.inside[x] = -w.round // path: free to use
	}
	at, cost := w.wayUp(v, radius-below, old, load)
	if at < 0 {
		return 0
	}
	w.rehang(v, at)
	return cost - old
}

// wayUp finds the cheapest path, cheaper than limit, from v to a tree vertex
// within reach; it returns its last label, or -1.
func (w *weave) wayUp(v, reach int32, limit float64, load []int32) (int32, float64) {
	row := w.h.To(w.root)
	w.labels = append(w.labels[:0], label{v, -1, -1, 0})
	w.visited[v], w.cheap[v] = w.round, 0
	best := int32(-1)
	lo := 0
	for k := int32(1); lo < len(w.labels) && k <= reach; k++ {
		hi := len(w.labels)
		for i := lo; i < hi; i++ {
			l := w.labels[i]
			if l.cost > w.cheap[l.vertex] || l.cost >= limit {
				continue
			}
			for _, a := range w.g.Up(l.vertex) {
				y := a.To
				c := l.cost + w.price[load[a.Edge]]
				if c >= limit || int32(row[y])+k > reach || w.inside[y] == w.round {
					continue
				}
				if w.visited[y] == w.round && c >= w.cheap[y] {
					continue
				}
				if w.has(y) && w.inside[y] != -w.round {
					if w.depth[y]+k <= reach {
						limit = c
						best = int32(len(w.labels))
						w.labels = append(w.labels, label{y, a.Edge, int32(i), c})
						w.labels[best].cost = limit
						w.visited[y], w.cheap[y] = w.round, -1
					}
					continue
				}
				w.visited[y], w.cheap[y] = w.round, c
				w.labels = append(w.labels, label{y, a.Edge, int32(i), c})
			}
		}
		lo = hi
	}
	return best, limit
}

// rehang cuts the branch v off, drops what it alone needed, and hangs it by the
// path that ends in label at.
func (w *weave) rehang(v, at int32) {
	for x := v; ; {
		p := w.parent[x]
		w.unhang(x)
		if x != v {
			w.leave(x)
		}
		x = p
		if !w.needless(x) {
			break
		}
	}
	// labels run from v to the tree; hang from the tree down.
	p := w.labels[at].vertex
	for i := at; ; {
		l := w.labels[i]
		i = l.prev
		x := w.labels[i].vertex
		if x != v {
			w.enter(x)
		}
		w.hang(x, p, l.edge)
		if x == v {
			break
		}
		p = x
	}
	w.walk(v, func(x int32) {
		if x != v {
			w.depth[x] = w.depth[w.parent[x]] + 1
		}
	})
}

// dissolve takes each fork that is no leaf out and hangs its children elsewhere,
// where all of them together then cost less.
func (w *weave) dissolve(radius int32, load []int32) float64 {
	w.keys = w.keys[:0]
	w.walk(w.root, func(v int32) {
		if v != w.root && !w.isLeaf(v) && w.child[v] >= 0 && w.next[w.child[v]] >= 0 {
			w.keys = append(w.keys, v)
		}
	})
	sum := 0.0
	for i := len(w.keys) - 1; i >= 0; i-- {
		if v := w.keys[i]; w.has(v) && w.child[v] >= 0 && w.next[w.child[v]] >= 0 {
			sum += w.dissolveOne(v, radius, load)
		}
	}
	return sum
}

func (w *weave) dissolveOne(x, radius int32, load []int32) float64 {
	old := 0.0
	for y := x; ; {
		old += w.price[load[w.edge[y]]]
		y = w.parent[y]
		if y == w.root || w.isLeaf(y) || w.next[w.child[y]] >= 0 {
			break
		}
	}
	w.kids = w.kids[:0]
	for c := w.child[x]; c >= 0; c = w.next[c] {
		w.kids = append(w.kids, c)
		old += w.price[load[w.edge[c]]]
	}
	w.snap = w.list(w.snap[:0])
	spent := 0.0
	for _, c := range w.kids {
		w.round++
		below := int32(0)
		w.walk(c, func(y int32) {
			w.inside[y] = w.round
			below = max(below, w.depth[y]-w.depth[c])
		})
		w.inside[x] = w.round
		at, cost := w.wayUp(c, radius-below, old-spent, load)
		if at < 0 {
			w.restore(w.root, w.snap)
			return 0
		}
		w.rehang(c, at)
		spent += cost
	}
	return spent - old
}
