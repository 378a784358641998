package route

// volume sums the least numbers of edges of all groups. Where the dual ascent
// would change the bound, by what it gives for a sample, it is tried for each
// group, with as many steps as the group has its share in all leaves.
func (b *bounder) volume(steps int) {
	least := b.spans()
	sum := 0
	for _, n := range least {
		sum += n
	}
	b.share(sum, len(b.edges))
	a := newAscent(b.g)
	if steps == 0 || !b.promising(a, least, sum, steps/8) {
		return
	}
	for k, i := range b.groups {
		leaves := b.d.Leaves(int(i))
		share := int(int64(steps) * int64(len(leaves)) / int64(b.total))
		sum += max(0, a.bound(leaves, share)-least[k])
	}
	b.share(sum, len(b.edges))
}

// spans gives for each group the number by its spanning tree.
func (b *bounder) spans() []int {
	m := spanning{h: b.h}
	least := make([]int, len(b.groups))
	steps := spanSteps
	for k, i := range b.groups {
		leaves := b.d.Leaves(int(i))
		if steps -= len(leaves) * len(leaves); steps < 0 {
			least[k] = len(leaves) - 1
			continue
		}
		m.span(leaves)
		least[k] = m.edges()
	}
	return least
}

// promising tries the dual ascent on some groups and tells whether as large a
// gain for all would raise the bound.
func (b *bounder) promising(a *ascent, least []int, sum, steps int) bool {
	const sample = 24
	if len(b.groups) == 0 || len(b.edges) == 0 {
		return false
	}
	tries := min(sample, len(b.groups))
	before, after := 0, 0
	for t := range tries {
		k := t * len(b.groups) / tries
		before += least[k]
		after += max(least[k], a.bound(b.d.Leaves(int(b.groups[k])), steps/tries))
	}
	return before > 0 && int64(sum)*int64(after)/int64(before) > int64(b.best*len(b.edges))
}

// spanning finds lower bounds on the edges of a group's tree from a minimum
// spanning tree over the distances of its leaves, made by Prim's algorithm.
//
// Let balls of equal radius grow around the leaves, and let balls that touch be
// one. While there are c balls, c of at least 2, the group's tree leaves each of
// them, so it has c edges for each unit that the radius grows. That ends when the
// radius is half of the spanning tree's longest edge, and comes to half of all its
// edges and half of the longest.
//
// Direct the group's tree away from one of the leaves. For each m from 0, let
// leaves that are 2m hops from each other or nearer be one cluster. The switches
// within m hops of a cluster are no other cluster's. So a directed edge leads into
// them from outside, unless the first leaf is in the cluster, and it ends m hops
// from the nearest leaf: it is another edge for each m and cluster. An edge of
// length w of the spanning tree makes one cluster more for each m with 2m < w, so
// it comes to the sum of w/2, rounded up.
type spanning struct {
	h    *Hops
	near []byte  // by place in rest: the distance to the tree
	rest []int32 // leaves that are not in the tree

	total, longest int // the sum and the largest of the tree's distances
	halves         int // the sum of half the distances, each rounded up
}

// span measures a spanning tree. Distances of an ordered graph's table, which
// are of ways up only, bound nothing: there each is taken for 1.
func (m *spanning) span(leaves []int32) {
	m.total, m.longest, m.halves = 0, 0, 0
	m.rest, m.near = append(m.rest[:0], leaves[1:]...), m.near[:0]
	for range m.rest {
		m.near = append(m.near, Far)
	}
	for at := leaves[0]; len(m.rest) > 0; {
		k := m.nearest(m.h.to[at])
		at = m.rest[k]
		m.add(int(m.near[k]))
		last := len(m.rest) - 1
		m.rest[k], m.near[k] = m.rest[last], m.near[last]
		m.rest, m.near = m.rest[:last], m.near[:last]
	}
}

// edges is how many edges the group's tree has at least.
func (m *spanning) edges() int { return max((m.total+m.longest+1)/2, m.halves) }

func (m *spanning) add(hops int) {
	if m.h.ordered() {
		hops = 1
	}
	m.total += hops
	m.halves += (hops + 1) / 2
	m.longest = max(m.longest, hops)
}

// nearest updates all distances by those to a new vertex of the tree, and finds
// the least.
func (m *spanning) nearest(row []byte) int {
	best := 0
	near := m.near[:len(m.rest)]
	for k, leaf := range m.rest {
		near[k] = min(near[k], row[leaf])
		if near[k] < near[best] {
			best = k
		}
	}
	return best
}

// ordered tells whether the table is of ways up only.
func (h *Hops) ordered() bool { return len(h.to) > 0 && &h.to[0] != &h.from[0] }
