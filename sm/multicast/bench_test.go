package multicast_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"heddle/fabric"
	"heddle/ib"
	"heddle/mad"
	"heddle/route"
	"heddle/sm/group"
	"heddle/sm/multicast"
)

var big = flag.Bool("big", false, "benchmark 10,000 groups on a fat tree of 16,000 adapters too")

// load is groups as hosts join them.
type load struct {
	name   string
	groups [][]int
}

// draws are groups of different random hosts.
func draws(groups, members, hosts int) load {
	rng := rand.New(rand.NewPCG(3, 0))
	l := load{name: fmt.Sprintf("%dx%d", groups, members)}
	for range groups {
		l.groups = append(l.groups, rng.Perm(hosts)[:members])
	}
	return l
}

// lines are groups of successive hosts.
func lines(groups, members int) load {
	l := load{name: "rows"}
	for i := range groups {
		var list []int
		for k := range members {
			list = append(list, i*members+k)
		}
		l.groups = append(l.groups, list)
	}
	return l
}

// fill gives a world all groups of a load, and returns their MLIDs.
func (w *world) fill(l load) (all []ib.MLID) {
	for i, hosts := range l.groups {
		mlid := ib.FirstMLID + ib.MLID(i)
		w.groups[mlid] = group.Ports{Receivers: w.gids(hosts)}
		all = append(all, mlid)
	}
	return all
}

// empty tells the router that all tables are empty.
func (w *world) empty(blocks uint16) {
	for _, id := range w.fabric.Switches() {
		n := w.fabric.Node(id)
		for position := range uint8(n.NumPorts/16 + 1) {
			for block := range blocks {
				w.answer(n.GUID, mad.MulticastModifier(block, position))
			}
		}
	}
}

// BenchmarkUpdate routes and programs groups on a fat tree: all at once, in
// windows of so many joins, one by one, and one join more. Sets are for all of
// them together, but for one more.
func BenchmarkUpdate(b *testing.B) {
	loads := []load{draws(1000, 8, 1024), draws(1000, 32, 1024), draws(20, 1024, 1024), lines(64, 16)}
	spec := "fat-tree:k=16"
	if *big {
		loads, spec = []load{draws(10000, 16, 16000)}, "fat-tree:k=40"
	}
	f := generate(quiet{b}, spec)
	for _, l := range loads {
		for _, name := range []string{"weave", "fulb", "sssp-new", "minihop"} {
			e := engine(quiet{b}, name, 1)
			b.Run(l.name+"/"+name+"/once", func(b *testing.B) { benchmark(b, f, e, l, len(l.groups), 0) })
			if !*big {
				for _, joins := range []int{400, 800, 1600, 3200} {
					b.Run(fmt.Sprintf("%s/%s/window=%d", l.name, name, joins), func(b *testing.B) { benchmark(b, f, e, l, 0, joins) })
				}
				b.Run(l.name+"/"+name+"/one-by-one", func(b *testing.B) { benchmark(b, f, e, l, 0, 1) })
			}
			b.Run(l.name+"/"+name+"/one-more", func(b *testing.B) { oneMore(b, f, e, l) })
		}
	}
}

// BenchmarkRebase sees the fabric again, as it was, and with one link less and
// back, with groups that are routed.
func BenchmarkRebase(b *testing.B) {
	l, spec := draws(1000, 32, 1024), "fat-tree:k=16"
	if *big {
		l, spec = draws(10000, 16, 16000), "fat-tree:k=40"
	}
	f := generate(quiet{b}, spec)
	w := newWorld(quiet{b}, f, engine(quiet{b}, "weave", 1))
	w.empty(uint16(len(l.groups)/32 + 1))
	w.r.Update(group.Batch{Changed: w.fill(l)}, w.groups)
	w.program()
	same, less := rebuilt(f), rebuilt(f.Without(nil, []fabric.LinkID{0}))
	b.Run("same", func(b *testing.B) {
		for b.Loop() {
			w.see(same)
			w.program()
		}
	})
	b.Run("link", func(b *testing.B) {
		sets, laid := w.sets, 0
		for b.Loop() {
			w.see(less)
			laid = w.report.Laid
			w.program()
			w.see(same)
			w.program()
		}
		b.ReportMetric(float64(w.sets-sets)/float64(b.N), "Sets")
		b.ReportMetric(float64(laid), "laid")
	})
}

// quiet is a benchmark as a fataler.
type quiet struct{ testing.TB }

// benchmark programs a load, either all groups at once, or so many joins at a
// time, host after host of group after group.
func benchmark(b *testing.B, f *fabric.Fabric, e multicast.Engine, l load, once, joins int) {
	var w *world
	for range b.N {
		b.StopTimer()
		w = newWorld(quiet{b}, f, e)
		w.empty(uint16(len(l.groups)/32 + 1))
		b.StartTimer()
		if once > 0 {
			all := w.fill(l)
			start := time.Now()
			w.report = w.r.Update(group.Batch{Changed: all}, w.groups)
			routed := time.Now()
			w.r.Plan(w.held)
			b.ReportMetric(float64(routed.Sub(start).Microseconds())/1000, "route-ms")
			b.ReportMetric(float64(time.Since(routed).Microseconds())/1000, "plan-ms")
			w.program()
			continue
		}
		w.join(l, joins)
	}
	w.measure(b)
}

func (w *world) join(l load, joins int) {
	var batch group.Batch
	waiting := 0
	flush := func() {
		w.report = w.r.Update(batch, w.groups)
		w.program()
		batch.Changed, waiting = batch.Changed[:0], 0
	}
	for i, hosts := range l.groups {
		mlid := ib.FirstMLID + ib.MLID(i)
		var p group.Ports
		for _, h := range hosts {
			p.Receivers = append(p.Receivers, ib.NewGID(ib.DefaultPrefix, hostGUID(h)))
			w.groups[mlid] = p
			if n := len(batch.Changed); n == 0 || batch.Changed[n-1] != mlid {
				batch.Changed = append(batch.Changed, mlid)
			}
			if waiting++; waiting == joins {
				flush()
			}
		}
	}
	if waiting > 0 {
		flush()
	}
}

func (w *world) measure(b *testing.B) {
	top, uses := w.r.Load()
	b.ReportMetric(float64(top), "maxEFI")
	b.ReportMetric(float64(uses), "uses")
	b.ReportMetric(float64(w.sets), "Sets")
	if w.cells > 0 {
		b.ReportMetric(float64(w.sets)/float64(w.cells), "Sets/cell")
	}
	w.judge(b)
}

// judge holds the tables against the groups.
func (w *world) judge(t testing.TB) {
	tables := w.r.Tables()
	f := tables.Graph.Fabric()
	var groups []fabric.Group
	var mlids []ib.MLID
	for mlid, p := range w.groups {
		var g fabric.Group
		for _, gid := range p.Receivers {
			end, _ := f.ByPortGUID(gid.GUID())
			g.Members = append(g.Members, end)
		}
		groups, mlids = append(groups, g), append(mlids, mlid)
	}
	d := route.NewDemand(tables.Graph, groups)
	for _, fault := range route.CheckMFTs(tables, d, mlids, 2) {
		t.Error(fault)
	}
}

// oneMore lets hosts join groups that are there, one at a time.
func oneMore(b *testing.B, f *fabric.Fabric, e multicast.Engine, l load) {
	w := newWorld(quiet{b}, f, e)
	w.empty(uint16(len(l.groups)/32 + 1))
	w.r.Update(group.Batch{Changed: w.fill(l)}, w.groups)
	w.program()
	w.sets, w.cells = 0, 0
	rng := rand.New(rand.NewPCG(7, 0))
	hosts := len(f.EndPorts())
	most := 0
	for b.Loop() {
		mlid := ib.FirstMLID + ib.MLID(rng.IntN(len(l.groups)))
		p := w.groups[mlid]
		p.Receivers = append(p.Receivers, ib.NewGID(ib.DefaultPrefix, hostGUID(rng.IntN(hosts))))
		w.groups[mlid] = p
		before := w.sets
		w.report = w.r.Update(group.Batch{Changed: []ib.MLID{mlid}}, w.groups)
		w.program()
		most = max(most, w.sets-before)
	}
	b.ReportMetric(float64(most), "most-Sets")
	b.ReportMetric(float64(w.sets)/float64(b.N), "Sets")
}
