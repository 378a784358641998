package multicast

import (
	"math"
	"math/bits"
	"os"
	"strconv"
	"time"

	"heddle/route"
)

var (
	P     = envf("P", 6)
	K     = int(envf("K", 4))
	BETA  = envf("BETA", 3)
	LOCAL = int(envf("LOCAL", 1))
	NPASS = int(envf("NPASS", 2))
	KK    = int(envf("KK", 8))
)

func envf(n string, d float64) float64 {
	if s := os.Getenv(n); s != "" {
		f, _ := strconv.ParseFloat(s, 64)
		return f
	}
	return d
}

type weave struct {
	sprout
	effort int
	price  []float64 // by load
	layers [][]int32
	best   []int32
	spin   uint64
	search
}

func newWeave(g *route.Graph, h *route.Hops, o Options) route.Router {
	w := &weave{sprout: newSprout(g, h), effort: max(1, o.Effort)}
	w.layers = make([][]int32, int(h.Max())+1)
	w.search = newSearch(g.NumVertices())
	return w
}

func (w *weave) setPrices(top int, p float64) {
	w.price = w.price[:0]
	for l := range top + 2 {
		w.price = append(w.price, math.Pow(BASE, float64(l-top))+EPS*math.Pow(float64(l+1)/float64(top+1), p))
	}
}

var EPS, BASE = envf("EPS", 0.1), envf("BASE", 20)

func topLoad(load []int32) int {
	m := int32(0)
	for _, l := range load {
		m = max(m, l)
	}
	return int(m)
}

func (w *weave) Improve(s *route.State, d *route.Demand, f route.Finder) {
	if w.effort < 2 {
		return
	}
	n := NPASS
	var keep []int32
	for pass := range n {
		moved, tried := 0, 0
		t0 := time.Now()
		for i := range d.NumGroups() {
			leaves := d.Leaves(i)
			if len(leaves) < 2 {
				continue
			}
			top := int32(topLoad(s.Load()))
			t := s.Tree(i)
			hot := false
			for _, e := range t.Edges {
				if float64(s.Load()[e]) >= float64(top)*HOT {
					hot = true
				}
			}
			if !hot {
				continue
			}
			tried++
			w.setPrices(int(top), PP)
			keep = append(keep[:0], t.Edges...)
			s.Take(i)
			old := 0.0
			for _, e := range keep {
				old += w.price[s.Load()[e]]
			}
			w.group(leaves)
			c := f.Find(leaves)
			w.restore(t.Root, keep)
			nw := old
			for range 2 {
				x := w.refine(int32(c.Radius), leaves, s.Load())
				if DIS {
					x += w.dissolve(int32(c.Radius), s.Load())
				}
				nw += x
				if x == 0 {
					break
				}
			}
			mine := w.list(nil)
			nt := route.Tree{Root: t.Root, Edges: mine}
			if KK > 0 && pass%3 != 2 {
				nt2 := w.route(s, leaves, c, KK, t.Root)
				nw2 := 0.0
				for _, e := range nt2.Edges {
					nw2 += w.price[s.Load()[e]]
				}
				if nw2 < nw {
					nw, nt = nw2, nt2
				}
			}
			if nw < old || (nw == old && EQ) {
				s.Put(i, nt)
				moved++
			} else {
				t.Edges = keep
				s.Put(i, t)
			}
		}
		if os.Getenv("V") != "" {
			m := topLoad(s.Load())
			c, sum := 0, 0
			for _, l := range s.Load() {
				sum += int(l)
				if int(l) == m {
					c++
				}
			}
			println("pass", pass, "tried", tried, "moved", moved, "max", m, "x", c, "sum", sum, "ms", time.Since(t0).Milliseconds())
		}
	}
}

var DIS = envf("DIS", 1) != 0
var HOT, PP, EQ = envf("HOT", 0), envf("PP", 6), envf("EQ", 1) != 0

func (w *weave) Route(s *route.State, leaves []int32, c route.Centers) route.Tree {
	w.setPrices(topLoad(s.Load()), P)
	w.group(leaves)
	return w.route(s, leaves, c, K, -1)
}

func (w *weave) route(s *route.State, leaves []int32, c route.Centers, k int, own int32) route.Tree {
	bestRoot, bestCost := int32(-1), float64(0)
	try := func(root int32) {
		w.build(root, leaves, c.Radius, s.Load())
		cost := w.cost(s.Load())
		if LOCAL&2 != 0 {
			cost += w.refine(int32(c.Radius), leaves, s.Load())
		}
		if bestRoot < 0 || cost < bestCost {
			bestRoot, bestCost = root, cost
			w.best = w.list(w.best[:0])
		}
	}
	if own >= 0 {
		try(own)
	} else {
		try(leastUsedRoot(c, s.Through()))
	}
	m := 0
	for _, x := range c.Set {
		m += bits.OnesCount64(x)
	}
	for range min(k, m) - 1 {
		w.spin += 0x9E3779B97F4A7C15
		hi, _ := bits.Mul64(w.spin, uint64(m))
		try(nthCenter(c, int(hi)))
	}
	if LOCAL&1 != 0 {
		w.build(bestRoot, leaves, c.Radius, s.Load())
		for range int(envf("NREF", 1)) {
			if w.refine(int32(c.Radius), leaves, s.Load()) == 0 {
				break
			}
		}
		w.best = w.list(w.best[:0])
	}
	return route.Tree{Root: bestRoot, Edges: w.best}
}

// restore makes the tree of edges that list gave.
func (w *weave) restore(root int32, edges []int32) {
	w.plant(root)
	for _, e := range edges {
		a, b := w.g.Ends(e)
		if w.has(b) {
			a, b = b, a
		}
		w.enter(b)
		w.hang(b, a, e)
	}
}

// nthCenter is the n-th center, from 0.
func nthCenter(c route.Centers, n int) int32 {
	for i, x := range c.Set {
		k := bits.OnesCount64(x)
		if n >= k {
			n -= k
			continue
		}
		for ; n > 0; n-- {
			x &= x - 1
		}
		return int32(i*64 + bits.TrailingZeros64(x))
	}
	return -1
}

func (w *weave) cost(load []int32) float64 {
	sum := 0.0
	w.walk(w.root, func(v int32) {
		if v != w.root {
			sum += w.price[load[w.edge[v]]]
		}
	})
	return sum
}

// build makes the tree of a root in layers, farthest first.
func (w *weave) build(root int32, leaves []int32, radius byte, load []int32) {
	w.plant(root)
	row := w.h.To(root)
	for d := range radius + 1 {
		w.layers[d] = w.layers[d][:0]
	}
	for _, v := range leaves {
		if v != root {
			w.enter(v)
			w.layers[row[v]] = append(w.layers[row[v]], v)
		}
	}
	for d := radius; d > 0; d-- {
		for _, v := range w.layers[d] {
			best, bestCost := route.Arc{To: -1}, float64(0)
			for _, a := range w.g.Up(v) {
				if row[a.To] != d-1 {
					continue
				}
				c := w.price[load[a.Edge]]
				if !w.has(a.To) {
					c += c * BETA
				}
				if best.To < 0 || c < bestCost {
					best, bestCost = a, c
				}
			}
			if !w.has(best.To) {
				w.enter(best.To)
				w.layers[d-1] = append(w.layers[d-1], best.To)
			}
			w.hang(v, best.To, best.Edge)
			w.depth[v] = int32(d)
		}
	}
}
