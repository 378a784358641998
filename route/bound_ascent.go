package route

// ascent finds a lower bound on the edges of a group's tree by Wong's dual
// ascent (Mathematical Programming 28, 1984): direct the tree away from one
// leaf, the root; then into each set of switches that holds another leaf, but
// not the root, leads a directed edge of the tree. The ascent looks for many
// such sets of which no two have a directed edge that leads into them in
// common, so that the tree has an edge for each of them.
//
// Each leaf has a set that grows: it starts with the leaf alone; it is counted,
// and all directed edges into it are used up; it is extended by all switches
// from which used edges lead into it. When a set meets the root, it is done;
// when it meets another leaf, that one's set grows for both. The set with the
// fewest edges into it always grows next.
type ascent struct {
	g     *Graph
	steps int     // that may still be taken for the group at hand
	first []int32 // by vertex: its first directed edge, those into it by neighbour
	from  []int32 // by directed edge: where it comes from
	used  []int32 // by directed edge: the stamp of the last group that used it up
	stamp int32
	leaf  []int32 // by vertex: the place in the group, one more than that; 0 for none

	sets  []growing // by place of the leaf in the group
	words int
	bits  []uint64
	queue []int32
	spare []int32 // entries of the set at hand
}

// growing is the set of a leaf.
type growing struct {
	has     []uint64 // by vertex
	entries []int32  // directed edges into it, some of them from within
	heir    int32    // the set that grows in its stead; its own place if none
	met     bool     // it holds the root
}

func (s *growing) holds(v int32) bool { return s.has[v>>6]>>(v&63)&1 != 0 }
func (s *growing) put(v int32)        { s.has[v>>6] |= 1 << (v & 63) }

func newAscent(g *Graph) *ascent {
	n := g.NumVertices()
	a := &ascent{g: g, first: make([]int32, n+1), leaf: make([]int32, n), words: setWords(n)}
	for v := range int32(n) {
		g.eachNeighbour(v, func(u int32) { a.from = append(a.from, u) })
		a.first[v+1] = int32(len(a.from))
	}
	a.used = make([]int32, len(a.from))
	return a
}

// bound counts sets for a group, until the steps are used up.
func (a *ascent) bound(leaves []int32, steps int) (count int) {
	if a.steps = steps - len(leaves)*a.words; a.steps < 0 {
		return 0
	}
	a.begin(leaves)
	for i := a.next(); i >= 0 && a.steps > 0; i = a.next() {
		if !a.settle(i) {
			count++
			a.raise(i)
		}
	}
	for _, v := range leaves {
		a.leaf[v] = 0
	}
	return count
}

// raise uses up the edges into a set, and extends it by where they come from.
func (a *ascent) raise(i int32) {
	s := &a.sets[i]
	a.spare, s.entries = s.entries, a.spare[:0]
	for _, e := range a.spare {
		a.used[e] = a.stamp
	}
	for _, e := range a.spare {
		a.extend(i, a.from[e])
	}
	a.steps -= len(a.spare)
}

func (a *ascent) begin(leaves []int32) {
	a.stamp++
	for len(a.sets) < len(leaves) {
		a.sets = append(a.sets, growing{})
	}
	a.sets = a.sets[:len(leaves)]
	if need := len(leaves) * a.words; len(a.bits) < need {
		a.bits = make([]uint64, need)
	} else {
		clear(a.bits[:need])
	}
	for i, v := range leaves {
		a.leaf[v] = int32(i + 1)
	}
	for i, v := range leaves {
		a.sets[i] = growing{has: a.bits[i*a.words : (i+1)*a.words], heir: int32(i), met: i == 0, entries: a.sets[i].entries[:0]}
		if i > 0 {
			a.extend(int32(i), v)
		}
	}
}

// next is the set to grow, -1 for none.
func (a *ascent) next() int32 {
	best := int32(-1)
	for i := range a.sets {
		s := &a.sets[i]
		if s.heir == int32(i) && !s.met && (best < 0 || len(s.entries) < len(a.sets[best].entries)) {
			best = int32(i)
		}
	}
	return best
}

// settle takes out of a set's entries those from within and those that other
// sets used up, and tells whether the set met the root or an heir.
func (a *ascent) settle(i int32) bool {
	s := &a.sets[i]
	for again := true; again && !s.met && s.heir == i; {
		again = false
		a.spare, s.entries = s.entries, a.spare[:0]
		a.steps -= len(a.spare)
		for _, e := range a.spare {
			u := a.from[e]
			switch {
			case s.holds(u):
			case a.used[e] == a.stamp:
				a.extend(i, u)
				again = true
			default:
				s.entries = append(s.entries, e)
			}
		}
	}
	return s.met || s.heir != i
}

// extend puts a vertex into a set, and all from which used edges lead there.
func (a *ascent) extend(i, v int32) {
	s := &a.sets[i]
	if s.holds(v) {
		return
	}
	s.put(v)
	a.queue = append(a.queue[:0], v)
	for len(a.queue) > 0 {
		w := a.queue[len(a.queue)-1]
		a.queue = a.queue[:len(a.queue)-1]
		a.meet(i, w)
		for e := a.first[w]; e < a.first[w+1]; e++ {
			u := a.from[e]
			switch {
			case s.holds(u):
			case a.used[e] == a.stamp:
				s.put(u)
				a.queue = append(a.queue, u)
			default:
				s.entries = append(s.entries, e)
			}
		}
		a.steps -= int(a.first[w+1] - a.first[w])
	}
}

// meet notes that a set holds a leaf.
func (a *ascent) meet(i, v int32) {
	j := a.leaf[v] - 1
	switch {
	case j == 0:
		a.sets[i].met = true
	case j > 0:
		for a.sets[j].heir != j {
			j = a.sets[j].heir
		}
		a.sets[i].heir = j
	}
}
