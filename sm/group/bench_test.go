package group

import (
	"testing"

	"heddle/ib"
)

const benchGroups, benchMembers = 10_000, 16

// benchRequests are the joins of 10,000 groups of 16 members out of 2,500
// ports, all members of a group at different times.
func benchRequests(collected bool) []Request {
	ports := make([]*Port, 2500)
	for i := range ports {
		ports[i] = testPort(i + 1)
	}
	requests := make([]Request, 0, benchGroups*benchMembers)
	for n := range benchMembers {
		for m := range benchGroups {
			r := plainJoin(m, 1)
			p := ports[(m*7+n*131)%len(ports)]
			r.PortGID, r.Requester, r.Member = p.GID, p, p
			if collected {
				r.MemberCount = benchMembers
			}
			requests = append(requests, *r)
		}
	}
	return requests
}

// BenchmarkJoin tells the time for one join, creations among them.
func BenchmarkJoin(b *testing.B) {
	for _, kind := range []string{"plain", "collected"} {
		b.Run(kind, func(b *testing.B) {
			requests := benchRequests(kind == "collected")
			entries := 0
			var table *Table
			for n := 0; b.Loop(); n++ {
				at := n % len(requests)
				if at == 0 {
					b.StopTimer()
					table = newTable(b, Config{Journal: func(Entry) { entries++ }})
					b.StartTimer()
				}
				if _, err := table.Join(start, &requests[at]); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkLargeGroup tells the time for a join and a leave in a group of
// 16,000 members.
func BenchmarkLargeGroup(b *testing.B) {
	table := newTable(b, Config{})
	for n := range 16_000 {
		mustJoin(b, table, plainJoin(1, n+1))
	}
	r := plainJoin(1, 20_000)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := table.Join(start, r); err != nil {
			b.Fatal(err)
		}
		if _, err := table.Leave(start, r); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkShare tells the time to create and delete a group where each MLID is
// shared.
func BenchmarkShare(b *testing.B) {
	table := newTable(b, Config{Cap: 1024, Share: true, Limits: Limits{Groups: 1 << 20}})
	for m := range 20_000 {
		mustJoin(b, table, plainJoin(m, m%500+1))
	}
	table.Take(start, Everything)
	r := plainJoin(1<<20, 7)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := table.Join(start, r); err != nil {
			b.Fatal(err)
		}
		if _, err := table.Leave(start, r); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkTakeComplete tells the time to hand out 10,000 groups that are
// complete, with their ports, and to have them ready.
func BenchmarkTakeComplete(b *testing.B) {
	requests := benchRequests(true)
	var ports Ports
	for b.Loop() {
		b.StopTimer()
		table := newTable(b, Config{})
		for i := range requests {
			mustJoin(b, table, &requests[i])
		}
		b.StartTimer()
		batch := table.Take(start, Everything)
		for _, mlid := range batch.Changed {
			ports = table.Ports(mlid, ports.Reset())
		}
		table.Programmed(start, batch.ID)
		if len(batch.Complete) != benchGroups || len(ports.Receivers) != benchMembers {
			b.Fatal(len(batch.Complete), len(ports.Receivers))
		}
	}
}

// BenchmarkSnapshot tells the time to write and to restore 160,000 members.
func BenchmarkSnapshot(b *testing.B) {
	table := newTable(b, Config{})
	requests := benchRequests(true)
	for i := range requests {
		mustJoin(b, table, &requests[i])
	}
	snapshot := table.AppendSnapshot(nil)
	b.Run("write", func(b *testing.B) {
		b.SetBytes(int64(len(snapshot)))
		for b.Loop() {
			snapshot = table.AppendSnapshot(snapshot[:0])
		}
	})
	b.Run("restore", func(b *testing.B) {
		b.SetBytes(int64(len(snapshot)))
		for b.Loop() {
			if _, err := Restore(Config{}, snapshot); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// TestNoAllocs holds that what happens most often allocates nothing.
func TestNoAllocs(t *testing.T) {
	table := newTable(t, Config{Journal: func(Entry) {}})
	for n := range 8 {
		mustJoin(t, table, plainJoin(1, n+1))
	}
	r, again := plainJoin(1, 100), plainJoin(1, 3)
	var ports Ports
	for name, f := range map[string]func(){
		"join again": func() { mustJoin(t, table, again) },
		"ports":      func() { ports = table.Ports(ib.FirstMLID, ports.Reset()) },
		"group":      func() { table.Group(r.MGID) },
		"member":     func() { table.Member(r.MGID, again.PortGID) },
		"advance":    func() { table.Advance(start) },
	} {
		f()
		if n := testing.AllocsPerRun(100, f); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}
