package route

import (
	"fmt"
	"math/bits"
	"sync/atomic"
)

// Far is the hop count of what cannot be reached; MaxHops is the largest that
// a table can hold. A directed-route SMP reaches 63 hops, so a subnet that can
// be managed is well within.
const (
	Far     = 255
	MaxHops = 254
)

// Hops is the table of least hops from every switch to every switch of a
// graph: a byte for each pair. It is what IBTA's min-hop tables come down to
// when an adapter stands for the switch that it hangs on.
//
// In an ordered graph the hops are those of paths that only go up, and the
// table is kept both ways. A Hops is immutable; tables that Without made share
// the rows that did not change.
type Hops struct {
	g    *Graph
	to   [][]byte // to[r][x]: hops from x up to r
	from [][]byte // from[x][r]: the same; one with to where there is no order
	max  byte     // no finite count is larger
}

// NewHops computes the table with so many workers (at least 1).
func NewHops(g *Graph, workers int) (*Hops, error) {
	h := &Hops{g: g, to: table(g.NumVertices())}
	h.from = h.to
	if g.order != nil {
		h.from = table(g.NumVertices())
	}
	var next atomic.Int32
	Parallel(workers, func() {
		b := newBundle(g, g.down, h.to)
		for first := next.Add(lanes) - lanes; int(first) < g.NumVertices(); first = next.Add(lanes) - lanes {
			b.search(first)
		}
	})
	if g.order != nil {
		transpose(h.from, h.to)
	}
	return h, h.finish(g)
}

// finish finds the largest count and refuses a fabric that is too wide.
func (h *Hops) finish(g *Graph) error {
	h.max = 0
	part := g.parts()
	for r, row := range h.to {
		for x, d := range row {
			if d != Far && d > h.max {
				h.max = d
			}
			if d == Far && g.order == nil && part[r] == part[x] && part[r] >= 0 {
				return fmt.Errorf("%s and %s are more than %d hops apart", g.Label(int32(r)), g.Label(int32(x)), MaxHops)
			}
		}
	}
	return nil
}

// table is n rows of n bytes. Each row's capacity is a multiple of 64 bytes, and
// what is beyond its length is Far, so that rows can be read by whole words.
func table(n int) [][]byte {
	stride := setWords(n) * 64
	flat := make([]byte, n*stride)
	rows := make([][]byte, n)
	for i := range rows {
		rows[i] = flat[i*stride : i*stride+n : (i+1)*stride]
		for x := n; x < stride; x++ {
			padded(rows[i])[x] = Far
		}
	}
	return rows
}

func transpose(dst, src [][]byte) {
	const tile = 64
	n := len(src)
	for i := 0; i < n; i += tile {
		for j := 0; j < n; j += tile {
			for r := i; r < min(i+tile, n); r++ {
				for x := j; x < min(j+tile, n); x++ {
					dst[x][r] = src[r][x]
				}
			}
		}
	}
}

// To is the row of hops to r from every vertex (upwards, in an ordered graph).
// The slice must not be changed.
func (h *Hops) To(r int32) []byte { return h.to[r] }

// From is the row of hops from x (upwards) to every vertex. The slice must not
// be changed.
func (h *Hops) From(x int32) []byte { return h.from[x] }

// Max is the largest finite count, the diameter of the switch graph. In a table
// made by On it may be that of a table before, if that was larger.
func (h *Hops) Max() byte { return h.max }

// lanes is how many searches a bundle makes at once: one a bit.
const lanes = 64

// bundle is a breadth-first search from 64 roots at once, a bit for each.
type bundle struct {
	arcs             arcs
	rows             [][]byte
	usable           []bool
	seen, front, nxt []uint64
}

func newBundle(g *Graph, a arcs, rows [][]byte) *bundle {
	n := g.NumVertices()
	return &bundle{a, rows, g.usable, make([]uint64, n), make([]uint64, n), make([]uint64, n)}
}

// search fills the rows of the roots first to first+63.
func (b *bundle) search(first int32) {
	count := min(lanes, len(b.rows)-int(first))
	clear(b.seen)
	clear(b.front)
	for k := range count {
		r := first + int32(k)
		for x := range b.rows[r] {
			b.rows[r][x] = Far
		}
		if b.usable[r] {
			b.seen[r] |= 1 << k
			b.front[r] |= 1 << k
			b.rows[r][r] = 0
		}
	}
	for d := 1; d <= MaxHops && b.step(); d++ {
		b.note(first, byte(d))
	}
}

// step moves all frontiers on by one hop and tells whether any is left.
func (b *bundle) step() bool {
	clear(b.nxt)
	for v, f := range b.front {
		if f == 0 {
			continue
		}
		for _, a := range b.arcs[v] {
			b.nxt[a.To] |= f
		}
	}
	left := uint64(0)
	for v := range b.nxt {
		b.nxt[v] &^= b.seen[v]
		b.seen[v] |= b.nxt[v]
		left |= b.nxt[v]
	}
	b.front, b.nxt = b.nxt, b.front
	return left != 0
}

// note writes the frontier into the rows.
func (b *bundle) note(first int32, d byte) {
	for v, f := range b.front {
		for ; f != 0; f &= f - 1 {
			b.rows[int(first)+bits.TrailingZeros64(f)][v] = d
		}
	}
}
