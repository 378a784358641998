package format_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"heddle/fabric"
	"heddle/fabric/pattern"
	"heddle/ib"
	"heddle/route"
	"heddle/route/format"
	"heddle/route/multicast"
	"heddle/route/unicast"
)

// laid is what an engine made of groups on a net: tables, and what they are of.
type laid struct {
	net
	d      *route.Demand
	s      *route.State
	tables *route.MFTs
	mlids  []ib.MLID
}

func lay(t testing.TB, n net, groups []fabric.Group, engine string) laid {
	t.Helper()
	e, err := multicast.Lookup(engine)
	if err != nil {
		t.Fatal(err)
	}
	h, err := route.NewHops(n.g, 2)
	if err != nil {
		t.Fatal(err)
	}
	l := laid{net: n, d: route.NewDemand(n.g, groups), s: route.NewState(n.g, h)}
	if _, err := route.All(l.s, l.d, route.NewFinder(h), e.New(n.g, h, multicast.Options{}), time.Now); err != nil {
		t.Fatal(err)
	}
	if l.mlids, err = route.AssignMLIDs(l.s, l.d); err != nil {
		t.Fatal(err)
	}
	if l.tables, err = route.NewMFTs(l.s, l.d, l.mlids); err != nil {
		t.Fatal(err)
	}
	return l
}

func grouped(t testing.TB, n net, text string) []fabric.Group {
	t.Helper()
	groups, err := pattern.Generate(n.f, text)
	if err != nil {
		t.Fatal(err)
	}
	return groups
}

// TestTablesComeBack writes tables of many fabrics and patterns and reads the
// same.
func TestTablesComeBack(t *testing.T) {
	for _, c := range [][2]string{
		{"fat-tree:k=8", "grid:16x8"},
		{"torus:4x4x3,e=3", "random:60x6"},
		{"dragonfly:a=4,p=2,h=2,mcap=300", "grid:8x9"},
		{"single:hosts=254", "random:30x20"},
		{"random:switches=30,degree=5,hosts=2", "hierarchy:3x4x5"},
	} {
		t.Run(c[0], func(t *testing.T) {
			n := generated(t, c[0])
			l := lay(t, n, grouped(t, n, c[1]), "fulb")
			var b bytes.Buffer
			if err := format.WriteMFTs(&b, l.tables); err != nil {
				t.Fatal(err)
			}
			read, err := format.ReadMFTs(&b, n.g)
			if err != nil {
				t.Fatal(err)
			}
			for v := range read.Tables {
				if diff := cmp.Diff(l.tables.Tables[v], read.Tables[v], equateEmpty); diff != "" {
					t.Fatalf("switch %d (-written +read):\n%s", v, diff)
				}
			}
			if faults := route.CheckMFTs(read, l.d, l.mlids, 0); len(faults) > 0 {
				t.Error(faults[0])
			}
			membersComeBack(t, l)
			pathsComeBack(t, n)
		})
	}
}

// equateEmpty makes no difference between an empty table and none.
var equateEmpty = cmp.Comparer(func(x, y route.MFT) bool {
	return len(x) == len(y) && (len(x) == 0 || cmp.Equal([]route.MFTEntry(x), []route.MFTEntry(y)))
})

func membersComeBack(t *testing.T, l laid) {
	t.Helper()
	var b bytes.Buffer
	if err := format.WriteMembers(&b, l.g, l.d, l.mlids); err != nil {
		t.Fatal(err)
	}
	groups, mlids, err := format.ReadMembers(&b, l.f)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(l.mlids, mlids); diff != "" {
		t.Errorf("MLIDs (-written +read):\n%s", diff)
	}
	for i, g := range groups {
		if diff := cmp.Diff(l.d.Group(i).Members, g.Members); diff != "" {
			t.Errorf("members of group %d (-written +read):\n%s", i, diff)
		}
	}
}

func pathsComeBack(t *testing.T, n net) {
	t.Helper()
	h, err := route.NewHops(n.g, 2)
	if err != nil {
		t.Fatal(err)
	}
	for _, lmc := range []uint8{0, 1} {
		lids, err := route.AssignLIDs(n.f, lmc)
		if err != nil {
			t.Fatal(err)
		}
		paths, err := unicast.Engines()[0].Route(n.g, h, lids, unicast.Options{Workers: 1})
		if err != nil {
			t.Fatal(err)
		}
		var lfts, fdbs bytes.Buffer
		if err := format.WriteLFTs(&lfts, paths); err != nil {
			t.Fatal(err)
		}
		if err := format.WriteFDBs(&fdbs, paths, h); err != nil {
			t.Fatal(err)
		}
		a, err := format.ReadLFTs(&lfts, n.g, lids)
		if err != nil {
			t.Fatal(err)
		}
		b, err := format.ReadFDBs(&fdbs, n.g, lids)
		if err != nil {
			t.Fatal(err)
		}
		for v, table := range paths.Tables {
			if !bytes.Equal(table, a.Tables[v]) || !bytes.Equal(table, b.Tables[v]) {
				t.Fatalf("LFT of switch %d is %v, read %v and %v", v, table, a.Tables[v], b.Tables[v])
			}
		}
	}
}

// TestAnyTableComesBack: any entries at all, on switches of any number of ports.
func TestAnyTableComesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var b fabric.Builder
		counts := rapid.SliceOfN(rapid.IntRange(1, 254), 1, 3).Draw(t, "ports")
		for i, n := range counts {
			b.AddNode(fabric.Node{GUID: ib.GUID(i + 1), Kind: fabric.Switch, NumPorts: uint16(n), MulticastCap: fabric.CapUnknown}, fabric.Place{})
		}
		f, _ := b.Build()
		g := route.NewGraph(f, route.Selection{})
		want := &route.MFTs{Graph: g, Tables: make([]route.MFT, len(counts))}
		for v, n := range counts {
			mlid := ib.FirstMLID
			for range rapid.IntRange(0, 5).Draw(t, "entries") {
				e := route.MFTEntry{MLID: mlid}
				for _, p := range rapid.SliceOfN(rapid.IntRange(0, n), 1, 6).Draw(t, "entry") {
					e.Ports.Add(uint16(p))
				}
				want.Tables[v] = append(want.Tables[v], e)
				mlid += ib.MLID(rapid.IntRange(1, 3000).Draw(t, "step"))
			}
		}
		var text bytes.Buffer
		if err := format.WriteMFTs(&text, want); err != nil {
			t.Fatal(err)
		}
		got, err := format.ReadMFTs(&text, g)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want.Tables, got.Tables); diff != "" {
			t.Errorf("tables (-written +read):\n%s", diff)
		}
	})
}

// TestWritersTellWriteErrors: an error of the file itself is given back.
func TestWritersTellWriteErrors(t *testing.T) {
	n := generated(t, "fat-tree:k=8")
	l := lay(t, n, grouped(t, n, "grid:16x8"), "fulb")
	h, err := route.NewHops(n.g, 1)
	if err != nil {
		t.Fatal(err)
	}
	paths, err := unicast.Engines()[0].Route(n.g, h, n.lids, unicast.Options{})
	if err != nil {
		t.Fatal(err)
	}
	w := failing{bytes.ErrTooLarge}
	for name, err := range map[string]error{
		"MFTs":    format.WriteMFTs(w, l.tables),
		"members": format.WriteMembers(w, n.g, l.d, l.mlids),
		"LFTs":    format.WriteLFTs(w, paths),
		"FDBs":    format.WriteFDBs(w, paths, h),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
