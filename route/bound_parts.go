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
		label, parts := b.g.components(func(e int32) bool {
			return ranks[b.g.ends[e][0]] > r && ranks[b.g.ends[e][1]] > r
		})
		copy(b.label, label)
		b.partition(parts)
	}
}

// triangles makes parts of what hangs together by triangles.
func (b *bounder) triangles() {
	label, parts := clusters(b.g)
	copy(b.label, label)
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
