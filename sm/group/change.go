package group

import "heddle/ib"

// link puts a new group into the table.
func (t *Table) link(e *Entry, s *slot) {
	g := &group{
		mgid: e.MGID, mlid: e.MLID, params: e.Params, configured: e.Configured,
		state: e.State, want: e.Count, created: e.At, listAt: len(t.list),
	}
	t.groups[g.mgid] = g
	t.list = append(t.list, g)
	if n, own := ownNumber(g.mgid); own {
		t.generated = max(t.generated, n+1)
	}
	if e.Port.IsValid() {
		g.creator = t.intern(e.Port)
		g.creator.created++
	}
	if g.want != 0 {
		t.collected++
	}
	if g.state == ReceivingJoinReq {
		t.collecting++
		g.creator.pending++
	}
	t.attach(s, g)
	t.deadlines.set(g, e.Deadline)
	if g.state == ComputingRoutes {
		t.want(s, Completions)
	}
}

// unlink takes a group out, but for its slot.
func (t *Table) unlink(g *group) {
	t.empty(g)
	t.deadlines.set(g, 0)
	t.leaveState(g)
	last := len(t.list) - 1
	t.list[g.listAt] = t.list[last]
	t.list[g.listAt].listAt = g.listAt
	t.list[last] = nil
	t.list = t.list[:last]
	delete(t.groups, g.mgid)
	if g.want != 0 {
		t.collected--
	}
	t.disown(g)
}

// counted is 1 for one that counts.
func counted(one bool) int {
	if one {
		return 1
	}
	return 0
}

// disown takes the group off its creator's account.
func (t *Table) disown(g *group) {
	if g.creator != nil {
		g.creator.created--
		t.drop(g.creator)
		g.creator = nil
	}
}

// leaveState takes a group that waits for joins off its creator's account of
// those.
func (t *Table) leaveState(g *group) {
	if g.state == ReceivingJoinReq {
		t.collecting--
		g.creator.pending--
	}
}

// empty takes all members out of a group.
func (t *Table) empty(g *group) {
	for len(g.members) > 0 {
		t.expel(g, len(g.members)-1)
	}
}

// expel takes one member out of a group.
func (t *Table) expel(g *group, at int) {
	m := g.members[at]
	g.remove(at)
	t.members--
	t.slot(g.mlid).members--
	t.unproxy(m.by)
	t.drop(m.port)
}

func (t *Table) unproxy(by *port) {
	if by != nil {
		by.proxied--
		t.drop(by)
	}
}

// intern gives the port of a GID.
func (t *Table) intern(gid ib.GID) *port {
	p := t.ports[gid]
	if p == nil {
		p = &port{gid: gid}
		t.ports[gid] = p
	}
	return p
}

// drop forgets a port that nothing refers to.
func (t *Table) drop(p *port) {
	if p.idle() {
		delete(t.ports, p.gid)
	}
}

// admit puts a new member into a group.
func (t *Table) admit(g *group, m member) {
	s := t.slot(g.mlid)
	g.add(m)
	t.members++
	s.members++
	if g.want == 0 {
		t.want(s, Changes)
	}
}

// alter changes how a member takes part, and who asked for it.
func (t *Table) alter(g *group, m *member, by *port, state JoinState) {
	if g.want == 0 && m.state.Receives() != state.Receives() {
		t.want(t.slot(g.mlid), Changes)
	}
	before := m.by
	m.state, m.by = state, by
	t.unproxy(before)
}
