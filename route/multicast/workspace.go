package multicast

import (
	"bytes"
	"math"
	"math/bits"

	"heddle/route"
)

// workspace is what all engines need for the tree at hand, allocated once.
type workspace struct {
	g     *route.Graph
	h     *route.Hops
	mark  []int32 // by vertex: the stamp of the last tree that has it
	stamp int32
	edges []int32
}

func newWorkspace(g *route.Graph, h *route.Hops) workspace {
	return workspace{g: g, h: h, mark: make([]int32, g.NumVertices())}
}

// begin starts a tree at its root.
func (w *workspace) begin(root int32) {
	w.stamp++
	w.edges = w.edges[:0]
	w.mark[root] = w.stamp
}

func (w *workspace) has(v int32) bool { return w.mark[v] == w.stamp }

func (w *workspace) add(v, edge int32) {
	w.mark[v] = w.stamp
	w.edges = append(w.edges, edge)
}

// firstRoot is the lowest center: every group of a region gets the same.
func firstRoot(c route.Centers, _ []int32) int32 {
	for i, word := range c.Set {
		if word != 0 {
			return int32(i*64 + bits.TrailingZeros64(word))
		}
	}
	return -1
}

// leastUsedRoot is root rotation: the center that the fewest trees pass
// through, the lowest of equals.
func leastUsedRoot(c route.Centers, through []int32) int32 {
	best, load := int32(-1), int32(math.MaxInt32)
	for i, word := range c.Set {
		if word == math.MaxUint64 { // a common case, and quicker so
			for j, t := range through[i*64 : i*64+64] {
				if t < load {
					best, load = int32(i*64+j), t
				}
			}
			continue
		}
		for ; word != 0; word &= word - 1 {
			v := int32(i*64 + bits.TrailingZeros64(word))
			if through[v] < load {
				best, load = v, through[v]
			}
		}
	}
	return best
}

// chooser picks a tree's root.
type chooser func(c route.Centers, through []int32) int32

// indexFrom is the first place of d in row from i on, or -1.
func indexFrom(row []byte, d byte, i int) int {
	k := bytes.IndexByte(row[i:], d)
	if k < 0 {
		return -1
	}
	return i + k
}
