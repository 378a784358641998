package group

import (
	"time"

	"heddle/ib"
)

// Join puts a port into a group, which is created where it is not there, or
// adds to how the port takes part. The same request again changes nothing and
// succeeds. The error is a *Refusal.
func (t *Table) Join(now time.Time, r *Request) (Joined, error) {
	t.see(now)
	if refusal := t.checkRequest(r); refusal != nil {
		return Joined{}, refusal
	}
	if refusal := t.checkPorts(r); refusal != nil {
		return Joined{}, refusal
	}
	gid := t.canonical(r.PortGID)
	g := t.groups[r.MGID]
	var refusal *Refusal
	if g == nil {
		g, refusal = t.create(r, gid)
	} else {
		refusal = t.checkJoin(g, r, gid)
	}
	if refusal != nil {
		return Joined{}, refusal
	}
	t.enter(g, r, gid)
	t.settle(g)
	return Joined{g.view(), g.members[g.find(t.ports[gid])].view()}, nil
}

// Leave takes bits of a port's JoinState away, with the last of them the port,
// and with the last port the group. The error is a *Refusal, also for the same
// request again: the port is no such member any more.
func (t *Table) Leave(now time.Time, r *Request) (Joined, error) {
	t.see(now)
	if refusal := t.checkRequest(r); refusal != nil {
		return Joined{}, refusal
	}
	g, at, refusal := t.leaver(r)
	if refusal != nil {
		return Joined{}, refusal
	}
	left := Joined{g.view(), g.members[at].view()}
	left.Member.JoinState &^= r.JoinState
	m := &left.Member
	if m.JoinState == 0 {
		t.commit(Entry{Kind: EntryLeft, MGID: g.mgid, Port: m.Port})
	} else {
		t.commit(Entry{Kind: EntryMember, MGID: g.mgid, Port: m.Port, JoinState: m.JoinState, Requester: g.members[at].proxy()})
	}
	t.settle(g)
	return left, nil
}

// proxy gives who asked, where it was another port.
func (m *member) proxy() ib.GID {
	if m.by == nil {
		return ib.GID{}
	}
	return m.by.gid
}

// leaver gives the member that a request to leave is about.
func (t *Table) leaver(r *Request) (*group, int, *Refusal) {
	g := t.groups[r.MGID]
	if g == nil {
		return nil, 0, r.refuse(NoGroup, HasMGID)
	}
	at := t.memberAt(g, t.canonical(r.PortGID))
	if at < 0 || g.members[at].state&r.JoinState == 0 {
		return nil, 0, r.refuse(NotMember, HasPortGID|HasJoinState)
	}
	if !g.members[at].mayChange(g, r) {
		return nil, 0, r.refuse(NotOwner, HasPortGID)
	}
	return g, at, nil
}

// mayChange tells whether a requester may change or remove a member: the port
// itself, and for a member that another port joined, any in the partition.
func (m *member) mayChange(g *group, r *Request) bool {
	return !r.proxied() || m.by != nil && r.Requester.holds(g.params.PKey)
}

// checkRequest looks at what joins and leaves have in common.
func (t *Table) checkRequest(r *Request) *Refusal {
	switch {
	case !r.Has.Contain(JoinComponents):
		return r.refuse(MissingComponents, JoinComponents&^r.Has)
	case !r.JoinState.IsValid():
		return r.refuse(BadJoinState, HasJoinState)
	case r.Requester == nil || r.Member == nil:
		return r.refuse(UnknownPort, HasPortGID)
	}
	return nil
}

// checkPorts looks at the ports of a join.
func (t *Table) checkPorts(r *Request) *Refusal {
	switch {
	case t.canonical(r.PortGID).Prefix() != t.config.Prefix || r.PortGID.GUID() == 0:
		return r.refuse(UnknownPort, HasPortGID)
	case r.proxied() && !r.Requester.shares(r.Member):
		return r.refuse(NotInPartition, HasPortGID)
	}
	return nil
}

// enter makes a port a member, or adds to its JoinState. Who asked is kept,
// except that a port that asks for itself owns its membership from then on.
func (t *Table) enter(g *group, r *Request, gid ib.GID) {
	e := Entry{Kind: EntryMember, MGID: g.mgid, Port: gid, JoinState: r.JoinState}
	if r.proxied() {
		e.Requester = r.Requester.GID
	}
	if at := t.memberAt(g, gid); at >= 0 {
		m := &g.members[at]
		e.JoinState |= m.state
		if r.proxied() {
			e.Requester = m.proxy()
		}
		if e.JoinState == m.state && e.Requester == m.proxy() {
			return
		}
	}
	t.commit(e)
}

// checkJoin looks at a join to a group that is there.
func (t *Table) checkJoin(g *group, r *Request, gid ib.GID) *Refusal {
	at := t.memberAt(g, gid)
	if at < 0 && g.state > Ready { // whatever is asked for, the MGID will be free
		return r.refuse(Leaving, 0)
	}
	if differs := r.differs(g); differs != 0 {
		return r.refuse(Mismatch, differs)
	}
	switch {
	case r.Member.MTU < g.params.MTU:
		return r.refuse(Unrealizable, HasMTU)
	case r.Member.Rate.Compare(g.params.Rate) < 0:
		return r.refuse(Unrealizable, HasRate)
	case !r.Member.holds(g.params.PKey):
		return r.refuse(NotInPartition, HasPKey)
	case (r.MemberCount != 0) != (g.want != 0):
		return r.refuse(KindMismatch, 0)
	case r.MemberCount != g.want:
		return r.refuse(CountMismatch, 0)
	}
	if at >= 0 {
		return g.checkAgain(&g.members[at], r)
	}
	return t.checkNew(g, r)
}

// memberAt gives the index of a port's membership in a group, -1 for none.
func (t *Table) memberAt(g *group, gid ib.GID) int {
	if p := t.ports[gid]; p != nil {
		return g.find(p)
	}
	return -1
}

// checkAgain looks at a join of a port that is a member. What a collected group
// was routed for does not change any more.
func (g *group) checkAgain(m *member, r *Request) *Refusal {
	switch {
	case !m.mayChange(g, r):
		return r.refuse(NotOwner, HasPortGID)
	case g.state > ReceivingJoinReq && r.JoinState&^m.state != 0:
		return r.refuse(Complete, HasJoinState)
	}
	return nil
}

// checkNew looks at a join of a port that is not a member.
func (t *Table) checkNew(g *group, r *Request) *Refusal {
	if g.state > ReceivingJoinReq {
		return r.refuse(Complete, 0)
	}
	return t.checkMember(r)
}

// checkMember looks at the limits of members.
func (t *Table) checkMember(r *Request) *Refusal {
	switch {
	case t.members >= t.config.Limits.TotalMembers:
		return r.refuse(TableFull, 0)
	case r.proxied() && t.client(r).proxied >= t.config.Limits.Proxied:
		return r.refuse(TooManyMembers, 0)
	}
	return nil
}

// client gives the account of who asks.
func (t *Table) client(r *Request) *port {
	if p := t.ports[r.Requester.GID]; p != nil {
		return p
	}
	return &port{}
}

// differs gives the components of a request that are not the group's.
func (r *Request) differs(g *group) Components {
	p := &g.params
	var c Components
	for _, field := range [...]struct {
		has  Components
		same bool
	}{
		{HasQKey, r.QKey == p.QKey},
		{HasMLID, r.MLID == g.mlid},
		{HasTClass, r.TClass == p.TClass},
		{HasPKey, r.PKey.Base() == p.PKey.Base()},
		{HasSL, r.SL == p.SL},
		{HasFlowLabel, r.FlowLabel == p.FlowLabel},
		{HasHopLimit, r.HopLimit == p.HopLimit},
		{HasScope, r.Scope == g.mgid.Scope()},
	} {
		if r.Has.Contain(field.has) && !field.same {
			c |= field.has
		}
	}
	return c | r.outside(p)
}

// outside gives those of MTU, rate and lifetime that the selectors do not admit.
func (r *Request) outside(p *Params) Components {
	var c Components
	if r.Has.selects(HasMTUSelector, HasMTU, r.MTUSelector) && !r.MTUSelector.admits(int(p.MTU)-int(r.MTU)) {
		c |= HasMTU
	}
	if r.Has.selects(HasRateSelector, HasRate, r.RateSelector) && !r.RateSelector.admits(p.Rate.Compare(r.Rate)) {
		c |= HasRate
	}
	if r.Has.selects(HasLifetimeSelector, HasLifetime, r.LifetimeSelector) && !r.LifetimeSelector.admits(int(p.Lifetime)-int(r.Lifetime)) {
		c |= HasLifetime
	}
	return c
}
