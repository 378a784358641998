package admin

import (
	"errors"

	"heddle/ib"
	"heddle/mad"
	"heddle/sm/group"
)

// join answers a Set of MCMemberRecord.
func (r *request) join() mad.Status {
	return r.member(func(t *group.Table, q *group.Request) (group.Joined, error) { return t.Join(r.now, q) })
}

// leave answers a Delete of MCMemberRecord.
func (r *request) leave() mad.Status {
	return r.member(func(t *group.Table, q *group.Request) (group.Joined, error) { return t.Leave(r.now, q) })
}

func (r *request) member(change func(*group.Table, *group.Request) (group.Joined, error)) mad.Status {
	record, err := mad.ParseMCMemberRecord(r.data)
	if err != nil {
		return mad.StatusSARequestInvalid
	}
	var joined group.Joined
	there := true
	r.server.Groups(func(t *group.Table) {
		if there = r.refresh(); there {
			q := r.groupRequest(&record)
			joined, err = change(t, &q)
		}
	})
	switch {
	case !there:
		return mad.StatusBusy
	case err != nil:
		return refused(err)
	}
	told := memberRecord(&joined.Group, &joined.Member)
	told.PortGID = record.PortGID // as it was asked for
	return answer(r, told)
}

// refused is the status that tells of a refusal.
func refused(err error) mad.Status {
	var refusal *group.Refusal
	if !errors.As(err, &refusal) {
		return mad.StatusSARequestInvalid
	}
	switch refusal.Code() {
	case group.InsufficientComponents:
		return mad.StatusSAInsufficientFields
	case group.NoResources:
		return mad.StatusSANoResources
	case group.Denied:
		return mad.StatusSADenied
	case group.Busy:
		return mad.StatusBusy
	default:
		return mad.StatusSARequestInvalid
	}
}

// groupRequest is what the table of groups is asked for.
func (r *request) groupRequest(m *mad.MCMemberRecord) group.Request {
	const all = mad.MCMemberRecordProxyJoin<<1 - 1
	q := group.Request{
		Has: group.Components(r.mask & all), MGID: m.MGID, PortGID: m.PortGID, JoinState: group.JoinState(m.JoinState),
		Params: group.Params{
			QKey: m.QKey, PKey: m.PKey, MTU: m.MTU, Rate: m.Rate, Lifetime: uint8(m.Lifetime),
			SL: m.SL, TClass: m.TClass, HopLimit: m.HopLimit, FlowLabel: m.FlowLabel,
		},
		MLID: m.MLID, Scope: m.Scope,
		MTUSelector: group.Selector(m.MTUSelector), RateSelector: group.Selector(m.RateSelector),
		LifetimeSelector: group.Selector(m.LifetimeSelector),
		Requester:        r.snapshot.groupPort(r.asker),
	}
	if r.mask.Has(mad.MCMemberRecordMemberCount) {
		q.MemberCount = uint32(m.MemberCount)
	}
	if e := r.snapshot.named(m.PortGID); e == r.asker {
		q.Member = q.Requester
	} else if e != nil {
		q.Member = r.snapshot.groupPort(e)
	}
	return q
}

// groupPort is what the table of groups has to know of a port.
func (s *Snapshot) groupPort(e *end) *group.Port {
	return &group.Port{GID: s.gid(e), PKeys: s.pkeys(e), MTU: e.mtu, Rate: e.rate}
}

// memberRecord is the record of a member, or with nil of a group.
func memberRecord(g *group.Group, m *group.Member) mad.MCMemberRecord {
	record := mad.MCMemberRecord{
		MGID: g.MGID, QKey: g.QKey, MLID: g.MLID,
		MTUSelector: mad.SelectExactly, MTU: g.MTU, TClass: g.TClass, PKey: g.PKey,
		RateSelector: mad.SelectExactly, Rate: g.Rate,
		LifetimeSelector: mad.SelectExactly, Lifetime: mad.TimeValue(g.Lifetime),
		SL: g.SL, FlowLabel: g.FlowLabel, HopLimit: g.HopLimit, Scope: g.MGID.Scope(),
		MemberCount: uint16(min(g.MemberCount, 1<<16-1)),
	}
	if m != nil {
		record.PortGID, record.JoinState, record.ProxyJoin = m.Port, mad.JoinState(m.JoinState), m.Proxy
	}
	return record
}

// memberRecords tells whom it trusts of all members, and others of the groups
// alone, except that they find their own port by its GID.
func (r *request) memberRecords() {
	q, err := mad.ParseMCMemberRecord(r.data)
	if err != nil {
		return
	}
	members := r.trusted
	var only ib.GID
	if r.mask.Has(mad.MCMemberRecordPortGID) {
		only = q.PortGID
		members = members || r.snapshot.owns(r.asker, only)
	}
	r.server.Groups(func(t *group.Table) {
		visit := func(g *group.Group) bool { return r.putGroup(t, g, members, only) }
		r.eachGroup(t, &q, members, visit)
	})
}

// eachGroup visits the groups that a query can be about.
func (r *request) eachGroup(t *group.Table, q *mad.MCMemberRecord, members bool, visit func(*group.Group) bool) {
	if r.mask.Has(mad.MCMemberRecordMGID) {
		if g, ok := t.Group(q.MGID); ok {
			visit(&g)
		}
		return
	}
	groups := t.Groups()
	switch {
	case r.mask.Has(mad.MCMemberRecordMLID):
		groups = t.GroupsAt(q.MLID)
	case r.mask.Has(mad.MCMemberRecordPortGID) && members:
		groups = t.GroupsOf(q.PortGID)
	}
	for g := range groups {
		if !visit(&g) {
			return
		}
	}
}

// putGroup puts the records of a group.
func (r *request) putGroup(t *group.Table, g *group.Group, members bool, only ib.GID) bool {
	r.work++
	switch {
	case !r.mayUse(g.PKey):
		return true
	case !members || g.Members == 0:
		return put(r, memberRecord(g, nil))
	case only.IsValid():
		m, ok := t.Member(g.MGID, only)
		if !ok {
			return true
		}
		record := memberRecord(g, &m)
		record.PortGID = only
		return put(r, record)
	}
	for m := range t.Members(g.MGID) {
		if !put(r, memberRecord(g, &m)) {
			return false
		}
	}
	return true
}

// groupState answers a Get of MCGStateRecord, which only collected groups have.
func (r *request) groupState() mad.Status {
	q, err := mad.ParseMCGStateRecord(r.data)
	switch {
	case !r.one():
		return mad.StatusBadAttribute
	case err != nil:
		return mad.StatusSARequestInvalid
	case !r.mask.Has(mad.MCGStateRecordMGID):
		return mad.StatusSAInsufficientFields
	}
	r.work++
	g, ok := r.groupOf(q.MGID)
	if !ok || g.MemberCount == 0 {
		return mad.StatusSANoRecords
	}
	const most = 1<<16 - 1
	return answer(r, mad.MCGStateRecord{
		MGID: g.MGID, State: mad.MCGState(g.State),
		MemberCount: uint16(min(g.MemberCount, most)), Joined: uint16(min(g.Members, most)),
	})
}
