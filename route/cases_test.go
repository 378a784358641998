package route_test

import (
	"strings"
	"testing"

	"heddle/fabric"
	"heddle/ib"
	"heddle/route"
	"heddle/route/multicast"
)

// Cases M3, M4, M8 and M10 of the project's list of cases from public reports,
// for every engine.

func eachEngine(t *testing.T, test func(t *testing.T, engine string)) {
	for _, e := range multicast.Engines() {
		t.Run(e.Name, func(t *testing.T) { test(t, e.Name) })
	}
}

func entries(t *route.MFTs) (n int) {
	for _, table := range t.Tables {
		n += len(table)
	}
	return n
}

// M3: one member only: no tree, no entry; the second join makes it.
func TestM3OneMember(t *testing.T) {
	eachEngine(t, func(t *testing.T, engine string) {
		f := generate(t, "fat-tree:k=4")
		ends := f.EndPorts()
		r := layGroups(t, f, []fabric.Group{{Members: ends[:1]}}, engine)
		if tree := r.s.Tree(0); len(tree.Edges) != 0 {
			t.Errorf("a tree of %d links for one member", len(tree.Edges))
		}
		tables, mlids := mfts(t, r)
		noFaults(t, route.CheckMFTs(tables, r.d, mlids, 0))
		if n := entries(tables); n != 0 {
			t.Errorf("%d entries for one member", n)
		}
		r = layGroups(t, f, []fabric.Group{{Members: []fabric.End{ends[0], ends[len(ends)-1]}}}, engine)
		tables, mlids = mfts(t, r)
		noFaults(t, route.CheckMFTs(tables, r.d, mlids, 0))
		if n := entries(tables); n != 5 {
			t.Errorf("%d entries for members in two pods, want 5", n)
		}
	})
}

// M4: a ring of 4 switches, members on 1 and 3: each member is reached exactly
// once, without a loop.
func TestM4Ring(t *testing.T) {
	eachEngine(t, func(t *testing.T, engine string) {
		f := generate(t, "ring:n=4")
		ends := f.EndPorts()
		r := layGroups(t, f, []fabric.Group{{Members: []fabric.End{ends[1], ends[3]}}}, engine)
		noFaults(t, route.Check(r.s, r.d))
		tables, mlids := mfts(t, r)
		noFaults(t, route.CheckMFTs(tables, r.d, mlids, 0))
		if n := entries(tables); n != 3 {
			t.Errorf("entries in %d switches, want 3", n)
		}
	})
}

// M8: a switch without multicast support: trees go round it; members behind it
// are named.
func TestM8SwitchWithoutMulticast(t *testing.T) {
	eachEngine(t, func(t *testing.T, engine string) {
		r := layGroups(t, ringWithGap(), ringGroup(0, 2), engine)
		noFaults(t, route.Check(r.s, r.d))
		if len(r.d.CutOff()) != 0 || r.s.Through()[1] != 0 || r.s.Through()[3] != 1 {
			t.Errorf("cut off: %v; trees through the switches: %v", r.d.CutOff(), r.s.Through())
		}
		tables, mlids := mfts(t, r)
		noFaults(t, route.CheckMFTs(tables, r.d, mlids, 0))

		r = layGroups(t, ringWithGap(), ringGroup(0, 1, 2), engine)
		noFaults(t, route.Check(r.s, r.d))
		cut := r.d.CutOff()
		if len(cut) != 1 || cut[0].Member != (fabric.End{Node: 5, Port: 1}) || !strings.Contains(cut[0].Why, "switch-1") {
			t.Errorf("cut off: %+v, want the host of switch-1", cut)
		}
		tables, mlids = mfts(t, r)
		noFaults(t, route.CheckMFTs(tables, r.d, mlids, 0))
	})
}

// ringWithGap is a ring of four switches, 0 to 3, with a host each, 4 to 7;
// switch 1 cannot multicast.
func ringWithGap() *fabric.Fabric {
	var b fabric.Builder
	for i := range 4 {
		n := fabric.Node{GUID: ib.GUID(i + 1), Name: "switch-" + string(rune('0'+i)), Kind: fabric.Switch, NumPorts: 3, MulticastCap: fabric.CapUnknown}
		if i == 1 {
			n.MulticastCap = 0
		}
		b.AddNode(n, fabric.Place{})
	}
	for i := range 4 {
		host := b.AddNode(fabric.Node{GUID: ib.GUID(i + 5), Kind: fabric.Adapter, NumPorts: 1}, fabric.Place{})
		b.Cable(fabric.End{Node: fabric.NodeID(i), Port: 1}, fabric.End{Node: host, Port: 1}, ib.LinkRate{}, fabric.Place{})
		b.Cable(fabric.End{Node: fabric.NodeID(i), Port: 2}, fabric.End{Node: fabric.NodeID((i + 1) % 4), Port: 3}, ib.LinkRate{}, fabric.Place{})
	}
	f, _ := b.Build()
	return f
}

func ringGroup(switches ...int) []fabric.Group {
	var g fabric.Group
	for _, i := range switches {
		g.Members = append(g.Members, fabric.End{Node: fabric.NodeID(4 + i), Port: 1})
	}
	return []fabric.Group{g}
}

// M10: a group with all ports of a large switch, and one with all ports of a
// fabric, the switches included: it comes to an end.
func TestM10AllPorts(t *testing.T) {
	eachEngine(t, func(t *testing.T, engine string) {
		for _, form := range []string{"single:hosts=254", "fat-tree:k=8", "torus:4x4x3,e=3", "dragonfly:a=4,p=2,h=2"} {
			f := generate(t, form)
			all := f.EndPorts()
			for _, id := range f.Switches() {
				all = append(all, fabric.End{Node: id})
			}
			r := layGroups(t, f, []fabric.Group{{Members: all}, {Members: append(all, all...)}}, engine)
			noFaults(t, route.Check(r.s, r.d))
			tables, mlids := mfts(t, r)
			noFaults(t, route.CheckMFTs(tables, r.d, mlids, 0))
			if n := entries(tables); n != 2*len(f.Switches()) {
				t.Errorf("%s: %d entries in %d switches", form, n, len(f.Switches()))
			}
		}
	})
}
