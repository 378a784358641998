package route

import (
	"fmt"
	"slices"

	"heddle/fabric"
)

// On is the table of a changed graph, made by Graph.On from that of h, without
// a search from every switch: each row is mended where the change touches it,
// and shared with h where it does not. It is for few changes; after many,
// NewHops is quicker.
func (h *Hops) On(g *Graph) (*Hops, error) {
	n := &Hops{g: g, to: slices.Clone(h.to), max: h.max}
	n.from = n.to
	if g.order != nil {
		n.from = slices.Clone(h.from)
	}
	m := newMender(n, h)
	m.lost, m.gained = changedEdges(h.g, g)
	for r, is := range m.suspects() {
		if is {
			m.row(int32(r))
		}
	}
	if m.tooFar >= 0 {
		return nil, fmt.Errorf("%s is more than %d hops from another switch", g.Label(m.tooFar), MaxHops)
	}
	return n, nil
}

// changedEdges lists the edges that can be used in one graph of a family and not
// in the other.
func changedEdges(old, g *Graph) (lost, gained []int32) {
	seen := map[int32]bool{}
	for _, v := range old.touched(g.f) {
		for p := 1; p <= int(g.f.Node(g.nodes[v]).NumPorts); p++ {
			l := g.f.Port(fabric.End{Node: g.nodes[v], Port: uint16(p)}).Link
			if l < 0 || g.edge[l] < 0 || seen[g.edge[l]] {
				continue
			}
			e := g.edge[l]
			seen[e] = true
			was, is := old.EdgeUp(e), g.EdgeUp(e)
			if was && !is {
				lost = append(lost, e)
			}
			if is && !was {
				gained = append(gained, e)
			}
		}
	}
	return lost, gained
}

// mender mends the rows of a table one after another: first what the lost edges
// took away, nearest to the root first, then what the gained ones give.
type mender struct {
	*Hops
	old          *Hops
	lost, gained []int32
	levels       [][]int32
	cut          []int32 // the vertices that lost their distance
	stamp        []int32 // by vertex: the row in which it was cut, plus one
	tooFar       int32
}

func newMender(n, old *Hops) *mender {
	return &mender{
		Hops: n, old: old,
		levels: make([][]int32, Far), stamp: make([]int32, len(n.to)), tooFar: -1,
	}
}

// suspects marks the rows that the change can touch. It looks along the rows
// of single vertices, which lie in memory as they are read.
func (m *mender) suspects() []bool {
	is := make([]bool, len(m.to))
	for r := range is {
		is[r] = m.g.usable[r] != m.old.g.usable[r]
	}
	var rows []int32
	for _, e := range m.lost {
		x, y := m.g.Ends(e)
		rows = m.bereft(x, y, is, rows)
		rows = m.bereft(y, x, is, rows)
	}
	for _, e := range m.gained {
		x, y := m.g.Ends(e)
		m.drawn(x, y, is)
		m.drawn(y, x, is)
	}
	return is
}

// bereft marks the rows in which y was next on the way from x, and no other
// neighbour of x is as near. rows is working memory.
func (m *mender) bereft(x, y int32, is []bool, rows []int32) []int32 {
	own, other := m.old.from[x], m.old.from[y]
	rows = rows[:0]
	for r, d := range own {
		if d != Far && d == other[r]+1 {
			rows = append(rows, int32(r))
		}
	}
	for _, a := range m.g.up[x] {
		other = m.old.from[a.To]
		rows = slices.DeleteFunc(rows, func(r int32) bool { return other[r]+1 == own[r] })
		if len(rows) == 0 {
			break
		}
	}
	for _, r := range rows {
		is[r] = true
	}
	return rows
}

// drawn marks the rows in which the way from x is shorter over y.
func (m *mender) drawn(x, y int32, is []bool) {
	own, other := m.old.from[x], m.old.from[y]
	for r, d := range own {
		is[r] = is[r] || int(d) > int(other[r])+1
	}
}

// row mends the distances to r.
func (m *mender) row(r int32) {
	if m.g.usable[r] != m.old.g.usable[r] {
		m.set(r, r, Far)
		if m.g.usable[r] {
			m.set(r, r, 0)
		}
	}
	m.cutLost(r)
	m.reach(r)
	m.gain(r)
}

// set changes one distance, in a copy of the row. In an ordered graph it changes
// the transposed table too.
func (m *mender) set(r, x int32, d byte) {
	m.writable(m.to, m.old.to, r)
	m.to[r][x] = d
	if m.g.order != nil {
		m.writable(m.from, m.old.from, x)
		m.from[x][r] = d
	}
	if d != Far {
		m.max = max(m.max, d)
	}
}

func (m *mender) writable(rows, old [][]byte, r int32) {
	if &rows[r][0] == &old[r][0] {
		rows[r] = append(make([]byte, 0, cap(rows[r])), padded(rows[r])...)[:len(rows[r])]
	}
}

// cutLost finds the vertices all of whose shortest paths to r went over lost
// edges: nearest first, those without an arc to a vertex one hop nearer that has
// kept its distance.
func (m *mender) cutLost(r int32) {
	row := m.to[r]
	m.cut = m.cut[:0]
	least, most := Far, 0
	for _, e := range m.lost {
		for _, x := range m.g.ends[e] {
			if d := int(row[x]); d != Far && !m.supported(r, x) {
				m.levels[d] = append(m.levels[d], x)
				least, most = min(least, d), max(most, d)
			}
		}
	}
	for d := least; d <= most; d++ {
		for _, x := range m.levels[d] {
			if m.stamp[x] == r+1 || m.supported(r, x) {
				continue
			}
			m.stamp[x] = r + 1
			m.cut = append(m.cut, x)
			if d == MaxHops {
				continue
			}
			for _, a := range m.g.down[x] {
				if int(row[a.To]) == d+1 {
					m.levels[d+1] = append(m.levels[d+1], a.To)
					most = max(most, d+1)
				}
			}
		}
		m.levels[d] = m.levels[d][:0]
	}
}

// supported tells whether x still has a way to r of its old length.
func (m *mender) supported(r, x int32) bool {
	row := m.to[r]
	if x == r {
		return true
	}
	for _, a := range m.g.up[x] {
		if row[a.To]+1 == row[x] && m.stamp[a.To] != r+1 {
			return true
		}
	}
	return false
}

// reach finds new distances for the vertices that were cut, from those that were
// not.
func (m *mender) reach(r int32) {
	if len(m.cut) == 0 {
		return
	}
	for _, x := range m.cut {
		m.set(r, x, Far)
	}
	for _, x := range m.cut {
		if d := m.nearest(r, x); d < Far {
			m.levels[d] = append(m.levels[d], x)
		}
	}
	m.settle(r)
}

// nearest is one more than the least distance of the vertices above x.
func (m *mender) nearest(r, x int32) int {
	row, best := m.to[r], Far
	for _, a := range m.g.up[x] {
		if d := int(row[a.To]); d != Far {
			best = min(best, d+1)
		}
	}
	if best == Far && m.g.usable[x] && m.anyNear(r, x) {
		m.tooFar = x
	}
	return best
}

// anyNear tells whether a vertex above x is as far as the table can say.
func (m *mender) anyNear(r, x int32) bool {
	for _, a := range m.g.up[x] {
		if m.to[r][a.To] == MaxHops {
			return true
		}
	}
	return false
}

// settle gives the vertices that wait in levels their distance, nearest first,
// and those below them.
func (m *mender) settle(r int32) {
	row := m.to[r]
	for d := 1; d < Far; d++ {
		for k := 0; k < len(m.levels[d]); k++ {
			x := m.levels[d][k]
			if int(row[x]) <= d {
				continue
			}
			m.set(r, x, byte(d))
			row = m.to[r]
			if d == MaxHops {
				continue
			}
			for _, a := range m.g.down[x] {
				if int(row[a.To]) > d+1 {
					m.levels[d+1] = append(m.levels[d+1], a.To)
				}
			}
		}
		m.levels[d] = m.levels[d][:0]
	}
}

// gain takes the ways over gained edges where they are shorter.
func (m *mender) gain(r int32) {
	shorter := false
	for _, e := range m.gained {
		for _, x := range m.g.ends[e] {
			if d := m.nearest(r, x); d < int(m.to[r][x]) && x != r {
				m.levels[d] = append(m.levels[d], x)
				shorter = true
			}
		}
	}
	if shorter {
		m.settle(r)
	}
}
