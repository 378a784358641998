package multicast

import (
	"cmp"
	"math/bits"
	"slices"

	"heddle/ib"
	"heddle/mad"
	"heddle/route"
	"heddle/sm/plan"
)

// planner is the memory of plans.
type planner struct {
	audit   bool // all that the switches hold is to be looked at
	work    []work
	kinds   []kind // by MLID
	changes []change
	topped  []bool // by vertex

	up    []int32 // by vertex: union-find
	when  []int32 // by vertex: the forest that up is of
	epoch int32
	comes []int32 // by edge: the MLID, plus one, whose tree it is new in
}

// kind is what happens to links of one MLID's tree.
type kind uint8

const (
	goes  kind = 1 << iota // an entry goes
	blind                  // it is not known what a switch holds
)

// change is one bit of one cell that is to change, of a port with a cable to a
// switch.
type change struct {
	idx, edge int32 // edge is -1 where it is only known that nothing is known
	work      int32
	row       uint8
	bit       uint16
	come      bool
}

// judge finds out for each entry of a cell in which stage it may change. Where
// an MLID's links only come, they may do so in either.
func (r *Router) judge(list []work, held *plan.Held) {
	p := &r.plan
	p.size(r.state.Graph)
	clear(p.kinds)
	for i := range list {
		r.sort(&list[i], held)
	}
	p.changes = p.changes[:0]
	for i := range list {
		r.gather(list, i, held)
	}
	slices.SortFunc(p.changes, func(a, b change) int {
		return cmp.Or(cmp.Compare(a.idx, b.idx), cmp.Compare(a.edge, b.edge), cmp.Compare(a.work, b.work))
	})
	for rest := p.changes; len(rest) > 0; {
		n := 1
		for n < len(rest) && rest[n].idx == rest[0].idx {
			n++
		}
		r.judgeGroup(list, rest[:n])
		rest = rest[n:]
	}
}

func (p *planner) size(g *route.Graph) {
	if n := g.NumVertices(); len(p.up) != n || p.kinds == nil {
		p.up, p.when, p.topped = make([]int32, n), make([]int32, n), make([]bool, n)
		p.comes = make([]int32, g.NumEdges())
		p.kinds = make([]kind, ib.NumMLIDs+1)
	}
}

// sort notes of which kind the changes of a cell are.
func (r *Router) sort(w *work, held *plan.Held) {
	w.early, w.late = w.held == nil, w.held == nil && w.want != (mad.MulticastForwarding{})
	for row := range rows {
		idx := int(w.block)*rows + row
		if w.held == nil && idx < len(r.groups) && r.groups[idx].used {
			r.plan.kinds[idx] |= blind
		}
		has, want := w.has(row), w.want[row]
		if has == want {
			continue
		}
		w.shrinks = w.shrinks || has&^want != 0
		if r.anyEdge(w, has&^want) {
			r.plan.kinds[idx] |= goes
		}
	}
	w.early = w.early || w.shrinks && r.isHidden(held, w.cell) // before its top rises
}

// anyEdge tells whether one of some ports of a cell has a cable to a switch.
func (r *Router) anyEdge(w *work, bits uint16) bool {
	for ; bits != 0; bits &= bits - 1 {
		if r.edgeAt(w.vertex, w.port(bits)) >= 0 {
			return true
		}
	}
	return false
}

// port is that of the lowest bit of a row.
func (c *cell) port(row uint16) uint16 {
	return uint16(c.position)*16 + uint16(bits.TrailingZeros16(row))
}

// gather lists the changes of a cell that have to be judged.
func (r *Router) gather(list []work, i int, held *plan.Held) {
	w := &list[i]
	for row := range rows {
		idx := int32(int(w.block)*rows + row)
		k := r.plan.kinds[idx]
		if k&(goes|blind) == 0 {
			continue
		}
		if w.held == nil {
			r.plan.changes = append(r.plan.changes, change{idx: idx, edge: -1})
		}
		for diff := w.has(row) ^ w.want[row]; diff != 0; diff &= diff - 1 {
			e := r.edgeAt(w.vertex, w.port(diff))
			if e < 0 {
				continue
			}
			bit := diff & -diff
			come := w.want[row]&bit != 0
			r.plan.changes = append(r.plan.changes, change{idx, e, int32(i), uint8(row), bit, come})
			if !come && !r.knows(held, e, w.block) {
				r.plan.changes = append(r.plan.changes, change{idx: idx, edge: -1})
			}
		}
	}
}

// knows tells whether it is known what both ends of an edge hold in a block, be
// it for some of their ports: if not, packets that get there may go anywhere.
func (r *Router) knows(held *plan.Held, e int32, block uint16) bool {
	a, b := r.state.Graph.Ends(e)
	return r.knowsAt(held, a, block) && r.knowsAt(held, b, block)
}

func (r *Router) knowsAt(held *plan.Held, v int32, block uint16) bool {
	n := r.nodes[r.state.Graph.Node(v)]
	if n == nil {
		return true
	}
	s := held.Switch(n.GUID())
	for position := range r.want.cells[v] {
		if table := s.MFT[position]; int(block) < len(table) && table[block] != nil {
			return true
		}
	}
	return false
}

// judgeGroup judges the changes of one MLID, which are sorted by edge. See the
// package's documentation.
func (r *Router) judgeGroup(list []work, changes []change) {
	p := &r.plan
	edges := r.state.Tree(int(changes[0].idx)).Edges
	for i, c := range changes { // new where both ends come; else it is used already
		if c.come && i > 0 && changes[i-1].edge == c.edge {
			p.comes[c.edge] = c.idx + 1
		}
	}
	known := changes[0].edge >= 0
	p.epoch++
	for _, e := range edges {
		if p.comes[e] != changes[0].idx+1 {
			r.unite(e)
		}
	}
	r.eachEdge(changes, false, func(int32) {})
	// A: what may come before all else has gone.
	r.place(list, changes, true, known)
	p.epoch++
	for _, e := range edges {
		r.unite(e)
	}
	// B: what may go after all else has come.
	r.place(list, changes, false, known)
	for _, c := range changes {
		if c.edge >= 0 {
			p.comes[c.edge] = 0
		}
	}
}

// eachEdge unites the edges that come, or those that go, each once, and gives
// those that close a cycle to closing.
func (r *Router) eachEdge(changes []change, come bool, closing func(edge int32)) {
	for i, c := range changes {
		if c.edge < 0 || c.come != come || i > 0 && changes[i-1].edge == c.edge {
			continue
		}
		if come && r.plan.comes[c.edge] != c.idx+1 {
			continue
		}
		if !r.unite(c.edge) {
			closing(c.edge)
		}
	}
}

// place puts changes into the stage that they have to be in: all of them where
// it is not known what the switches hold, else those that would close a cycle.
func (r *Router) place(list []work, changes []change, come, known bool) {
	if !known {
		for _, c := range changes {
			list[c.work].fix(c, come)
		}
		return
	}
	r.eachEdge(changes, come, func(edge int32) {
		at, _ := slices.BinarySearchFunc(changes, edge, func(c change, e int32) int { return cmp.Compare(c.edge, e) })
		for ; at < len(changes) && changes[at].edge == edge; at++ {
			list[changes[at].work].fix(changes[at], come)
		}
	})
}

// fix puts a change into one stage.
func (w *work) fix(c change, come bool) {
	switch {
	case c.edge < 0 || c.come != come:
	case come:
		w.late = true
		if w.wait == nil {
			w.wait = new(mad.MulticastForwarding)
		}
		w.wait[c.row] |= c.bit
	default:
		w.early = true
	}
}

// unite joins the two ends of an edge, and tells whether they were apart.
func (r *Router) unite(e int32) bool {
	a, b := r.state.Graph.Ends(e)
	a, b = r.plan.find(a), r.plan.find(b)
	if a == b {
		return false
	}
	r.plan.up[a] = b
	return true
}

func (p *planner) find(v int32) int32 {
	for {
		if p.when[v] != p.epoch {
			p.when[v], p.up[v] = p.epoch, v
		}
		u := p.up[v]
		if u == v {
			return v
		}
		if p.when[u] == p.epoch {
			p.up[v] = p.up[u]
		}
		v = u
	}
}
