package route

import "encoding/binary"

// A word holds the hop counts of eight switches. With counts below lane7 the
// top bit of each lane is free for comparisons, and set in Far.
const (
	lane7 = 0x7f
	ones  = 0x0101010101010101
	tops  = 0x8080808080808080
)

// wordFinder finds centers eight switches at a time: the lane-wise maximum over
// the rows of the leaves, given up as soon as all eight are worse than the best
// known. The leaf that ended one word likely ends the next: it is looked at
// first.
type wordFinder struct {
	h    *Hops
	set  []uint64
	rows [][]byte
}

func newWordFinder(h *Hops) *wordFinder {
	return &wordFinder{h: h, set: make([]uint64, setWords(len(h.to)))}
}

func (f *wordFinder) Find(leaves []int32) Centers {
	f.rows = f.rows[:0]
	for _, leaf := range leaves {
		f.rows = append(f.rows, padded(f.h.from[leaf]))
	}
	best := byte(lane7 - 1)
	best = f.guess(best)
	clear(f.set)
	found := false
	for at := 0; at < len(f.rows[0]); at += 8 {
		acc := f.word(at, best)
		if acc&tops == tops {
			continue
		}
		least := leastLane(acc)
		if least > best {
			continue
		}
		if least < best {
			best = least
			clear(f.set[:at>>6+1])
		}
		found = true
		f.set[at>>6] |= lanesEqual(acc, best) << (at & 63)
	}
	if !found {
		return Centers{Far, f.set}
	}
	return Centers{best, f.set}
}

// guess bounds the radius from above by a switch half-way between two leaves
// far from each other, so that the scan can give up early from its first word.
func (f *wordFinder) guess(best byte) byte {
	const step = 16
	for at := 0; at+8 <= len(f.rows[0]); at += 8 * step {
		if acc := f.word(at, best); acc&tops != tops {
			best = min(best, leastLane(acc))
		}
	}
	return best
}

// word is the maximum of eight lanes over all rows; lanes that are worse than
// best may hold anything worse. All tops set: all are worse.
func (f *wordFinder) word(at int, best byte) uint64 {
	limit := uint64(lane7-best) * ones
	var acc, far uint64
	for i, row := range f.rows {
		b := binary.LittleEndian.Uint64(row[at:])
		far |= b
		b &^= tops
		ge := (acc | tops) - b
		m := ge & tops
		m -= m >> 7
		acc = b ^ (acc^b)&m
		if (acc+limit|far)&tops == tops {
			if i > 0 {
				f.rows[i], f.rows[i>>1] = f.rows[i>>1], f.rows[i]
			}
			return tops
		}
	}
	return acc | far&tops
}

// padded is a row with the lanes that fill up its last words.
func padded(row []byte) []byte { return row[:cap(row)] }

func leastLane(w uint64) byte {
	least := byte(Far)
	for range 8 {
		least = min(least, byte(w))
		w >>= 8
	}
	return least
}

// lanesEqual has a bit, 0 to 7, for each lane that equals d.
func lanesEqual(w uint64, d byte) uint64 {
	x := w ^ uint64(d)*ones
	eq := ^((x&^tops + lane7*ones) | x) & tops // exact zero lanes
	return gather(eq)
}

// gather moves the tops of eight lanes into the low eight bits.
func gather(w uint64) uint64 {
	return (w >> 7 * 0x0102040810204080) >> 56
}
