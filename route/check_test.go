package route_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/fabric"
	"heddle/route"
)

// TestCheckFindsFaults lays wrong trees on a ring of four switches with a host
// each.
func TestCheckFindsFaults(t *testing.T) {
	f := generate(t, "ring:n=4")
	g := route.NewGraph(f, route.Selection{})
	h := hopsOf(t, g)
	edge := map[[2]int32]int32{}
	for e := range int32(g.NumEdges()) {
		a, b := g.Ends(e)
		edge[[2]int32{min(a, b), max(a, b)}] = e
	}
	e01, e03, e12, e23 := edge[[2]int32{0, 1}], edge[[2]int32{0, 3}], edge[[2]int32{1, 2}], edge[[2]int32{2, 3}]
	ends := f.EndPorts()
	group := func(hosts ...int) fabric.Group {
		var group fabric.Group
		for _, k := range hosts {
			group.Members = append(group.Members, ends[k])
		}
		return group
	}
	dead := g.On(f.Without(nil, []fabric.LinkID{linkOf(g, e01)}))
	down := g.Ordered(route.Order{0, 1, 2, 1})
	tests := []struct {
		name  string
		g     *route.Graph
		group fabric.Group
		tree  route.Tree
		want  []route.FaultKind
	}{
		{"right", g, group(0, 1, 2), route.Tree{Root: 1, Edges: []int32{e01, e12}}, nil},
		{"right upwards", down, group(1, 2), route.Tree{Root: 1, Edges: []int32{e12}}, nil},
		{"one switch", g, group(2), route.Tree{Root: 2}, nil},
		{"none", g, group(0, 1), route.Tree{Root: -1}, []route.FaultKind{route.FaultNoTree}},
		{"missed", g, group(0, 1, 2), route.Tree{Root: 0, Edges: []int32{e01}}, []route.FaultKind{route.FaultMissed}},
		{"pieces", g, group(0, 1, 2, 3), route.Tree{Root: 0, Edges: []int32{e01, e23}}, []route.FaultKind{route.FaultPieces, route.FaultMissed, route.FaultMissed, route.FaultHeight}},
		{"cycle", g, group(0, 1, 2, 3), route.Tree{Root: 0, Edges: []int32{e01, e12, e23, e03}}, []route.FaultKind{route.FaultCycle}},
		{"an edge twice", g, group(0, 1), route.Tree{Root: 0, Edges: []int32{e01, e01}}, []route.FaultKind{route.FaultCycle}},
		{"dangling", g, group(0, 1), route.Tree{Root: 0, Edges: []int32{e01, e12}}, []route.FaultKind{route.FaultDangling}},
		{"dangling root", g, group(0, 1), route.Tree{Root: 3, Edges: []int32{e03, e01}}, []route.FaultKind{route.FaultDangling, route.FaultHeight}},
		{"too high", g, group(0, 1, 2), route.Tree{Root: 0, Edges: []int32{e01, e12}}, []route.FaultKind{route.FaultHeight}},
		{"a dead link", dead, group(0, 1), route.Tree{Root: 0, Edges: []int32{e01}}, []route.FaultKind{route.FaultDead, route.FaultHeight}},
		{"downwards", down, group(0, 1), route.Tree{Root: 1, Edges: []int32{e01}}, []route.FaultKind{route.FaultOrder}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			hops := h
			if test.g != g {
				hops = hopsOf(t, test.g)
			}
			s := route.NewState(test.g, hops)
			s.Put(0, test.tree)
			faults := route.Check(s, route.NewDemand(test.g, []fabric.Group{test.group}))
			if diff := cmp.Diff(test.want, kinds(faults)); diff != "" {
				t.Errorf("faults (-want +got):\n%s\n%v", diff, faults)
			}
			if diff := cmp.Diff(test.want, kinds(route.CheckTree(s, 0, route.NewDemand(test.g, []fabric.Group{test.group}).Leaves(0)))); diff != "" {
				t.Errorf("faults of CheckTree (-want +got):\n%s", diff)
			}
		})
	}
}

func linkOf(g *route.Graph, e int32) fabric.LinkID {
	l := g.Link(e)
	return g.Fabric().Port(l.A).Link
}

func kinds(faults []route.Fault) []route.FaultKind {
	var kinds []route.FaultKind
	for _, f := range faults {
		kinds = append(kinds, f.Kind)
	}
	return kinds
}

func TestCheckFindsWrongLoad(t *testing.T) {
	r := lay(t, "ring:n=6", "grid:3x2", "fulb")
	r.s.Load()[0]++
	r.s.Through()[1]--
	got := kinds(route.Check(r.s, r.d))
	if !slices.Equal(got, []route.FaultKind{route.FaultLoad, route.FaultLoad}) {
		t.Errorf("faults of two wrong loads: %v", got)
	}
}

// TestCheckFindsForgottenGroups: a tree of a group that the demand does not have
// is judged all the same.
func TestCheckFindsForgottenGroups(t *testing.T) {
	r := lay(t, "ring:n=6", "grid:3x2", "fulb")
	r.s.Put(r.d.NumGroups(), route.Tree{Root: 0, Edges: []int32{0, 0}})
	if got := kinds(route.Check(r.s, r.d)); !slices.Contains(got, route.FaultCycle) {
		t.Errorf("faults: %v", got)
	}
}

func TestFaultText(t *testing.T) {
	for _, test := range []struct {
		fault route.Fault
		want  string
	}{
		{route.Fault{Kind: route.FaultLoad, Group: -1, Text: "x"}, "x"},
		{route.Fault{Kind: route.FaultLoad, Group: 3, Text: "x"}, "group 3: x"},
	} {
		if got := test.fault.String(); got != test.want {
			t.Errorf("%#v is %q, want %q", test.fault, got, test.want)
		}
	}
}

func BenchmarkCheck(b *testing.B) {
	r := lay(b, "dragonfly:a=18,p=9,h=9", "grid:81x27x12,order=oblivious", "fulb")
	for b.Loop() {
		route.Check(r.s, r.d)
	}
}
