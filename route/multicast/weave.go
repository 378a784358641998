package multicast

import (
	"bytes"
	"math"
	"math/bits"

	"heddle/route"
)

// weave is our engine. It keeps the minimal height, as all engines do, and
// within that looks for the tree of least price, where an edge costs the more
// the more trees use it:
//
//   - several roots are tried, spread over the centers, and the cheapest tree is
//     kept; a tree is given up when it is dearer than the best so far (build);
//   - the tree grows from the farthest leaves inwards, in layers, and prefers
//     parents that it has already (build);
//   - only the farthest members need shortest paths. Each branch is taken out and
//     hung again where it is cheapest, on any path that keeps the height (move);
//   - with more effort, forks are dissolved too where their children are cheaper
//     elsewhere (dissolve), and groups are taken out and routed again until that
//     gains no more (Improve).
//
// Its trees list each edge after the one above it, see sprout.list.
type weave struct {
	sprout
	prices
	mover
	effort int
	layers [][]int32 // by depth: the vertices of the tree
	spare  sprout    // the best tree so far, while others are built
	best   []int32   // the edges of the tree that is returned
	spin   uint64    // rotates the choice of roots from group to group
	kept   []int32   // the edges of the present tree, in Improve
}

// The settings of effort 1.
var online = slope{steep: 20, floor: 0.1}

const (
	// onlineRoots is how many roots are tried; half as many for tall trees,
	// whose centers are few and close to each other.
	onlineRoots = 4
	tall        = 8
	// onlineLabels and allLabels bound a search for a new place for a branch.
	onlineLabels = 128
	allLabels    = math.MaxInt
	// joinBonus is by how much a parent that is in the tree already is cheaper
	// than one that is not, in prices of the edge to it.
	joinBonus = 3
)

func newWeave(g *route.Graph, h *route.Hops, o Options) route.Router {
	return &weave{
		sprout: newSprout(g, h), spare: newSprout(g, h), effort: max(1, o.Effort),
		layers: make([][]int32, int(h.Max())+1),
	}
}

func (w *weave) Route(s *route.State, leaves []int32, c route.Centers) route.Tree {
	w.set(online, s.Top())
	w.most = onlineLabels
	w.group(leaves)
	roots := onlineRoots
	if c.Radius > tall {
		roots /= 2
	}
	if _, free := w.choose(s, leaves, c, roots); free {
		w.moveAll(int32(c.Radius), s.Load())
	}
	w.best = w.list(w.best[:0])
	return route.Tree{Root: w.root, Edges: w.best}
}

// choose builds trees for some of the centers and leaves the cheapest, with its
// price. free tells that other trees of its root may be as low.
func (w *weave) choose(s *route.State, leaves []int32, c route.Centers, roots int) (price float64, free bool) {
	w.spare.group(leaves)
	count := 0
	for _, word := range c.Set {
		count += bits.OnesCount64(word)
	}
	price = math.Inf(1)
	for i := range min(roots, count) {
		r := leastUsedRoot(c, s.Through())
		if i > 0 {
			// Steps of the golden ratio spread any number of picks evenly.
			w.spin += 0x9E3779B97F4A7C15
			n, _ := bits.Mul64(w.spin, uint64(count))
			r = nthCenter(c, int(n))
		}
		if sum, f := w.build(r, leaves, c.Radius, s.Load(), price); sum < price {
			price, free = sum, f
			w.sprout, w.spare = w.spare, w.sprout // the best waits in spare
		}
	}
	w.sprout, w.spare = w.spare, w.sprout
	return price, free
}

// nthCenter is the n-th center, from 0.
func nthCenter(c route.Centers, n int) int32 {
	for i, word := range c.Set {
		if k := bits.OnesCount64(word); n >= k {
			n -= k
			continue
		}
		for ; n > 0; n-- {
			word &= word - 1
		}
		return int32(i*64 + bits.TrailingZeros64(word))
	}
	return -1
}

// build makes the tree of a root in layers, farthest first, all of it on
// shortest paths. It gives up, and returns the limit, once the price reaches
// that. free is false where this is the only tree of its height for the root.
func (w *weave) build(root int32, leaves []int32, radius byte, load []int32, limit float64) (sum float64, free bool) {
	w.plant(root)
	row := w.h.To(root)
	for d := range radius + 1 {
		w.layers[d] = w.layers[d][:0]
	}
	for _, v := range leaves {
		if d := row[v]; d > 0 {
			w.enter(v)
			w.layers[d] = append(w.layers[d], v)
			free = free || d < radius
		}
	}
	for d := radius; d > 0; d-- {
		for _, v := range w.layers[d] {
			a, choices := w.parentFor(v, row, d-1, load)
			free = free || choices > 1
			if sum += w.table[load[a.Edge]]; sum >= limit {
				return limit, free
			}
			if !w.has(a.To) {
				w.enter(a.To)
				w.layers[d-1] = append(w.layers[d-1], a.To)
			}
			w.hang(v, a.To, a.Edge)
			w.at[v].depth = int32(d)
		}
	}
	return sum, free
}

// parentFor is the cheapest arc from v to a vertex d hops from the root, and the
// number of such arcs.
func (w *weave) parentFor(v int32, row []byte, d byte, load []int32) (best route.Arc, choices int) {
	least := math.Inf(1)
	arcs, runs := w.g.Up(v), w.g.Runs(v)
	if runs == nil {
		for _, a := range arcs {
			if row[a.To] == d {
				choices++
				if c := w.joinPrice(a, load); c < least {
					best, least = a, c
				}
			}
		}
		return best, choices
	}
	for _, r := range runs {
		near, out := row[r.To:r.To+r.Len], arcs[r.First:]
		for i := bytes.IndexByte(near, d); i >= 0; i = indexFrom(near, d, i+1) {
			choices++
			if c := w.joinPrice(out[i], load); c < least {
				best, least = out[i], c
			}
		}
	}
	return best, choices
}

// joinPrice is the price of an arc, higher where it leads to a vertex that is
// not in the tree yet.
func (w *weave) joinPrice(a route.Arc, load []int32) float64 {
	c := w.table[load[a.Edge]]
	if !w.has(a.To) {
		c *= 1 + joinBonus
	}
	return c
}
