package route

import "encoding/binary"

// maxBallRadius bounds the diameter up to which balls pay: beyond, they are
// many and large.
const maxBallRadius = 8

// ballFinder finds centers as the intersection of balls: the ball of a leaf and
// a radius is the set of switches within that many hops of it. Balls are made
// when first needed and kept.
type ballFinder struct {
	h     *Hops
	set   []uint64
	balls [maxBallRadius + 1][][]uint64 // by radius and leaf
}

func newBallFinder(h *Hops) *ballFinder {
	n := len(h.to)
	f := &ballFinder{h: h, set: make([]uint64, setWords(n))}
	return f
}

func (f *ballFinder) Find(leaves []int32) Centers {
	for r := f.least(leaves); r <= f.h.max; r++ {
		if f.intersect(leaves, r) {
			return Centers{r, f.set}
		}
	}
	clear(f.set)
	return Centers{Far, f.set}
}

// least bounds the radius from below by half of the greatest distance between
// the first leaf and another. In an ordered graph distances say nothing of it.
func (f *ballFinder) least(leaves []int32) byte {
	if f.ordered() {
		return 0
	}
	return (farthest(f.h.from[leaves[0]], leaves) + 1) / 2
}

// intersect makes set the switches within r of all leaves and tells whether
// there are any.
func (f *ballFinder) intersect(leaves []int32, r byte) bool {
	copy(f.set, f.ball(leaves[0], r))
	if r == f.h.max && !f.ordered() {
		return true // nothing is farther away
	}
	for rest := leaves[1:]; len(rest) > 0; {
		x := f.ball(rest[0], r)
		y := x
		if len(rest) > 1 {
			y = f.ball(rest[1], r)
		}
		if !meet(f.set, x, y) {
			return false
		}
		rest = rest[min(2, len(rest)):]
	}
	return true
}

// meet takes out of set what is not in both of x and y, and tells whether
// anything is left. Two at once halve the traffic with set.
func meet(set, x, y []uint64) bool {
	left := uint64(0)
	x, y = x[:len(set)], y[:len(set)]
	for i := range set {
		set[i] &= x[i] & y[i]
		left |= set[i]
	}
	return left != 0
}

func (f *ballFinder) ordered() bool { return &f.h.to[0] != &f.h.from[0] }

func (f *ballFinder) ball(leaf int32, r byte) []uint64 {
	if f.balls[r] == nil {
		f.balls[r] = make([][]uint64, len(f.h.to))
	}
	if b := f.balls[r][leaf]; b != nil {
		return b
	}
	b := make([]uint64, len(f.set))
	row := padded(f.h.from[leaf])
	for at := 0; at < len(row); at += 8 {
		b[at>>6] |= lanesWithin(binary.LittleEndian.Uint64(row[at:]), r) << (at & 63)
	}
	f.balls[r][leaf] = b
	return b
}

// lanesWithin has a bit for each lane that is at most r; r is below lane7.
func lanesWithin(w uint64, r byte) uint64 {
	over := (w&^tops + uint64(lane7-r)*ones) | w
	return gather(^over & tops)
}
