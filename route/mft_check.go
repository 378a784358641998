package route

import (
	"fmt"

	"heddle/fabric"
	"heddle/ib"
)

// CheckMFTs judges tables alone, without the trees that they were made from: it
// sends a packet from members of each group as switches would forward it, out of
// all ports of the entry but the one that it came in by, and finds out that each
// other member gets it once, and nobody else, and that it comes to an end.
// senders is the number of members of each group that send; 0 is all of them.
// Members that the demand lists as cut off are left out. Time is linear in the
// entries for each sender.
func CheckMFTs(t *MFTs, d *Demand, mlids []ib.MLID, senders int) []Fault {
	c := newMFTChecker(t, d, mlids)
	cut := d.CutOff()
	var members []fabric.End // of a group, without those cut off
	for i := range d.NumGroups() {
		members = append(members[:0], d.Group(i).Members...)
		for ; len(cut) > 0 && cut[0].Group == i; cut = cut[1:] {
			members = without(members, cut[0].Member)
		}
		c.group(i, members, senders)
	}
	return c.faults
}

func without(members []fabric.End, m fabric.End) []fabric.End {
	kept := members[:0]
	for _, x := range members {
		if x != m {
			kept = append(kept, x)
		}
	}
	return kept
}

// mftChecker walks tables. All that is by slot is by port of a switch.
type mftChecker struct {
	slots
	t      *MFTs
	rows   []mftRow // of all tables, by MLID
	start  []int32  // by group: its rows
	peer   []int32  // by slot: the slot of the switch at the other end, -1 for none
	owner  []int32  // by slot: the vertex
	linked []bool   // by slot: a live cable is in the port, or it is port 0
	stamp  int32
	row    []int32 // by vertex: the row of the group at hand, see has
	inRow  []int32 // by vertex: the stamp of the last group with a row there
	member []int32 // by slot: the stamp of the last group with a member there
	got    []int32 // by slot: the walk that last delivered there
	walks  int32
	queue  []int32 // slots by which the packet enters a switch
	faults []Fault
}

type mftRow struct {
	vertex int32
	ports  PortSet
}

func newMFTChecker(t *MFTs, d *Demand, mlids []ib.MLID) *mftChecker {
	g := t.Graph
	c := &mftChecker{slots: newSlots(g), t: t, row: make([]int32, g.NumVertices()), inRow: make([]int32, g.NumVertices())}
	n := c.len()
	c.peer, c.owner, c.linked = make([]int32, n), make([]int32, n), make([]bool, n)
	c.member, c.got = make([]int32, n), make([]int32, n)
	for v, id := range g.nodes {
		c.wire(int32(v), id)
	}
	c.sortRows(d.NumGroups(), mlids)
	return c
}

func (c *mftChecker) wire(v int32, id fabric.NodeID) {
	for at := c.first[v]; at < c.first[v+1]; at++ {
		c.owner[at], c.peer[at] = v, -1
	}
	c.linked[c.first[v]] = true
	for e, peer := range c.g.f.Ports(id) {
		c.linked[c.of(e)] = true
		if c.g.vertex[peer.Node] >= 0 {
			c.peer[c.of(e)] = c.of(peer)
		}
	}
}

// sortRows gathers the rows of each group from all tables.
func (c *mftChecker) sortRows(groups int, mlids []ib.MLID) {
	group := make([]int32, ib.NumMLIDs)
	for i := range group {
		group[i] = -1
	}
	for i, m := range mlids {
		if m.IsValid() {
			group[m-ib.FirstMLID] = int32(i)
		}
	}
	c.start = make([]int32, groups+1)
	c.eachRow(group, func(i int32, _ mftRow) { c.start[i+1]++ })
	for i := range groups {
		c.start[i+1] += c.start[i]
	}
	c.rows = make([]mftRow, c.start[groups])
	fill := append([]int32(nil), c.start...)
	c.eachRow(group, func(i int32, r mftRow) {
		c.rows[fill[i]] = r
		fill[i]++
	})
}

func (c *mftChecker) eachRow(group []int32, visit func(int32, mftRow)) {
	for v, table := range c.t.Tables {
		for _, e := range table {
			if i := groupOf(group, e.MLID); i >= 0 {
				visit(i, mftRow{int32(v), e.Ports})
			}
		}
	}
}

func groupOf(group []int32, m ib.MLID) int32 {
	if !m.IsValid() {
		return -1
	}
	return group[m-ib.FirstMLID]
}

func (c *mftChecker) fault(kind FaultKind, group int, format string, args ...any) {
	c.faults = append(c.faults, Fault{kind, group, fmt.Sprintf(format, args...)})
}

func (c *mftChecker) label(slot int32) string {
	v := c.owner[slot]
	return c.g.f.EndLabel(fabric.End{Node: c.g.nodes[v], Port: uint16(slot - c.first[v])})
}

func (c *mftChecker) group(i int, members []fabric.End, senders int) {
	c.stamp++
	rows := c.rows[c.start[i]:c.start[i+1]]
	if len(members) < 2 {
		if len(rows) > 0 {
			c.fault(FaultStranger, i, "%d switches have an entry for a group of %d members", len(rows), len(members))
		}
		return
	}
	for k, r := range rows {
		c.inRow[r.vertex], c.row[r.vertex] = c.stamp, c.start[i]+int32(k)
	}
	for _, m := range members {
		slot := c.leaf(m)
		if slot < 0 {
			c.fault(FaultMissed, i, "%s hangs on no live switch", c.g.f.EndLabel(m))
			return
		}
		c.member[slot] = c.stamp
	}
	c.ends(i, rows)
	if senders <= 0 {
		senders = len(members)
	}
	for _, m := range members[:min(senders, len(members))] {
		if !c.send(i, m, members) {
			return
		}
	}
}

// ends looks at each port of each row by itself: it has a cable, whose other
// end, if a switch, has the port of its own in its row.
func (c *mftChecker) ends(i int, rows []mftRow) {
	for _, r := range rows {
		for p := range r.ports.All() {
			slot := c.first[r.vertex] + int32(p)
			switch {
			case slot >= c.first[r.vertex+1] || !c.linked[slot]:
				c.fault(FaultNoLink, i, "%s port %d is in the table, but has no link", c.g.Label(r.vertex), p)
			case c.peer[slot] < 0 && c.member[slot] != c.stamp:
				c.fault(FaultStranger, i, "%s is in the table, but has no member", c.label(slot))
			case c.peer[slot] >= 0 && !c.has(c.peer[slot]):
				c.fault(FaultOneWay, i, "%s is in the table, but not the other end %s", c.label(slot), c.label(c.peer[slot]))
			}
		}
	}
}

// has tells whether a port is in the row of its switch.
func (c *mftChecker) has(slot int32) bool {
	v := c.owner[slot]
	return c.inRow[v] == c.stamp && c.rows[c.row[v]].ports.Has(uint16(slot-c.first[v]))
}

// send sends a packet from a member and tells whether all went well.
func (c *mftChecker) send(i int, from fabric.End, members []fabric.End) bool {
	c.walks++
	before := len(c.faults)
	start := c.leaf(from)
	c.queue = append(c.queue[:0], start)
	c.got[start] = c.walks
	for k := 0; k < len(c.queue); k++ {
		if !c.forward(i, c.queue[k]) {
			return false
		}
	}
	for _, m := range members {
		if slot := c.leaf(m); c.got[slot] != c.walks {
			c.fault(FaultMissed, i, "%s does not get what %s sends", c.g.f.EndLabel(m), c.g.f.EndLabel(from))
		}
	}
	return len(c.faults) == before
}

// forward sends the packet on from a switch that it entered by a port. What
// comes to a port for the second time goes round in a loop.
func (c *mftChecker) forward(i int, in int32) bool {
	v := c.owner[in]
	if c.inRow[v] != c.stamp {
		return true
	}
	for p := range c.rows[c.row[v]].ports.All() {
		out := c.first[v] + int32(p)
		if out == in || out >= c.first[v+1] {
			continue
		}
		to := out
		if c.peer[out] >= 0 {
			to = c.peer[out]
			c.queue = append(c.queue, to)
		}
		if c.got[to] == c.walks {
			c.fault(FaultTwice, i, "%s gets a packet twice", c.label(to))
			return false
		}
		c.got[to] = c.walks
	}
	return true
}
