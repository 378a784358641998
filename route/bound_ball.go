package route

// balls cuts out sets that grow around switches that hold leaves, the nearest
// switches first, and judges the set after each switch: large sets around a few
// of them, small ones around all.
func (b *bounder) balls() {
	s := newBallSearch(b)
	if len(s.centers) == 0 {
		return
	}
	whole := len(b.label) + 2*len(b.edges) + b.total
	few := min(len(s.centers), max(4, b.steps/4/whole))
	for k := range few {
		s.grow(s.centers[k*len(s.centers)/few], whole)
	}
	for _, v := range s.centers {
		s.grow(v, b.steps/4/len(s.centers))
	}
}

// ballSearch grows one set after the other.
type ballSearch struct {
	b       *bounder
	centers []int32   // the vertices that hold leaves
	groups  [][]int32 // by vertex: the places in size of the groups with a leaf there
	size    []int32   // of each group: its leaves
	inside  []int32   // of each group: its leaves in the set
	grown   []int32   // of each group: the set that inside is of
	set     []int32   // by vertex: the last set that it was put in
	queued  []int32   // by vertex: the last set that it was queued for
	queue   []int32
	stamp   int32
}

func newBallSearch(b *bounder) *ballSearch {
	n := len(b.label)
	s := &ballSearch{
		b: b, groups: make([][]int32, n), set: make([]int32, n), queued: make([]int32, n),
		size: make([]int32, len(b.groups)), inside: make([]int32, len(b.groups)), grown: make([]int32, len(b.groups)),
	}
	count := make([]int32, n)
	for _, i := range b.groups {
		for _, leaf := range b.d.Leaves(int(i)) {
			count[leaf]++
		}
	}
	flat := make([]int32, b.total)
	for v, k := range count {
		s.groups[v], flat = flat[:0:k], flat[k:]
		if k > 0 {
			s.centers = append(s.centers, int32(v))
		}
	}
	for k, i := range b.groups {
		leaves := b.d.Leaves(int(i))
		s.size[k] = int32(len(leaves))
		for _, leaf := range leaves {
			s.groups[leaf] = append(s.groups[leaf], int32(k))
		}
	}
	return s
}

// grow grows a set from a vertex until the steps are used up.
func (s *ballSearch) grow(v int32, steps int) {
	s.stamp++
	s.queue = append(s.queue[:0], v)
	s.queued[v] = s.stamp
	across, border := 0, 0
	for i := 0; i < len(s.queue) && steps > 0; i++ {
		u := s.queue[i]
		s.set[u] = s.stamp
		across += s.enter(u)
		s.b.g.eachNeighbour(u, func(w int32) {
			steps--
			switch {
			case s.set[w] == s.stamp:
				border--
				return
			case s.queued[w] != s.stamp:
				s.queued[w] = s.stamp
				s.queue = append(s.queue, w)
			}
			border++
		})
		steps -= 1 + len(s.groups[u])
		s.b.share(across, border)
	}
}

// enter puts a vertex's leaves into the set and gives the change in the number
// of groups across its border.
func (s *ballSearch) enter(u int32) (change int) {
	for _, k := range s.groups[u] {
		if s.grown[k] != s.stamp {
			s.grown[k], s.inside[k] = s.stamp, 0
			change++
		}
		s.inside[k]++
		if s.inside[k] == s.size[k] {
			change--
		}
	}
	return change
}
