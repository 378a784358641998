package multicast_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/fabric"
	"heddle/ib"
	"heddle/route"
	"heddle/sm/group"
	"heddle/sm/multicast"
)

const first = ib.FirstMLID

// reached are the numbers of the hosts that get what a host sends.
func (w *world) reached(mlid ib.MLID, from int) (hosts []int) {
	w.Helper()
	end, ok := w.active.ByPortGUID(hostGUID(from))
	if !ok {
		w.Fatalf("no host %d", from)
	}
	got, err := w.walk(mlid, end)
	if err != nil {
		w.Fatal(err)
	}
	for guid := range got {
		hosts = append(hosts, int(guid-hostGUID(0))/16)
	}
	slices.Sort(hosts)
	return hosts
}

func (w *world) wantReached(mlid ib.MLID, from int, want ...int) {
	w.Helper()
	if diff := cmp.Diff(want, w.reached(mlid, from)); diff != "" {
		w.Fatalf("host %d reaches (-want +got):\n%s", from, diff)
	}
}

// switches is how many have an entry for an MLID.
func (w *world) switches(mlid ib.MLID) (n int) {
	for guid := range w.real {
		if w.entry(guid, mlid) != (route.PortSet{}) {
			n++
		}
	}
	return n
}

// TestOneMember is case M3: one port has no entry, two have.
func TestOneMember(t *testing.T) {
	w := newWorld(t, generate(t, "fat-tree:k=4"), engine(t, "weave", 1))
	w.have(first, []int{3}, nil)
	if p := w.program(); p.Sets > 0 {
		t.Errorf("%d Sets for one member", p.Sets)
	}
	w.have(first, []int{3, 9}, nil)
	w.program()
	w.wantReached(first, 3, 9)
	w.have(first, []int{9}, nil)
	w.program()
	if n := w.switches(first); n > 0 {
		t.Errorf("%d switches have an entry for one member", n)
	}
}

// TestRing is case M4: a ring of four, members on two that are opposite.
func TestRing(t *testing.T) {
	w := newWorld(t, generate(t, "ring:n=4"), engine(t, "fulb", 1))
	w.have(first, []int{0, 2}, nil)
	w.program()
	w.wantReached(first, 0, 2)
	w.wantReached(first, 2, 0)
	if n := w.switches(first); n != 3 {
		t.Errorf("%d switches in the tree, want 3", n)
	}
}

func TestSendOnly(t *testing.T) {
	w := newWorld(t, generate(t, "fat-tree:k=4"), engine(t, "weave", 1))
	w.have(first, []int{0, 15}, []int{8})
	w.program()
	w.wantReached(first, 8, 0, 15)
	w.wantReached(first, 0, 15)
	w.have(first, nil, []int{0, 8})
	w.program()
	if n := w.switches(first); n > 0 {
		t.Errorf("%d switches have an entry for two that send only", n)
	}
	w.have(first, []int{0}, []int{1}) // on one switch
	w.program()
	w.wantReached(first, 1, 0)
}

// TestJoinGrafts says what a join costs.
func TestJoinGrafts(t *testing.T) {
	w := newWorld(t, generate(t, "fat-tree:k=4"), engine(t, "weave", 1))
	w.have(first, []int{0, 5, 15}, nil)
	w.program()
	for _, c := range []struct {
		host, sets int
		why        string
	}{
		{14, 1, "its switch is in the tree"},
		{13, 2, "the switch above its own is in the tree"},
		{8, 3, "its whole pod is new"},
	} {
		receivers := append(w.groups[first].Receivers, w.gids([]int{c.host})...)
		w.groups[first] = group.Ports{Receivers: receivers}
		w.report = w.r.Update(group.Batch{Changed: []ib.MLID{first}}, w.groups)
		if p := w.program(); p.Sets > c.sets+1 || p.Sets < c.sets || len(p.Stages) != 1 {
			t.Errorf("host %d: %d Sets in %d stages; %s", c.host, p.Sets, len(p.Stages), c.why)
		}
		if w.report.Laid > 0 {
			t.Errorf("host %d: laid anew", c.host)
		}
	}
	w.wantReached(first, 0, 5, 8, 13, 14, 15)
}

// TestVanished: an MLID is unsettled until its entries are gone.
func TestVanished(t *testing.T) {
	w := newWorld(t, generate(t, "fat-tree:k=4"), engine(t, "weave", 1))
	w.have(first+40, []int{0, 15}, nil)
	w.program()
	delete(w.groups, first+40)
	w.r.Update(group.Batch{Vanished: []ib.MLID{first + 40, first + 41}}, w.groups)
	if diff := cmp.Diff([]ib.MLID{first + 40}, w.r.Unsettled(w.held)); diff != "" {
		t.Errorf("not settled (-want +got):\n%s", diff)
	}
	w.program()
	if n := w.switches(first + 40); n > 0 {
		t.Errorf("%d switches still have an entry", n)
	}
}

// TestVanishedUnanswered: an MLID is unsettled as long as a switch may still
// have its entries, since a Set was not answered.
func TestVanishedUnanswered(t *testing.T) {
	w := newWorld(t, generate(t, "fat-tree:k=4"), engine(t, "weave", 1))
	w.have(first, []int{0, 15}, nil)
	w.program()
	delete(w.groups, first)
	w.r.Update(group.Batch{Vanished: []ib.MLID{first}}, w.groups)
	p := w.r.Plan(w.held)
	for i := range p.Stages[0].SMPs {
		if q := &p.Stages[0].SMPs[i]; i == 0 {
			w.held.Unsure(q.Node.GUID(), q.Attr, q.Modifier)
		} else {
			w.write(q)
		}
	}
	if diff := cmp.Diff([]ib.MLID{first}, w.r.Unsettled(w.held)); diff != "" {
		t.Errorf("not settled (-want +got):\n%s", diff)
	}
	w.program()
	if list := w.r.Unsettled(w.held); len(list) > 0 || w.switches(first) > 0 {
		t.Errorf("not settled: %v, entries in %d switches", list, w.switches(first))
	}
}

// TestWithoutMulticast is case M8.
func TestWithoutMulticast(t *testing.T) {
	caps := func(sizes map[int]int32) *fabric.Fabric {
		f := generate(t, "ring:n=5")
		var b fabric.Builder
		for i := range f.NumNodes() {
			n := f.Node(fabric.NodeID(i))
			if size, ok := sizes[i]; ok {
				n.MulticastCap = size
			}
			b.AddNode(n, fabric.Place{})
			for p := range n.NumPorts + 1 {
				b.SetPort(fabric.End{Node: fabric.NodeID(i), Port: p}, f.Port(fabric.End{Node: fabric.NodeID(i), Port: p}).PortInfo, fabric.Place{})
			}
		}
		for i := range f.NumLinks() {
			l := f.Link(fabric.LinkID(i))
			b.Cable(l.A, l.B, l.Rate, fabric.Place{})
		}
		g, _ := b.Build()
		return g
	}
	w := newWorld(t, caps(map[int]int32{1: 0, 3: 64}), engine(t, "weave", 1))
	w.have(first, []int{0, 2}, nil) // the short way leads over switch 1
	w.program()
	w.wantReached(first, 0, 2)
	w.have(first+64, []int{0, 2}, nil) // beyond the table of switch 3: no way is left
	if n := len(w.report.CutOff); n != 1 {
		t.Errorf("%d ports are cut off, want 1: %v", n, w.report.CutOff)
	}
	w.have(first+1, []int{0, 1, 4}, nil)
	if cut := w.report.CutOff; len(cut) != 1 || cut[0].Port != hostGUID(1) || !strings.Contains(cut[0].Why, "cannot multicast") {
		t.Errorf("cut off: %v", cut)
	}
	w.have(first+65, []int{0, 3, 4}, nil)
	if cut := w.report.CutOff; len(cut) != 1 || cut[0].Port != hostGUID(3) || !strings.Contains(cut[0].Why, "64 groups only") {
		t.Errorf("cut off: %v", cut)
	}
	w.program()
	w.wantReached(first+1, 0, 4)
	w.wantReached(first+65, 0, 4)
}

// TestLinkDies: only the trees that used the link change.
func TestLinkDies(t *testing.T) {
	f := generate(t, "fat-tree:k=4")
	w := newWorld(t, f, engine(t, "weave", 1))
	for i := range 16 {
		w.have(first+ib.MLID(i), []int{i, (i + 5) % 16, (i + 11) % 16}, nil)
	}
	w.program()
	before := w.r.Tables()
	link := f.Link(0)
	used := w.r.MLIDsThrough(f.Node(link.A.Node).GUID, link.A.Port)
	w.see(rebuilt(f.Without(nil, []fabric.LinkID{0})))
	if w.report.Anew {
		t.Error("all was numbered anew")
	}
	if w.report.Laid != len(used) || len(used) == 0 {
		t.Errorf("%d laid, %d used the link", w.report.Laid, len(used))
	}
	after := w.r.Tables()
	for v, table := range before.Tables {
		for _, e := range table {
			if !slices.Contains(used, e.MLID) && after.Tables[v].Lookup(e.MLID) != e.Ports {
				t.Errorf("%v changed, and did not use the link", e.MLID)
			}
		}
	}
	w.program()
	w.see(rebuilt(f))
	if p := w.program(); p.Sets > 0 {
		t.Errorf("%d Sets when the link came back", p.Sets)
	}
}

// TestMoreNodes: a node that was not there before changes no tree.
func TestMoreNodes(t *testing.T) {
	f := generate(t, "fat-tree:k=4")
	host := f.Adapters()[7]
	w := newWorld(t, rebuilt(f.Without([]fabric.NodeID{host}, nil)), engine(t, "fulb", 1))
	for i := range 6 {
		w.have(first+ib.MLID(i), []int{i, i + 8, 15}, nil)
	}
	w.program()
	w.see(rebuilt(f))
	if !w.report.Anew || w.report.Laid > 0 {
		t.Errorf("anew %v, laid %d", w.report.Anew, w.report.Laid)
	}
	if p := w.program(); p.Sets > 0 {
		t.Errorf("%d Sets for a new node", p.Sets)
	}
	w.have(first, []int{0, 7, 8, 15}, nil)
	w.program()
	w.wantReached(first, 0, 7, 8, 15)
}

// TestDependencies: a ring has a cycle, a fat tree none, with unicast tables of
// another numbering too.
func TestDependencies(t *testing.T) {
	w := newWorld(t, generate(t, "ring:n=6"), engine(t, "fulb", 1))
	for i := range 6 {
		w.have(first+ib.MLID(i), []int{i, (i + 1) % 6, (i + 2) % 6}, nil)
	}
	if c, err := w.r.Dependencies(nil); err != nil || !c.Cyclic() {
		t.Errorf("ring: %v, %v", c, err)
	}
	lfts := func(f *fabric.Fabric) *route.LFTs {
		lids, err := route.LIDsOf(f)
		if err != nil {
			t.Fatal(err)
		}
		tables, err := route.NewLFTs(route.NewGraph(f, route.Selection{}), lids)
		if err != nil {
			t.Fatal(err)
		}
		return tables
	}
	if c, err := w.r.Dependencies(lfts(rebuilt(w.fabric))); err != nil || !c.Cyclic() {
		t.Errorf("ring in other numbers: %v, %v", c, err)
	}
	w = newWorld(t, generate(t, "fat-tree:k=4"), engine(t, "weave", 1))
	w.have(first, []int{0, 3, 9, 15}, nil)
	if c, err := w.r.Dependencies(lfts(rebuilt(w.fabric))); err != nil || c.Cyclic() {
		t.Errorf("fat tree: %v, %v", c, err)
	}
	r, err := multicast.New(multicast.Config{Engines: []multicast.Engine{engine(t, "weave", 1)}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Dependencies(nil); err == nil {
		t.Error("no error without a fabric")
	}
}

// TestBeforeTheFirstView: a batch that comes early waits for the fabric.
func TestBeforeTheFirstView(t *testing.T) {
	if _, err := multicast.New(multicast.Config{}); err == nil {
		t.Error("no error without an engine")
	}
	f := generate(t, "fat-tree:k=4")
	r, err := multicast.New(multicast.Config{Engines: []multicast.Engine{engine(t, "weave", 1)}})
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, f, engine(t, "weave", 1))
	w.r = r
	w.have(first, []int{0, 15}, nil)
	w.r.Update(group.Batch{Vanished: []ib.MLID{first + 5, 0}, Changed: []ib.MLID{0}}, w.groups)
	w.r.Reroute()
	if p := w.program(); p.Sets > 0 || w.r.Tables() != nil {
		t.Errorf("%d Sets without a fabric", p.Sets)
	}
	w.see(f)
	w.program()
	w.wantReached(first, 0, 15)
}

// TestChurn: the memory of trees does not grow with what has gone.
func TestChurn(t *testing.T) {
	w := newWorld(t, generate(t, "fat-tree:k=4"), engine(t, "fulb", 1))
	all := make([]int, 16)
	for i := range all {
		all[i] = i
	}
	for i := range 20000 {
		w.have(first+ib.MLID(i%7), all[:2+i%14], nil)
	}
	w.program()
	w.judge(t)
}

// TestUnanswered: a Set that was not answered may have been done or not. The
// block is read again.
func TestUnanswered(t *testing.T) {
	w := newWorld(t, generate(t, "fat-tree:k=4"), engine(t, "weave", 1))
	w.have(first, []int{0, 15}, nil)
	w.read()
	p := w.r.Plan(w.held)
	lost := p.Stages[0].SMPs[0]
	for i := range p.Stages[0].SMPs {
		w.write(&p.Stages[0].SMPs[i])
	}
	w.held.Unsure(lost.Node.GUID(), lost.Attr, lost.Modifier)
	if diff := cmp.Diff([]ib.MLID{first}, w.r.Unsettled(w.held)); diff != "" {
		t.Errorf("not settled (-want +got):\n%s", diff)
	}
	if n := len(w.r.Unknown(w.held)); n != 1 {
		t.Errorf("%d blocks are not known, want 1", n)
	}
	if n, want := len(w.r.Ahead(w.held, 33, nil)), 2*20-len(p.Stages[0].SMPs)+1; n != want {
		t.Errorf("%d blocks ahead are not known, want %d", n, want)
	}
	if p := w.program(); p.Sets != 0 { // it had been done
		t.Errorf("%d Sets", p.Sets)
	}
}

func TestExtraLinks(t *testing.T) {
	w := newWorld(t, generate(t, "fat-tree:k=4"), engine(t, "weave", 1))
	w.have(first, []int{0, 3}, nil)
	x := w.r.Reach(nil)
	expect := func(what string, x *multicast.Reach, host int, mlid ib.MLID, want int, members ...ib.GUID) {
		t.Helper()
		if extra := x.ExtraLinks(hostGUID(host), mlid, slices.Values(members)); extra != want {
			t.Errorf("host %d, %s: %d links more, want %d", host, what, extra, want)
		}
	}
	for host, want := range map[int]int{1: 0, 2: 0, 4: 3, 99: 0} {
		expect("a tree", x, host, first, want)
	}
	expect("no tree and no members", x, 4, first+1, 0)
	expect("no tree, but members", x, 4, first+1, 2, hostGUID(0), hostGUID(6))
	w.have(first+1, []int{4, 6}, nil)
	later := w.r.Reach(x)
	expect("the tree was laid", later, 4, first+1, 0)
	expect("what was given out before", x, 4, first+1, 2, hostGUID(6))
	expect("a tree that stayed", later, 4, first, 3)
}
