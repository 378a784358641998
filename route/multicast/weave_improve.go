package multicast

import "heddle/route"

// pass is one round of rerouting over all groups: the prices, and how many
// roots are tried for each group.
type pass struct {
	slope
	roots int
}

// slopes is the number of slopes that passes has: when none of them moves a
// tree any more, none will.
const slopes = 3

// passes lists the passes of an effort. Prices of different slopes have their
// standstills in different places, so that a change of slope gets a search
// going again.
func passes(effort int) []pass {
	gentle, usual, harsh := slope{4, 1}, slope{20, 0.1}, slope{100, 0.001}
	switch effort {
	case 1:
		return nil
	case 2:
		return []pass{{usual, 32}, {harsh, 32}}
	default:
		var list []pass
		for range 4 {
			list = append(list, pass{gentle, 32}, pass{usual, 32}, pass{harsh, 32})
		}
		return list
	}
}

// Improve reroutes the groups as often as the effort says, and leaves the best
// state that it met. With effort 3 it starts from the trees of sssp-new where
// those are better, as they can be for patterns that fit the fabric.
func (w *weave) Improve(s *route.State, d *route.Demand, f route.Finder) {
	list := passes(w.effort)
	if len(list) == 0 {
		return
	}
	var best snapshot
	best.keep(s)
	if w.effort >= 3 {
		w.startOver(s, d, f)
		best.keep(s)
		best.restore(s)
	}
	for idle, i := 0, 0; i < len(list) && idle < slopes; i++ {
		if w.pass(s, d, f, list[i]) == 0 {
			idle++
			continue
		}
		idle = 0
		best.keep(s)
	}
	best.restore(s)
}

// startOver routes all groups as sssp-new does.
func (w *weave) startOver(s *route.State, d *route.Demand, f route.Finder) {
	r := newLazySSSP(w.g, w.h, leastUsedRoot)
	for i := range d.NumGroups() {
		s.Take(i)
	}
	for i := range d.NumGroups() {
		if leaves := d.Leaves(i); len(leaves) > 1 {
			t := r.Route(s, leaves, f.Find(leaves))
			s.Put(i, route.Tree{Root: t.Root, Edges: w.sorted(t)})
		} else {
			s.Put(i, route.Flat(leaves))
		}
	}
}

// sorted lists the edges of another engine's tree in our order.
func (w *weave) sorted(t route.Tree) []int32 {
	w.best = append(w.best[:0], t.Edges...)
	w.plant(t.Root)
	for done := 0; done < len(w.best); {
		for i := done; i < len(w.best); i++ {
			e := w.best[i]
			p, v := w.g.Ends(e)
			if w.has(v) {
				p, v = v, p
			}
			if !w.has(p) {
				continue
			}
			w.enter(v)
			w.hang(v, p, e)
			w.best[i], w.best[done] = w.best[done], e
			done++
		}
	}
	w.best = w.list(w.best[:0])
	return w.best
}

// pass takes each group out and routes it again. It returns how many trees
// changed their price.
func (w *weave) pass(s *route.State, d *route.Demand, f route.Finder, p pass) (changed int) {
	w.most = allLabels
	for i := range d.NumGroups() {
		leaves := d.Leaves(i)
		if len(leaves) < 2 {
			continue
		}
		w.set(p.slope, s.Top())
		if w.again(s, i, leaves, f.Find(leaves), p.roots) {
			changed++
		}
	}
	return changed
}

// again routes one group anew, from its present tree and from other roots, puts
// the cheapest tree back, and tells whether that changed the price.
func (w *weave) again(s *route.State, i int, leaves []int32, c route.Centers, roots int) bool {
	const times = 2 // more gains little
	old := s.Tree(i)
	w.kept = append(w.kept[:0], old.Edges...)
	s.Take(i)
	load, radius := s.Load(), int32(c.Radius)
	w.group(leaves)
	w.restore(old.Root, w.kept)
	gain := w.polish(radius, load, times)
	w.kept = w.list(w.kept[:0])
	t, price := route.Tree{Root: old.Root, Edges: w.kept}, w.sum(w.kept, load)

	other, free := w.choose(s, leaves, c, roots)
	if free {
		other += w.polish(radius, load, times)
	}
	if other <= price { // an equal one too: it may open a way
		w.best = w.list(w.best[:0])
		t = route.Tree{Root: w.root, Edges: w.best}
	}
	s.Put(i, t)
	return gain < 0 || other < price
}

// sum is the price of edges.
func (w *weave) sum(edges, load []int32) float64 {
	sum := 0.0
	for _, e := range edges {
		sum += w.table[load[e]]
	}
	return sum
}

// snapshot is a copy of the best trees met.
type snapshot struct {
	top, uses int
	roots     []int32
	counts    []int32
	edges     []int32
}

// keep copies the state's trees if they are better than those kept: a lower
// maximum, or the same with fewer uses of links.
func (b *snapshot) keep(s *route.State) {
	uses := 0
	for i := range s.NumTrees() {
		uses += len(s.Tree(i).Edges)
	}
	if b.roots != nil && (s.Top() > b.top || (s.Top() == b.top && uses >= b.uses)) {
		return
	}
	b.top, b.uses = s.Top(), uses
	b.roots, b.counts, b.edges = b.roots[:0], b.counts[:0], b.edges[:0]
	for i := range s.NumTrees() {
		t := s.Tree(i)
		b.roots = append(b.roots, t.Root)
		b.counts = append(b.counts, int32(len(t.Edges)))
		b.edges = append(b.edges, t.Edges...)
	}
}

// restore puts the kept trees into the state.
func (b *snapshot) restore(s *route.State) {
	for i := range b.roots {
		s.Take(i)
	}
	at := int32(0)
	for i, root := range b.roots {
		s.Put(i, route.Tree{Root: root, Edges: b.edges[at : at+b.counts[i]]})
		at += b.counts[i]
	}
}
