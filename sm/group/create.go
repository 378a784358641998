package group

import "heddle/ib"

// create makes the group of a join, without its first member.
func (t *Table) create(r *Request, gid ib.GID) (*group, *Refusal) {
	if refusal := t.checkCreate(r); refusal != nil {
		return nil, refusal
	}
	params, refusal := t.params(r)
	if refusal != nil {
		return nil, refusal
	}
	if refusal := t.checkLimits(r); refusal != nil {
		return nil, refusal
	}
	mgid := r.MGID
	if !mgid.IsValid() {
		mgid = t.generate(r.scope())
	}
	w := wish{mgid: mgid, first: gid, class: class{params.PKey.Base(), r.MemberCount != 0}, sated: t.sated(r)}
	if r.Has.Contain(HasMLID) {
		w.mlid = r.MLID
	}
	mlid, reason := t.choose(w)
	if reason != 0 {
		return nil, r.refuse(reason, 0)
	}
	e := Entry{Kind: EntryCreated, MGID: mgid, MLID: mlid, Port: r.Requester.GID, Params: params, Count: r.MemberCount}
	if r.MemberCount != 0 {
		e.State, e.Deadline = ReceivingJoinReq, t.limit(ReceivingJoinReq)
	}
	t.commit(e)
	return t.groups[mgid], nil
}

// scope is that of an MGID that is made up.
func (r *Request) scope() ib.Scope {
	if r.Has.Contain(HasScope) {
		return r.Scope
	}
	return ib.ScopeLinkLocal
}

// checkCreate looks at a join that would create a group. The members of a
// collected group arrive in any order, so that each kind of them can be first.
func (t *Table) checkCreate(r *Request) *Refusal {
	generated := r.MGID == ib.MGID{}
	switch {
	case !r.Has.Contain(CreateComponents):
		return r.refuse(MissingComponents, CreateComponents&^r.Has)
	case !r.JoinState.KeepsGroup() && r.MemberCount == 0:
		return r.refuse(NoGroup, HasJoinState)
	case r.MemberCount > MaxMemberCount:
		return r.refuse(BadValue, 0)
	case generated && !r.scope().IsValid():
		return r.refuse(BadValue, HasScope)
	case !generated && !t.mayCreate(r.MGID):
		return r.refuse(BadMGID, HasMGID)
	case !generated && r.Has.Contain(HasScope) && r.Scope != r.MGID.Scope():
		return r.refuse(Mismatch, HasScope)
	case !r.PKey.IsValid():
		return r.refuse(BadValue, HasPKey)
	case !r.Member.holds(r.PKey):
		return r.refuse(NotInPartition, HasPKey)
	case !r.SL.IsValid():
		return r.refuse(BadValue, HasSL)
	case r.FlowLabel > maxFlowLabel:
		return r.refuse(BadValue, HasFlowLabel)
	}
	return nil
}

// checkLimits looks at what the client, and all together, have already.
func (t *Table) checkLimits(r *Request) *Refusal {
	client := t.client(r)
	switch {
	case len(t.groups) >= t.config.Limits.TotalGroups:
		return r.refuse(TableFull, 0)
	case client.created >= t.config.Limits.Groups:
		return r.refuse(TooManyGroups, 0)
	case r.MemberCount != 0 && client.pending >= t.config.Limits.Pending:
		return r.refuse(TooManyPending, 0)
	}
	return t.checkMember(r)
}

// sated tells whether a client has its share of the MLIDs. Its groups are counted
// as if none of them shared one.
func (t *Table) sated(r *Request) bool {
	share := t.config.Limits.Share
	return share < 100 && t.client(r).created >= (t.limitMLIDs()*share+99)/100
}

// params gives the parameters of the group that a join creates: as large an MTU
// and as high a rate as the selectors and the first member's port admit. A group
// of IP over InfiniBand follows its broadcast group instead.
func (t *Table) params(r *Request) (Params, *Refusal) {
	if r.MGID.IsIPoIB() && r.MGID.PKey().Base() != r.PKey.Base() {
		return Params{}, r.refuse(Mismatch, HasPKey)
	}
	most := Params{MTU: min(r.Member.MTU, ib.MTU4096), Rate: r.Member.Rate, Lifetime: t.config.Lifetime}
	if r.MGID.IsIPoIB() && !r.MGID.IsBroadcast() {
		broadcast := t.groups[broadcastOf(r.MGID)]
		if broadcast == nil {
			return Params{}, r.refuse(NoBroadcast, HasMGID)
		}
		if refusal := r.follow(broadcast, &most); refusal != nil {
			return Params{}, refusal
		}
	}
	return r.within(most)
}

// follow bounds a group of IP over InfiniBand by its broadcast group. All
// groups of one IP link have one Q_Key and one MTU.
func (r *Request) follow(broadcast *group, most *Params) *Refusal {
	b := &broadcast.params
	switch {
	case r.QKey != b.QKey:
		return r.refuse(Mismatch, HasQKey)
	case r.Has.selects(HasMTUSelector, HasMTU, r.MTUSelector) && !r.MTUSelector.admits(int(b.MTU)-int(r.MTU)):
		return r.refuse(Mismatch, HasMTU)
	case most.MTU < b.MTU:
		return r.refuse(Unrealizable, HasMTU)
	}
	most.MTU, most.Lifetime = b.MTU, b.Lifetime
	if b.Rate.Compare(most.Rate) < 0 {
		most.Rate = b.Rate
	}
	return nil
}

// within chooses MTU, rate and lifetime up to those of most.
func (r *Request) within(most Params) (Params, *Refusal) {
	p := r.Params
	p.MTU, p.Rate, p.Lifetime = most.MTU, most.Rate, most.Lifetime
	if r.Has.selects(HasMTUSelector, HasMTU, r.MTUSelector) {
		p.MTU = r.MTUSelector.pickMTU(r.MTU, most.MTU)
	}
	if r.Has.selects(HasRateSelector, HasRate, r.RateSelector) {
		p.Rate = r.RateSelector.pickRate(r.Rate, most.Rate)
	}
	lifetime := true
	if r.Has.selects(HasLifetimeSelector, HasLifetime, r.LifetimeSelector) {
		p.Lifetime, lifetime = r.LifetimeSelector.pickLifetime(r.Lifetime, most.Lifetime)
	}
	if !r.Has.Contain(HasHopLimit) {
		p.HopLimit = 0
	}
	switch {
	case !p.MTU.IsValid():
		return Params{}, r.refuse(Unrealizable, HasMTU)
	case !p.Rate.IsValid():
		return Params{}, r.refuse(Unrealizable, HasRate)
	case !lifetime:
		return Params{}, r.refuse(BadValue, HasLifetime)
	}
	return p, nil
}
