package route

// Centers are the switches that may be the root of a group's tree: those whose
// greatest distance to a leaf of the group is the least possible, Radius. No
// tree can be lower.
type Centers struct {
	Radius byte
	// Set has a bit for each vertex.
	Set []uint64
}

// Has tells whether a vertex is among the centers.
func (c Centers) Has(v int32) bool { return c.Set[v>>6]>>(v&63)&1 != 0 }

// Finder finds the centers of groups. Find takes a group's leaves, at least one
// and all of one component; what it returns is valid until the next call. In an
// ordered graph there may be no vertex above all leaves: then the Radius is Far
// and the Set empty. A Finder is not safe for concurrent use.
type Finder interface {
	Find(leaves []int32) Centers
}

// NewFinder returns the finder that suits a table: balls where distances are
// short, as in trees and dragonflies, else a scan of whole words.
func NewFinder(h *Hops) Finder {
	switch {
	case h.max <= maxBallRadius:
		return newBallFinder(h)
	case h.max < lane7:
		return newWordFinder(h)
	default:
		return NewScanFinder(h)
	}
}

// scanFinder looks at every switch for every leaf.
type scanFinder struct {
	h   *Hops
	set []uint64
}

// NewScanFinder returns the finder of OpenSM and of the FULB-MC paper, which
// looks at each switch for each member. It is the oracle of the others, and what
// their speed is measured against.
func NewScanFinder(h *Hops) Finder {
	return &scanFinder{h, make([]uint64, setWords(len(h.to)))}
}

func setWords(n int) int { return (n + 63) / 64 }

func (s *scanFinder) Find(leaves []int32) Centers {
	best := byte(Far)
	clear(s.set)
	for v := range s.h.to {
		if d := farthest(s.h.to[v], leaves); d < best {
			best = d
			clear(s.set)
			s.set[v>>6] |= 1 << (v & 63)
		} else if d == best && d != Far {
			s.set[v>>6] |= 1 << (v & 63)
		}
	}
	return Centers{best, s.set}
}

func farthest(row []byte, leaves []int32) byte {
	d := byte(0)
	for _, leaf := range leaves {
		d = max(d, row[leaf])
	}
	return d
}
