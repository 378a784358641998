package group

import (
	"bytes"
	"container/heap"
	"slices"

	"heddle/ib"
)

// group is a group in the table. All but find is called by apply only.
type group struct {
	mgid       ib.MGID
	mlid       ib.MLID
	params     Params
	configured bool
	state      State
	want       uint32 // MemberCount
	creator    *port  // nil for a configured group
	created    int64
	deadline   int64  // zero for none
	heapAt     int    // in deadlines, where there is one
	listAt     int    // in Table.list
	slotAt     int    // in slot.groups
	batch      uint64 // that carries its routes while they are computed
	members    []member
	keeper     int           // a member that may keep the group
	index      map[*port]int // of members, once they are many
}

// member is a port in a group.
type member struct {
	port  *port
	by    *port // who asked, where it was another
	since int64
	at    int32 // of the group in port.groups
	state JoinState
}

// port is a port that is a member of some group, created one, or asked for
// another.
type port struct {
	gid     ib.GID
	groups  []*group // where it is a member
	created int      // groups that are there because it asked
	pending int      // of these, those that wait for members
	proxied int      // members that it joined for others
	stamp   uint64   // of the Ports that has it already
}

func (p *port) idle() bool { return len(p.groups) == 0 && p.created == 0 && p.proxied == 0 }

// fewMembers are searched faster one by one.
const fewMembers = 16

// find gives the index of a port's membership, -1 where it has none.
func (g *group) find(p *port) int {
	if g.index != nil {
		if at, ok := g.index[p]; ok {
			return at
		}
		return -1
	}
	for i := range g.members {
		if g.members[i].port == p {
			return i
		}
	}
	return -1
}

func (g *group) add(m member) {
	m.at = int32(len(m.port.groups))
	m.port.groups = append(m.port.groups, g)
	g.members = append(g.members, m)
	switch {
	case g.index != nil:
		g.index[m.port] = len(g.members) - 1
	case len(g.members) > fewMembers:
		g.index = make(map[*port]int, 2*len(g.members))
		for i := range g.members {
			g.index[g.members[i].port] = i
		}
	}
}

// remove takes a member out; the last takes its place, in both lists.
func (g *group) remove(at int) {
	p, last := g.members[at].port, len(g.members)-1
	p.forget(int(g.members[at].at))
	delete(g.index, p)
	if at != last {
		g.members[at] = g.members[last]
		if g.index != nil {
			g.index[g.members[at].port] = at
		}
	}
	g.members[last] = member{}
	g.members = g.members[:last]
}

// forget takes a group out of those that the port is a member of.
func (p *port) forget(at int) {
	last := len(p.groups) - 1
	if at != last {
		moved := p.groups[last]
		p.groups[at] = moved
		moved.members[moved.find(p)].at = int32(at)
	}
	p.groups[last] = nil
	p.groups = p.groups[:last]
}

// kept tells whether a member is there by which a plain group lives. It looks
// first where it found one before.
func (g *group) kept() bool {
	if g.keeper < len(g.members) && g.members[g.keeper].state.KeepsGroup() {
		return true
	}
	g.keeper = slices.IndexFunc(g.members, func(m member) bool { return m.state.KeepsGroup() })
	if g.keeper < 0 {
		g.keeper = 0
		return false
	}
	return true
}

// deadlines is a heap of the groups that wait, the next to end first.
type deadlines []*group

func (d deadlines) Len() int { return len(d) }

func (d deadlines) Less(i, j int) bool {
	if d[i].deadline != d[j].deadline {
		return d[i].deadline < d[j].deadline
	}
	return bytes.Compare(d[i].mgid[:], d[j].mgid[:]) < 0
}

func (d deadlines) Swap(i, j int) {
	d[i], d[j] = d[j], d[i]
	d[i].heapAt, d[j].heapAt = i, j
}

// Push is for package heap.
func (d *deadlines) Push(x any) {
	g := x.(*group)
	g.heapAt = len(*d)
	*d = append(*d, g)
}

// Pop is for package heap.
func (d *deadlines) Pop() any {
	last := len(*d) - 1
	g := (*d)[last]
	(*d)[last] = nil
	*d = (*d)[:last]
	return g
}

// set gives a group a deadline, or with zero takes it away.
func (d *deadlines) set(g *group, at int64) {
	had := g.deadline != 0
	switch {
	case had && at != 0:
		g.deadline = at
		heap.Fix(d, g.heapAt)
	case had:
		heap.Remove(d, g.heapAt)
		g.deadline = 0
	case at != 0:
		g.deadline = at
		heap.Push(d, g)
	}
}
