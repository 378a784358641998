package group

import (
	"iter"
	"time"

	"heddle/ib"
)

// Group is a group as it is now.
type Group struct {
	MGID ib.MGID
	MLID ib.MLID
	Params
	// Configured groups stay without members.
	Configured bool
	// MemberCount is the number of members that a collected group will have, 0
	// for a plain group. Members is how many there are.
	MemberCount uint32
	Members     int
	// State is zero for a plain group. Deadline is when it ends at the latest;
	// zero where there is no limit.
	State    State
	Deadline time.Time
	// Creator is the port that asked first; zero for a configured group.
	Creator ib.GID
	Created time.Time
}

// Member is a port in a group.
type Member struct {
	Port      ib.GID
	JoinState JoinState
	// Proxy tells that Requester joined for the port.
	Proxy     bool
	Requester ib.GID
	Since     time.Time
}

// Joined is what a join or leave gives back for its answer. After the last bit
// has left, Member.JoinState is zero, and Group is as it was before the leave.
type Joined struct {
	Group  Group
	Member Member
}

func (g *group) view() Group {
	v := Group{
		MGID: g.mgid, MLID: g.mlid, Params: g.params, Configured: g.configured,
		MemberCount: g.want, Members: len(g.members), State: g.state,
		Deadline: instant(g.deadline), Created: instant(g.created),
	}
	if g.creator != nil {
		v.Creator = g.creator.gid
	}
	return v
}

func (m *member) view() Member {
	v := Member{Port: m.port.gid, JoinState: m.state, Requester: m.port.gid, Since: instant(m.since)}
	if m.by != nil {
		v.Proxy, v.Requester = true, m.by.gid
	}
	return v
}

// Group gives a group.
func (t *Table) Group(mgid ib.MGID) (Group, bool) {
	g := t.groups[mgid]
	if g == nil {
		return Group{}, false
	}
	return g.view(), true
}

// Member gives a port's membership in a group.
func (t *Table) Member(mgid ib.MGID, port ib.GID) (Member, bool) {
	g := t.groups[mgid]
	if g == nil {
		return Member{}, false
	}
	at := t.memberAt(g, t.canonical(port))
	if at < 0 {
		return Member{}, false
	}
	return g.members[at].view(), true
}

// Groups gives all groups, in no order that means something. The table must not
// be changed meanwhile; this holds for all that gives a sequence.
func (t *Table) Groups() iter.Seq[Group] { return views(t.list) }

// Members gives the members of a group, none where it is not there.
func (t *Table) Members(mgid ib.MGID) iter.Seq[Member] {
	return func(yield func(Member) bool) {
		g := t.groups[mgid]
		if g == nil {
			return
		}
		for i := range g.members {
			if !yield(g.members[i].view()) {
				return
			}
		}
	}
}

// GroupsOf gives the groups that a port is in.
func (t *Table) GroupsOf(port ib.GID) iter.Seq[Group] {
	p := t.ports[t.canonical(port)]
	if p == nil {
		return views(nil)
	}
	return views(p.groups)
}

// GroupsAt gives the groups that have an MLID; several where they share it.
func (t *Table) GroupsAt(mlid ib.MLID) iter.Seq[Group] {
	s := t.slot(mlid)
	if s == nil {
		return views(nil)
	}
	return views(s.groups)
}

func views(groups []*group) iter.Seq[Group] {
	return func(yield func(Group) bool) {
		for _, g := range groups {
			if !yield(g.view()) {
				return
			}
		}
	}
}

// instant is the time of Unix nanoseconds, the zero time for none.
func instant(ns int64) time.Time {
	if ns == 0 {
		return time.Time{}
	}
	return time.Unix(0, ns)
}

// Stats counts what a table holds.
type Stats struct {
	Groups, Collected, Members int
	// MLIDs is how many are in use, Retiring how many wait for Removed, Shared
	// how many serve several groups.
	MLIDs, Retiring, Shared int
}

// Stats counts what the table holds.
func (t *Table) Stats() Stats {
	s := Stats{Groups: len(t.list), Members: t.members, Collected: t.collected, MLIDs: t.mlids.inUse - t.retiring, Retiring: t.retiring}
	for i := range t.slots {
		if len(t.slots[i].groups) > 1 {
			s.Shared++
		}
	}
	return s
}
