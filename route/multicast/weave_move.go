package multicast

import "math"

// mover is the working memory of changes to a tree.
type mover struct {
	most   int // how far wayUp searches, in labels
	labels []label
	keys   []int32
	kids   []int32
	branch []int32
	undo   []int32
}

// label is the end of a path found by wayUp: a vertex, reached over an edge from
// the vertex of label prev.
type label struct {
	vertex, edge, prev int32
	price              float64
}

// polish moves branches and dissolves forks, at most so many times over, while
// that gains. It returns the change of the tree's price, at most 0.
func (w *weave) polish(radius int32, load []int32, times int) float64 {
	sum := 0.0
	for range times {
		gain := w.moveAll(radius, load)
		gain += w.dissolveAll(radius, load)
		sum += gain
		if gain == 0 {
			break
		}
	}
	return sum
}

// moveAll moves each branch that ends in a leaf or a fork, the deepest first.
func (w *weave) moveAll(radius int32, load []int32) float64 {
	sum := 0.0
	for _, v := range w.deepestFirst(radius) {
		if w.has(v) && (w.isLeaf(v) || w.fork(v)) {
			sum += w.move(v, radius, load)
		}
	}
	return sum
}

// deepestFirst lists the vertices of the tree but the root by falling depth.
func (w *weave) deepestFirst(radius int32) []int32 {
	for d := range radius + 1 {
		w.layers[d] = w.layers[d][:0]
	}
	w.keys = w.preorder(w.root, w.keys[:0])
	for _, v := range w.keys {
		d := w.at[v].depth
		w.layers[d] = append(w.layers[d], v)
	}
	w.keys = w.keys[:0]
	for d := radius; d > 0; d-- {
		w.keys = append(w.keys, w.layers[d]...)
	}
	return w.keys
}

// move hangs one branch where it is cheapest, and returns the change of price.
func (w *weave) move(v, radius int32, load []int32) float64 {
	w.round++
	below := w.take(v)
	old := w.stem(v, load)
	at, price := w.wayUp(v, radius-below, old, load)
	if at < 0 {
		return 0
	}
	w.rehang(v, at)
	return price - old
}

// take marks a branch as not to be hung on itself, and returns its height.
func (w *weave) take(v int32) int32 {
	w.branch = w.preorder(v, w.branch[:0])
	below := int32(0)
	for _, x := range w.branch {
		w.at[x].taken = w.round
		below = max(below, w.at[x].depth)
	}
	return below - w.at[v].depth
}

// stem is the price of the path from v up to the first vertex that is in the
// tree for others' sake too. The vertices between are marked: they would go with
// v, so that a new path may use them.
func (w *weave) stem(v int32, load []int32) float64 {
	sum := w.table[load[w.at[v].edge]]
	for x := w.at[v].parent; x != w.root && !w.isLeaf(x) && !w.fork(x); x = w.at[x].parent {
		w.at[x].taken = -w.round
		sum += w.table[load[w.at[x].edge]]
	}
	return sum
}

// wayUp finds the cheapest path below limit from v to a vertex of the tree that
// is no deeper than keeps v within reach hops from the root. It returns the
// path's last label and its price, or -1. The search goes hop by hop, and keeps
// a label only where no path of fewer hops is as cheap. It ends after about most
// labels: what is that far away is seldom better.
func (w *weave) wayUp(v, reach int32, limit float64, load []int32) (best int32, price float64) {
	row := w.h.To(w.root)
	w.labels = append(w.labels[:0], label{v, -1, -1, 0})
	best = -1
	for hop, lo := int32(1), 0; lo < min(len(w.labels), w.most) && hop <= reach; hop++ {
		hi := len(w.labels)
		for i := lo; i < hi; i++ {
			l := w.labels[i]
			if l.price >= limit || (l.prev >= 0 && l.price > w.at[l.vertex].cheap) {
				continue
			}
			for _, a := range w.g.Up(l.vertex) {
				if int32(row[a.To])+hop > reach {
					continue
				}
				sum := l.price + w.table[load[a.Edge]]
				y := &w.at[a.To]
				if sum >= limit || y.taken == w.round {
					continue
				}
				if y.mark == w.stamp && y.taken != -w.round {
					if y.depth+hop <= reach {
						limit, best = sum, int32(len(w.labels))
						w.labels = append(w.labels, label{a.To, a.Edge, int32(i), math.Inf(1)})
					}
					continue
				}
				if y.met == w.round && sum >= y.cheap {
					continue
				}
				y.met, y.cheap = w.round, sum
				w.labels = append(w.labels, label{a.To, a.Edge, int32(i), sum})
			}
		}
		lo = hi
	}
	return best, limit
}

// ban keeps new paths off v and its stem, which are to go.
func (w *weave) ban(v int32) {
	w.at[v].taken = w.round
	for x := w.at[v].parent; x != w.root && !w.isLeaf(x) && !w.fork(x); x = w.at[x].parent {
		w.at[x].taken = w.round
	}
}

// rehang takes the branch v off and hangs it by the path that ends in a label.
func (w *weave) rehang(v, at int32) {
	w.prune(v)
	for p := w.labels[at].vertex; p != v; {
		l := w.labels[at]
		at = l.prev
		x := w.labels[at].vertex
		if x != v {
			w.enter(x)
		}
		w.hang(x, p, l.edge)
		p = x
	}
	w.branch = w.preorder(v, w.branch[:0])
	for _, x := range w.branch[1:] {
		w.at[x].depth = w.at[w.at[x].parent].depth + 1
	}
}

// dissolveAll dissolves the forks that are no leaves, the deepest first.
func (w *weave) dissolveAll(radius int32, load []int32) float64 {
	sum := 0.0
	for _, v := range w.deepestFirst(radius) {
		if w.has(v) && !w.isLeaf(v) && w.fork(v) {
			sum += w.dissolve(v, radius, load)
		}
	}
	return sum
}

// dissolve takes a fork out of the tree and hangs its children elsewhere, if all
// of them together are cheaper there, and returns the change of price.
func (w *weave) dissolve(v, radius int32, load []int32) float64 {
	old := w.stem(v, load)
	w.kids = w.kids[:0]
	for c := w.at[v].child; c >= 0; c = w.at[c].next {
		w.kids = append(w.kids, c)
		old += w.table[load[w.at[c].edge]]
	}
	w.undo = w.list(w.undo[:0])
	spent := 0.0
	for i, c := range w.kids {
		w.round++
		below := w.take(c)
		w.ban(v)
		at, price := w.wayUp(c, radius-below, old-spent, load)
		if at < 0 {
			if i > 0 {
				w.restore(w.root, w.undo)
			}
			return 0
		}
		w.rehang(c, at)
		spent += price
	}
	return spent - old
}
