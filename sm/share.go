package sm

import (
	"iter"

	"heddle/ib"
	"heddle/sm/group"
)

// shareMembers is how many members of an MLID are looked at that has no tree
// yet.
const shareMembers = 64

// shareCost is how many links more would be used if a group, whose first member
// is given, shared an MLID. It is called by joins, which have the table, and so
// reads what the routing showed last.
func (m *Manager) shareCost(t *group.Table, first ib.GID, with ib.MLID) int {
	x := m.reach.Load()
	if x == nil {
		return 0
	}
	return x.ExtraLinks(first.GUID(), with, membersAt(t, with))
}

// membersAt yields some ports of the groups that have an MLID.
func membersAt(t *group.Table, mlid ib.MLID) iter.Seq[ib.GUID] {
	return func(yield func(ib.GUID) bool) {
		n := 0
		for g := range t.GroupsAt(mlid) {
			for member := range t.Members(g.MGID) {
				if n++; n > shareMembers || !yield(member.Port.GUID()) {
					return
				}
			}
		}
	}
}

// showReach lets joins see the trees as they are now, if they may share them.
func (m *Manager) showReach() {
	if m.cfg.Groups.Share {
		m.reach.Store(m.router.Reach(m.reach.Load()))
	}
}

// sharing counts the groups that share their MLID with others.
func sharing(t *group.Table) (n int) {
	at := map[ib.MLID]int{}
	for g := range t.Groups() {
		at[g.MLID]++
	}
	for _, groups := range at {
		if groups > 1 {
			n += groups
		}
	}
	return n
}
