package fabric_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"heddle/fabric"
	"heddle/ib"
)

// small is two switches with two cables between them, a host on each and one
// on both, and a router.
func small(t *testing.T) (f *fabric.Fabric, ids map[string]fabric.NodeID) {
	t.Helper()
	var d draft
	a, b := d.add(fabric.Switch, "a", 8), d.add(fabric.Switch, "b", 8)
	h, k := d.add(fabric.Adapter, "h", 1), d.add(fabric.Adapter, "k", 2)
	r := d.add(fabric.Router, "r", 1)
	d.cable(a, 1, b, 1)
	d.cable(a, 2, b, 2)
	d.cable(a, 3, h, 1)
	d.cable(a, 4, k, 1)
	d.cable(b, 4, k, 2)
	d.cable(b, 5, r, 1)
	d.SetPort(fabric.End{Node: k, Port: 2}, fabric.PortInfo{GUID: 77, LID: 5, LMC: 1}, d.at())
	f, faults := d.Build()
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	return f, map[string]fabric.NodeID{"a": a, "b": b, "h": h, "k": k, "r": r}
}

func TestLookups(t *testing.T) {
	f, ids := small(t)
	k := ids["k"]
	if id, ok := f.ByID("k"); !ok || id != k {
		t.Errorf("ByID = %v, %v", id, ok)
	}
	if id, ok := f.ByGUID('k'); !ok || id != k {
		t.Errorf("ByGUID = %v, %v", id, ok)
	}
	if e, ok := f.ByPortGUID(77); !ok || e != (fabric.End{Node: k, Port: 2}) {
		t.Errorf("ByPortGUID = %v, %v", e, ok)
	}
	if got := f.ByName("k"); !slices.Equal(got, []fabric.NodeID{k}) {
		t.Errorf("ByName = %v", got)
	}
	if got := f.Port(fabric.End{Node: k, Port: 3}); got != (fabric.Port{Link: fabric.NoLink}) {
		t.Errorf("a port that is not there is %+v", got)
	}
	if peer, ok := f.Peer(fabric.End{Node: k, Port: 2}); !ok || peer != (fabric.End{Node: ids["b"], Port: 4}) {
		t.Errorf("Peer = %v, %v", peer, ok)
	}
	if leaf, ok := f.Leaf(fabric.End{Node: k, Port: 1}); !ok || leaf != (fabric.End{Node: ids["a"], Port: 4}) {
		t.Errorf("Leaf = %v, %v", leaf, ok)
	}
	if got := len(f.EndPorts()); got != 3 {
		t.Errorf("%d end ports, want 3: T9, one host on two leaves", got)
	}
	if got, want := f.EndLabel(fabric.End{Node: k, Port: 2}), "k (0x000000000000006b) port 2"; got != want {
		t.Errorf("EndLabel = %q, want %q", got, want)
	}
}

func TestWithoutKeepsIndices(t *testing.T) {
	f, ids := small(t)
	cut := f.Without([]fabric.NodeID{ids["b"]}, []fabric.LinkID{2})
	if cut.NumNodes() != f.NumNodes() || cut.NumLinks() != f.NumLinks() {
		t.Error("indices changed their meaning")
	}
	for i := range f.NumLinks() {
		id := fabric.LinkID(i)
		if l := f.Link(id); cut.Link(id) != l {
			t.Errorf("link %d is another", id)
		} else if want := id != 2 && l.A.Node != ids["b"] && l.B.Node != ids["b"]; cut.LinkUp(id) != want {
			t.Errorf("link %d up = %v, want %v", id, !want, want)
		}
	}
	want := fabric.Summary{Switches: 1, Adapters: 2, Routers: 1, LinkEnds: 2, Components: 3, Faults: []fabric.Fault{}}
	if diff := cmp.Diff(want, cut.Summary(nil)); diff != "" {
		t.Errorf("what is left (-want +got):\n%s", diff)
	}
	nodes, links := cut.Diff(f)
	if !slices.Equal(nodes, []fabric.NodeID{ids["b"]}) || !slices.Equal(links, []fabric.LinkID{2}) {
		t.Errorf("Diff = %v, %v", nodes, links)
	}
	back := cut.With([]fabric.NodeID{ids["b"]}, []fabric.LinkID{2})
	if diff := cmp.Diff(f.Summary(nil), back.Summary(nil)); diff != "" {
		t.Errorf("after With (-want +got):\n%s", diff)
	}
	if got := f.LinkEnds(); got != 12 {
		t.Errorf("the first fabric changed: %d link ends", got)
	}
}

func TestSummaryJSON(t *testing.T) {
	f, _ := small(t)
	faults := []fabric.Fault{
		{
			Kind: fabric.FaultDisagree, Severity: fabric.Warning, Text: "x",
			At: fabric.Place{File: "f", Line: 2}, Other: fabric.Place{File: "f", Line: 5},
		},
		{Kind: fabric.FaultNoSwitch, Severity: fabric.Error, Text: "y"},
	}
	got, err := json.Marshal(f.Summary(faults))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"switches":2,"adapters":2,"routers":1,"linkEnds":12,"components":1,"faults":[` +
		`{"kind":"disagree","severity":"warning","file":"f","line":2,"otherFile":"f","otherLine":5,"text":"x"},` +
		`{"kind":"no-switch","severity":"error","text":"y"}]}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// statement is a cable as a test draws it.
type statement struct {
	from, to fabric.End
	both     bool
	speed    ib.Speed
}

func drawStatements(t *rapid.T, nodes int, ports uint16) []statement {
	end := rapid.Custom(func(t *rapid.T) fabric.End {
		return fabric.End{
			Node: fabric.NodeID(rapid.IntRange(0, nodes-1).Draw(t, "node")),
			Port: rapid.Uint16Range(0, ports+1).Draw(t, "port"),
		}
	})
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) statement {
		return statement{
			end.Draw(t, "from"), end.Draw(t, "to"), rapid.Bool().Draw(t, "both"),
			ib.Speed(rapid.IntRange(0, 3).Draw(t, "speed")),
		}
	}), 0, 40).Draw(t, "statements")
}

// TestAnyStatements holds what must be true of a fabric made of any words.
func TestAnyStatements(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var d draft
		const ports = 4
		nodes := rapid.IntRange(1, 6).Draw(t, "nodes")
		for i := range nodes {
			d.add(fabric.Kind(rapid.IntRange(1, 3).Draw(t, "kind")), string(rune('a'+i)), ports)
		}
		words := drawStatements(t, nodes, ports)
		for _, w := range words {
			state := d.Connect
			if w.both {
				state = d.Cable
			}
			state(w.from, w.to, ib.LinkRate{Speed: w.speed}, d.at())
		}
		f, faults := d.Build()
		checkLinks(t, f, words)
		checkParts(t, f)
		if len(faults) == 0 {
			for _, w := range words {
				if peer, ok := f.Peer(w.from); !ok || peer != w.to {
					t.Fatalf("no fault, but %v is cabled to %v and not to %v", w.from, peer, w.to)
				}
			}
		}
	})
}

// checkLinks: each link was said, and its ends know it and no other.
func checkLinks(t *rapid.T, f *fabric.Fabric, words []statement) {
	for i := range f.NumLinks() {
		id := fabric.LinkID(i)
		l := f.Link(id)
		if f.Port(l.A).Link != id || f.Port(l.B).Link != id || l.A == l.B || l.A.Port == 0 || l.B.Port == 0 {
			t.Fatalf("link %d is %+v", i, l)
		}
		if l.Other(l.A) != l.B || l.Other(l.B) != l.A {
			t.Fatalf("Other of %+v", l)
		}
		if !slices.ContainsFunc(words, func(w statement) bool {
			return w.from == l.A && w.to == l.B || w.from == l.B && w.to == l.A
		}) {
			t.Fatalf("nobody spoke of link %+v", l)
		}
	}
	ends := 0
	for i := range f.NumNodes() {
		for e, peer := range f.Ports(fabric.NodeID(i)) {
			ends++
			if back, ok := f.Peer(peer); !ok || back != e {
				t.Fatalf("%v leads to %v, which leads to %v", e, peer, back)
			}
		}
	}
	if ends != f.LinkEnds() || ends != 2*f.NumLinks() {
		t.Fatalf("%d ends, LinkEnds %d, %d links", ends, f.LinkEnds(), f.NumLinks())
	}
}

// checkParts: components are a partition, the largest first, and no link
// leaves one.
func checkParts(t *rapid.T, f *fabric.Fabric) {
	part := map[fabric.NodeID]int{}
	last := f.NumNodes()
	for i, ids := range f.Components() {
		if len(ids) == 0 || len(ids) > last || !slices.IsSorted(ids) {
			t.Fatalf("component %d is %v", i, ids)
		}
		last = len(ids)
		for _, id := range ids {
			if _, twice := part[id]; twice {
				t.Fatalf("node %d is in two components", id)
			}
			part[id] = i
		}
	}
	for i := range f.NumLinks() {
		if l := f.Link(fabric.LinkID(i)); f.LinkUp(fabric.LinkID(i)) && part[l.A.Node] != part[l.B.Node] {
			t.Fatalf("link %v leaves its component", l)
		}
	}
	for i := range f.NumNodes() {
		if _, ok := part[fabric.NodeID(i)]; ok != f.NodeUp(fabric.NodeID(i)) {
			t.Fatalf("node %d: in a component %v", i, ok)
		}
	}
}

// TestWithoutThenWith is the same as if nothing had happened, and a fabric
// without something is that of the live nodes and links.
func TestWithoutThenWith(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var d draft
		nodes := rapid.IntRange(2, 8).Draw(t, "nodes")
		for i := range nodes {
			d.add(fabric.Switch, string(rune('a'+i)), 6)
		}
		for _, w := range drawStatements(t, nodes, 6) {
			d.Cable(w.from, w.to, hdr, d.at())
		}
		f, _ := d.Build()
		var deadNodes []fabric.NodeID
		var deadLinks []fabric.LinkID
		g := f
		for range rapid.IntRange(0, 4).Draw(t, "deaths") {
			id := fabric.NodeID(rapid.IntRange(0, nodes-1).Draw(t, "node"))
			deadNodes = append(deadNodes, id)
			g = g.Without([]fabric.NodeID{id}, nil)
		}
		if f.NumLinks() > 0 {
			id := fabric.LinkID(rapid.IntRange(0, f.NumLinks()-1).Draw(t, "link"))
			deadLinks = append(deadLinks, id)
			g = g.Without(nil, deadLinks)
		}
		checkParts(t, g)
		nodesDiff, linksDiff := f.Diff(g)
		slices.Sort(deadNodes)
		if !slices.Equal(nodesDiff, slices.Compact(slices.Clone(deadNodes))) || !slices.Equal(linksDiff, deadLinks) {
			t.Fatalf("Diff = %v, %v, want %v, %v", nodesDiff, linksDiff, deadNodes, deadLinks)
		}
		for i := range f.NumLinks() {
			id := fabric.LinkID(i)
			l := f.Link(id)
			want := !slices.Contains(deadLinks, id) && !slices.Contains(deadNodes, l.A.Node) && !slices.Contains(deadNodes, l.B.Node)
			if g.LinkUp(id) != want || g.Link(id) != l {
				t.Fatalf("link %d is up: %v", id, !want)
			}
			if _, ok := g.Peer(l.A); ok != want {
				t.Fatalf("a dead link has a peer")
			}
		}
		if diff := cmp.Diff(f.Summary(nil), g.With(deadNodes, deadLinks).Summary(nil)); diff != "" {
			t.Fatalf("after With (-want +got):\n%s", diff)
		}
	})
}
