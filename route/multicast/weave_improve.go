package multicast

import "heddle/route"

// pass is one round of rerouting over all groups: the prices, and how many
// roots are tried for each group.
type pass struct {
	slope
	roots int
}

// passes lists the passes of an effort.
func passes(effort int) []pass {
	switch effort {
	case 2:
		return []pass{{slope{20, 0.1}, 32}, {slope{20, 0.1}, 32}}
	case 3:
		return []pass{
			{slope{20, 0.1}, 32}, {slope{20, 0.1}, 32}, {slope{20, 0.1}, 32}, {slope{20, 0.1}, 32},
			{slope{20, 0.1}, 32}, {slope{20, 0.1}, 32}, {slope{20, 0.1}, 32}, {slope{20, 0.1}, 32},
		}
	default:
		return nil
	}
}

// Improve reroutes the groups as often as the effort says.
func (w *weave) Improve(s *route.State, d *route.Demand, f route.Finder) {
	for _, p := range passes(w.effort) {
		if w.pass(s, d, f, p) == 0 {
			break
		}
	}
}

// pass takes each group out and routes it again: from its present tree, and from
// other roots; the cheapest is put back. It returns how many trees changed.
func (w *weave) pass(s *route.State, d *route.Demand, f route.Finder, p pass) (changed int) {
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

// again routes one group anew and tells whether that changed its price.
func (w *weave) again(s *route.State, i int, leaves []int32, c route.Centers, roots int) bool {
	t := s.Tree(i)
	w.kept = append(w.kept[:0], t.Edges...)
	s.Take(i)
	load := s.Load()
	w.group(leaves)
	w.restore(t.Root, w.kept)
	gain := w.polish(int32(c.Radius), load, 2)
	price := 0.0
	w.mine = w.list(w.mine[:0])
	for _, e := range w.mine {
		price += w.table[load[e]]
	}
	mine := route.Tree{Root: t.Root, Edges: w.mine}
	root, cost, free := w.choose(s, leaves, c, roots)
	if free {
		w.restore(root, w.best)
		cost += w.polish(int32(c.Radius), load, 2)
		w.best = w.list(w.best[:0])
	}
	if cost <= price {
		mine = route.Tree{Root: root, Edges: w.best}
	}
	s.Put(i, mine)
	return gain < 0 || cost < price
}
