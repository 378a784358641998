package group

import "heddle/ib"

// class is what groups that share an MLID have in common. A packet of one
// reaches the ports of the others, which must not happen across partitions.
// Collected groups are routed once, plain ones at every change, so that they
// share with each other only where there is nothing else.
type class struct {
	partition uint16
	collected bool
}

func classOf(g *group) class { return class{g.params.PKey.Base(), g.want != 0} }

// maxCandidates bounds the slots that are looked at for one new group: of those
// that its first member is in, and of the others.
const maxCandidates = 32

// share gives the MLID that is best shared with a new group.
func (t *Table) share(w wish) (ib.MLID, bool) {
	if !t.config.Share {
		return 0, false
	}
	c := choice{t: t, wish: w}
	if c.search(); c.best == nil {
		c.wish.class.collected = !w.class.collected
		c.search()
	}
	if c.best == nil {
		return 0, false
	}
	return c.best.mlid, true
}

// choice is the best slot so far.
type choice struct {
	t    *Table
	wish wish
	best *slot
	cost int
}

// search looks at the slots of one class: those that the first member is in,
// and some of the others, in turn.
func (c *choice) search() {
	t, w := c.t, c.wish
	if p := t.ports[w.first]; p != nil {
		for i := len(p.groups) - 1; i >= 0 && i >= len(p.groups)-maxCandidates; i-- {
			c.try(t.slot(p.groups[i].mlid), true)
		}
	}
	slots := t.sharers[w.class]
	for range min(maxCandidates, len(slots)) {
		t.turn++
		c.try(slots[t.turn%uint64(len(slots))], false)
	}
}

// try looks at a slot; overlaps tells that the first member is in it.
func (c *choice) try(s *slot, overlaps bool) {
	if s.retiring || s.class != c.wish.class || s.configured > 0 {
		return
	}
	if cost := c.price(s, overlaps); c.best == nil || c.better(s, cost) {
		c.best, c.cost = s, cost
	}
}

// price is what ShareCost says, or by default the number of ports that one of
// the groups would reach and the other does not have.
func (c *choice) price(s *slot, overlaps bool) int {
	switch {
	case c.t.config.ShareCost != nil:
		return c.t.config.ShareCost(c.wish.mgid, c.wish.first, s.mlid)
	case overlaps:
		return s.members - 1
	default:
		return s.members + 1
	}
}

func (c *choice) better(s *slot, cost int) bool {
	switch {
	case cost != c.cost:
		return cost < c.cost
	case len(s.groups) != len(c.best.groups):
		return len(s.groups) < len(c.best.groups)
	default:
		return s.mlid < c.best.mlid
	}
}

// offer puts a slot among those that can be shared.
func (t *Table) offer(s *slot) {
	slots := t.sharers[s.class]
	s.classAt = len(slots)
	t.sharers[s.class] = append(slots, s)
}

// withdraw takes it out again.
func (t *Table) withdraw(s *slot) {
	slots := t.sharers[s.class]
	last := len(slots) - 1
	slots[s.classAt] = slots[last]
	slots[s.classAt].classAt = s.classAt
	slots[last] = nil
	if last == 0 {
		delete(t.sharers, s.class)
		return
	}
	t.sharers[s.class] = slots[:last]
}

// solicitedKey gives what the solicited-node groups have in common that may
// share an MLID: all but the last 24 bits, P_Key and scope among it. It is zero
// for other groups.
func solicitedKey(mgid ib.MGID) ib.MGID {
	if !mgid.IsSolicitedNode() {
		return ib.MGID{}
	}
	mgid[13], mgid[14], mgid[15] = 0, 0, 0
	return mgid
}

// solicitedSlot gives the MLID of the solicited-node groups like a new one.
func (t *Table) solicitedSlot(w wish) (ib.MLID, bool) {
	mlid, ok := t.solicited[solicitedKey(w.mgid)]
	if !ok || !t.config.ShareSolicitedNode || t.slot(mlid).class != w.class {
		return 0, false
	}
	return mlid, true
}

// attract lets a slot have the solicited-node groups like the one that it got,
// unless another has them.
func (t *Table) attract(s *slot, g *group) {
	key := solicitedKey(g.mgid)
	if _, had := t.solicited[key]; had || !key.IsValid() || s.key.IsValid() || g.want != 0 {
		return
	}
	s.key = key
	t.solicited[key] = s.mlid
}
