package route

// The families of partitions and sets that LowerBound tries.

// singles makes each switch a part.
func (b *bounder) singles() {
	for v := range b.label {
		b.label[v] = int32(v)
	}
	b.partition(int32(len(b.label)))
}

// underRanks makes parts of what hangs together below each rank, such as the
// pods of a fat tree.
func (b *bounder) underRanks() {
	ranks, ok := Ranks(b.g)
	if !ok {
		return
	}
	lowest := int32(0)
	for _, r := range ranks {
		lowest = max(lowest, r)
	}
	for r := range lowest {
		b.components(func(u, v int32) bool { return ranks[u] > r && ranks[v] > r })
	}
}

// triangles makes parts of what hangs together by edges that are sides of a
// triangle.
func (b *bounder) triangles() {
	mark := make([]int32, len(b.label))
	side := map[[2]int32]bool{}
	for u := range int32(len(mark)) {
		b.g.eachNeighbour(u, func(v int32) { mark[v] = u + 1 })
		b.g.eachNeighbour(u, func(v int32) {
			if v > u && b.meets(v, mark, u+1) {
				side[[2]int32{u, v}] = true
			}
		})
	}
	if len(side) > 0 {
		b.components(func(u, v int32) bool { return side[[2]int32{min(u, v), max(u, v)}] })
	}
}

// meets tells whether a neighbour of v is marked.
func (b *bounder) meets(v int32, mark []int32, as int32) (found bool) {
	b.g.eachNeighbour(v, func(w int32) { found = found || mark[w] == as })
	return found
}

// components judges the parts that hang together by the edges that keep allows.
func (b *bounder) components(keep func(u, v int32) bool) {
	for v := range b.label {
		b.label[v] = -1
	}
	parts := int32(0)
	var queue []int32
	for v := range b.label {
		if b.label[v] >= 0 {
			continue
		}
		b.label[v] = parts
		for queue = append(queue[:0], int32(v)); len(queue) > 0; {
			u := queue[len(queue)-1]
			queue = queue[:len(queue)-1]
			b.g.eachNeighbour(u, func(w int32) {
				if b.label[w] < 0 && keep(u, w) {
					b.label[w] = parts
					queue = append(queue, w)
				}
			})
		}
		parts++
	}
	b.partition(parts)
}

// halves cuts the fabric in those nearer to one end of an edge and those nearer
// to the other, for edges from all over the fabric, as many as there are steps
// for.
func (b *bounder) halves() {
	if b.h.ordered() || len(b.edges) == 0 {
		return
	}
	cost := len(b.label) + len(b.edges) + b.total
	tries := min(len(b.edges), max(8, b.steps/2/cost))
	for k := range tries {
		ends := b.edges[k*len(b.edges)/tries]
		to, from := b.h.To(ends[0]), b.h.To(ends[1])
		for v := range b.label {
			switch {
			case to[v] < from[v]:
				b.label[v] = 0
			case to[v] > from[v]:
				b.label[v] = 1
			default:
				b.label[v] = 2
			}
		}
		b.partition(3)
	}
}
