package multicast

import (
	"os"
	"strconv"
	"time"

	"heddle/route"
)

// pass is one round of rerouting over all groups.
type pass struct {
	slope
	roots int
}

func envf(n string, d float64) float64 {
	if s := os.Getenv(n); s != "" {
		f, _ := strconv.ParseFloat(s, 64)
		return f
	}
	return d
}

func (w *weave) Improve(s *route.State, d *route.Demand, f route.Finder) {
	if w.effort < 2 {
		return
	}
	b := []float64{envf("B1", 20), envf("B2", 20), envf("B3", 20)}
	e := []float64{envf("E1", 0.1), envf("E2", 0.1), envf("E3", .1)}
	for i := range int(envf("NPASS", 3)) {
		t0 := time.Now()
		p := pass{slope{b[i%3], e[i%3]}, int(envf("KK", 32))}
		n := w.pass(s, d, f, p)
		if os.Getenv("V") != "" {
			c, sum := 0, 0
			for _, l := range s.Load() {
				sum += int(l)
				if int(l) == s.Top() {
					c++
				}
			}
			println("pass", i, "tried", n, "moved", n, "max", s.Top(), "x", c, "sum", sum, "ms", time.Since(t0).Milliseconds())
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
