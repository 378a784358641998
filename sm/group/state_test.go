package group

import (
	"cmp"
	"slices"
)

// stateOf gives all that a table holds, but what waits for work, in an order
// that does not depend on how it came about.
func stateOf(t *Table) []Entry {
	entries := slices.Collect(t.Snapshot())
	entries = entries[:len(entries)-1]
	entries[0].At = 0 // the table may have seen a later time than that of its last entry
	for i := range entries[1:] {
		entries[i+1].Seq = 0
	}
	slices.SortFunc(entries[1:], func(a, b Entry) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), a.MGID.Compare(b.MGID), a.Port.Compare(b.Port), cmp.Compare(a.MLID, b.MLID))
	})
	return entries
}

// checkTable recounts all that the table counts, indexes and derives, in the
// slowest way.
func checkTable(t failer, table *Table) {
	t.Helper()
	if len(table.list) != len(table.groups) {
		t.Fatalf("%d groups in the list, %d in the map", len(table.list), len(table.groups))
	}
	counts := map[*port]*port{}
	count := func(p *port) *port {
		if counts[p] == nil {
			counts[p] = &port{}
		}
		return counts[p]
	}
	members, collected, waiting := 0, 0, 0
	for i, g := range table.list {
		checkGroup(t, table, g)
		if g.listAt != i || table.groups[g.mgid] != g {
			t.Fatalf("%v stands at %d, says %d", g.mgid, i, g.listAt)
		}
		members += len(g.members)
		if g.want != 0 {
			collected++
		}
		if g.deadline != 0 {
			waiting++
		}
		if g.creator != nil {
			count(g.creator).created++
			if g.state == ReceivingJoinReq {
				count(g.creator).pending++
			}
		}
		for _, m := range g.members {
			count(m.port).groups = append(count(m.port).groups, g)
			if m.by != nil {
				count(m.by).proxied++
			}
		}
	}
	if members != table.members || collected != table.collected || waiting != len(table.deadlines) {
		t.Fatalf("counted %d members, %d collected, %d waiting; the table says %d, %d, %d",
			members, collected, waiting, table.members, table.collected, len(table.deadlines))
	}
	checkPorts(t, table, counts)
	checkSlots(t, table)
}

func checkGroup(t failer, table *Table, g *group) {
	t.Helper()
	s := table.slot(g.mlid)
	if s == nil || g.slotAt >= len(s.groups) || s.groups[g.slotAt] != g {
		t.Fatalf("%v is not at its MLID %v", g.mgid, g.mlid)
	}
	if g.state.waits() != (g.deadline != 0) || g.deadline != 0 && table.deadlines[g.heapAt] != g {
		t.Fatalf("%v in %v has deadline %d", g.mgid, g.state, g.deadline)
	}
	if g.index != nil && len(g.index) != len(g.members) {
		t.Fatalf("%v: %d members, %d in the index", g.mgid, len(g.members), len(g.index))
	}
	for i, m := range g.members {
		if g.find(m.port) != i || m.port.groups[m.at] != g || table.ports[m.port.gid] != m.port {
			t.Fatalf("%v: member %v is not found", g.mgid, m.port.gid)
		}
	}
	switch {
	case g.configured:
	case g.want == 0 && !g.kept():
		t.Fatalf("%v has no member that keeps it", g.mgid)
	case g.want != 0 && (len(g.members) == 0) != (g.state == Destroying):
		t.Fatalf("%v in %v has %d members", g.mgid, g.state, len(g.members))
	case (g.state == ComputingRoutes || g.state == Ready) && len(g.members) != int(g.want),
		g.state == ReceivingJoinReq && len(g.members) == int(g.want):
		t.Fatalf("%v in %v has %d of %d members", g.mgid, g.state, len(g.members), g.want)
	}
}

func checkPorts(t failer, table *Table, counts map[*port]*port) {
	t.Helper()
	if len(counts) != len(table.ports) {
		t.Fatalf("%d ports take part, the table holds %d", len(counts), len(table.ports))
	}
	for p, c := range counts {
		if p.created != c.created || p.pending != c.pending || p.proxied != c.proxied || len(p.groups) != len(c.groups) {
			t.Fatalf("port %v: counted %+v, the table says %+v", p.gid, *c, *p)
		}
	}
}

func checkSlots(t failer, table *Table) {
	t.Helper()
	used, retiring, remembered, shareable, solicited := 0, 0, 0, 0, 0
	for i, s := range table.slots {
		if index(s.mlid) != i {
			t.Fatalf("slot %d is that of %v", i, s.mlid)
		}
		inUse := len(s.groups) > 0 || s.retiring
		if table.mlids.used.has(i) != inUse || inUse && table.mlids.reserved.has(i) || s.retiring && len(s.groups) > 1 {
			t.Fatalf("%v: %d groups, retiring %v, used %v", s.mlid, len(s.groups), s.retiring, table.mlids.used.has(i))
		}
		members, configured := 0, 0
		for _, g := range s.groups {
			members += len(g.members)
			configured += counted(g.configured)
			if classOf(g).partition != s.class.partition {
				t.Fatalf("%v: %v is not of partition %#x", s.mlid, g.mgid, s.class.partition)
			}
		}
		if members != s.members || configured != s.configured {
			t.Fatalf("%v: counted %d members, %d configured; the slot says %d, %d", s.mlid, members, configured, s.members, s.configured)
		}
		if inUse {
			used++
		}
		if s.retiring {
			retiring++
		}
		if s.last.IsValid() {
			remembered++
			if table.memory[s.last] != s.mlid || len(s.groups) > 0 && s.state() != Destroying {
				t.Fatalf("%v remembers %v, the table %v", s.mlid, s.last, table.memory[s.last])
			}
		}
		if len(s.groups) > 0 && !s.retiring {
			shareable++
			if table.sharers[s.class][s.classAt] != s {
				t.Fatalf("%v is not among those of its class", s.mlid)
			}
		}
		if s.key.IsValid() {
			solicited++
		}
	}
	offered := 0
	for _, slots := range table.sharers {
		offered += len(slots)
	}
	if used != table.mlids.inUse || retiring != table.retiring || remembered != len(table.memory) || shareable != offered || solicited != len(table.solicited) {
		t.Fatalf("counted %d used, %d retiring, %d remembered, %d shareable, %d solicited; the table says %d, %d, %d, %d, %d",
			used, retiring, remembered, shareable, solicited, table.mlids.inUse, table.retiring, len(table.memory), offered, len(table.solicited))
	}
}

// state gives that of the only group.
func (s *slot) state() State { return s.groups[0].state }

// failer is a test, plain or of package rapid.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}
