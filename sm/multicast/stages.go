package multicast

import (
	"slices"

	"heddle/fabric"
	"heddle/ib"
	"heddle/mad"
	"heddle/sm/plan"
	"heddle/sm/subnet"
)

// Plan is how the switches come to hold what they should.
type Plan struct {
	// Stages are at most two; a stage may be sent when all SMPs of the one
	// before were answered well.
	Stages []plan.Stage
	// Cells are the blocks of tables that change, Sets the SMPs that write them,
	// Tops those that write a MulticastFDBTop.
	Cells, Sets, Tops int
	// Blind are blocks of which it is not known what the switches hold. They
	// are cleared first.
	Blind int
}

// Unknown lists the blocks that are to be written, or may have to be, and of
// which it is not known what the switches hold. They should be read before Plan
// is asked, so that what they hold already stays.
func (r *Router) Unknown(held *plan.Held) (list []plan.Block) {
	work := r.unsettled(held)
	ask := func(c *cell) {
		list = append(list, plan.Block{Node: r.nodeOf(c), Attr: mad.AttrMulticastForwarding, Modifier: c.modifier()})
	}
	for _, w := range work {
		if w.held == nil {
			ask(w.cell)
		}
	}
	r.exposed(held, work, func(c *cell, b *mad.MulticastForwarding) {
		if b == nil {
			ask(c)
		}
	})
	return list
}

// Ahead lists the blocks of the first MLIDs, so many, that it is not known what
// switches of the last view hold in: of all, or without those of which known is
// true. Where they are read in time, Unknown has less to ask for.
func (r *Router) Ahead(held *plan.Held, mlids int, known map[ib.GUID]bool) (list []plan.Block) {
	for v := range r.want.cells {
		id := r.state.Graph.Node(int32(v))
		n := r.nodes[id]
		if n == nil || known[n.GUID()] {
			continue
		}
		s := held.Switch(n.GUID())
		most := min(mlids, tableSize(r.fabric.Node(id)))
		for block := 0; block*rows < most; block++ {
			for position := range r.want.cells[v] {
				if c := (cell{position: uint8(position), block: uint16(block)}); blockOf(s, &c) == nil {
					list = append(list, plan.Block{Node: n, Attr: mad.AttrMulticastForwarding, Modifier: c.modifier()})
				}
			}
		}
	}
	return list
}

// Unsettled lists the MLIDs of which some switch does not hold what it should,
// or is not known to, in ascending order. Switches that are not in the last view
// do not count.
func (r *Router) Unsettled(held *plan.Held) (list []ib.MLID) {
	seen := map[int]bool{}
	for _, w := range r.unsettled(held) {
		for row := range rows {
			idx := int(w.block)*rows + row
			if w.want[row] != w.has(row) || w.held == nil && idx < len(r.groups) && (r.groups[idx].used || r.groups[idx].gone) {
				seen[idx] = true
			}
		}
	}
	for idx := range seen {
		list = append(list, mlidOf(idx))
	}
	slices.Sort(list)
	return list
}

// work is a cell that a switch does not hold, and how it is to be written.
type work struct {
	*cell
	held        *mad.MulticastForwarding // nil where it is not known
	wait        *mad.MulticastForwarding // what may come in the second stage only; nil for nothing
	early, late bool                     // it has to be written in the first, in the second stage
	shrinks     bool                     // some entry goes
}

// has is what the switch is known to hold in a row.
func (w *work) has(row int) uint16 {
	if w.held == nil {
		return 0
	}
	return w.held[row]
}

func (c *cell) modifier() uint32 { return mad.MulticastModifier(c.block, c.position) }

func (r *Router) nodeOf(c *cell) *subnet.Node { return r.nodes[r.state.Graph.Node(c.vertex)] }

// unsettled lists the cells that switches of the last view are not known to
// hold. The rest is not dirty any more.
func (r *Router) unsettled(held *plan.Held) []work {
	if r.state == nil {
		return nil
	}
	if r.plan.audit {
		r.audit(held)
		r.plan.audit = false
	}
	list, dirty := r.plan.work[:0], r.want.dirty[:0]
	for _, c := range r.want.dirty {
		n := r.nodeOf(c)
		if n == nil { // the next Rebase marks it again
			c.dirty = false
			continue
		}
		b := blockOf(held.Switch(n.GUID()), c)
		if b != nil && *b == c.want {
			c.dirty = false
			continue
		}
		dirty = append(dirty, c)
		list = append(list, work{cell: c, held: b})
	}
	clear(r.want.dirty[len(dirty):])
	r.want.dirty, r.plan.work = dirty, list
	return list
}

func blockOf(s *plan.Switch, c *cell) *mad.MulticastForwarding {
	if table := s.MFT[c.position]; int(c.block) < len(table) {
		return table[c.block]
	}
	return nil
}

// audit makes cells for what switches hold and nobody wants.
func (r *Router) audit(held *plan.Held) {
	for v := range r.want.cells {
		n := r.nodes[r.state.Graph.Node(int32(v))]
		if n == nil {
			continue
		}
		s := held.Switch(n.GUID())
		for position := range r.want.cells[v] {
			for block, b := range s.MFT[position] {
				if b != nil && *b != (mad.MulticastForwarding{}) {
					r.want.mark(r.want.cell(int32(v), uint8(position), uint16(block)))
				}
			}
		}
	}
}

// Plan finds the stages after which the switches hold what they should. What
// they are known to hold already is not sent.
func (r *Router) Plan(held *plan.Held) Plan {
	list := r.unsettled(held)
	if len(list) == 0 {
		return Plan{}
	}
	if r.cover(held, list) {
		list = r.unsettled(held)
	}
	slices.SortFunc(list, func(a, b work) int { return compare(a.cell, b.cell) })
	r.judge(list, held)
	p := Plan{Cells: len(list)}
	first, second := r.split(list)
	p.Sets = len(first.SMPs) + len(second.SMPs)
	for i := range list {
		if list[i].held == nil {
			p.Blind++
		}
	}
	tops := r.tops(held, list)
	p.Tops = len(tops)
	second.SMPs = append(second.SMPs, tops...)
	for _, s := range []plan.Stage{first, second} {
		if len(s.SMPs) > 0 {
			p.Stages = append(p.Stages, s)
		}
	}
	return p
}

// split makes the two stages. What may be in either is where it makes no stage
// of its own, and what shrinks in the first.
func (r *Router) split(list []work) (first, second plan.Stage) {
	first, second = plan.Stage{Name: "mft-vanish"}, plan.Stage{Name: "mft-come"}
	early, late := stagesOf(list)
	if !early {
		second.SMPs = make([]plan.SMP, 0, len(list))
	}
	for i := range list {
		w := &list[i]
		inFirst := w.early || !w.late && early && (w.shrinks || !late)
		if inFirst {
			first.SMPs = append(first.SMPs, r.set(w, w.firstValue()))
		}
		if !inFirst || w.late {
			second.SMPs = append(second.SMPs, r.set(w, w.want))
		}
	}
	return first, second
}

// stagesOf tells which stages have to be.
func stagesOf(list []work) (early, late bool) {
	for i := range list {
		early, late = early || list[i].early, late || list[i].late
	}
	return early, late
}

// firstValue is what the cell is to hold after the first stage.
func (w *work) firstValue() (m mad.MulticastForwarding) {
	if w.held == nil {
		return m
	}
	m = w.want
	if w.wait != nil {
		for row := range m {
			m[row] &^= w.wait[row]
		}
	}
	return m
}

func (r *Router) set(w *work, value mad.MulticastForwarding) plan.SMP {
	s := plan.SMP{Node: r.nodeOf(w.cell), Attr: mad.AttrMulticastForwarding, Modifier: w.modifier()}
	value.AppendTo(s.Data[:0])
	return s
}

// edgeAt is the edge in a port of a switch, alive or not; -1 for none.
func (r *Router) edgeAt(v int32, port uint16) int32 {
	g := r.state.Graph
	link := r.fabric.Port(fabric.End{Node: g.Node(v), Port: port}).Link
	if link == fabric.NoLink {
		return -1
	}
	return g.Edge(link)
}
