package format_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/fabric"
	"heddle/ib"
	"heddle/route"
	"heddle/route/format"
)

// Whatever a reader is given, it gives an error or a result; what it read is
// written and read to the same again.

func FuzzReadMFTs(f *testing.F) {
	for _, name := range []string{"two.dump_mfts", "two.dump_mfts-n", "two.dump_mfts-a", "two.ibroute-M"} {
		f.Add(testdata(f, name))
	}
	n := dumped(f, "two")
	f.Fuzz(func(t *testing.T, text []byte) {
		first, err := format.ReadMFTs(bytes.NewReader(text), n.g)
		if (first == nil) == (err == nil) {
			t.Fatalf("result %v, error %v", first, err)
		}
		if err != nil {
			return
		}
		var b bytes.Buffer
		if err := format.WriteMFTs(&b, first); err != nil {
			t.Fatal(err)
		}
		again, err := format.ReadMFTs(&b, n.g)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(first.Tables, again.Tables); diff != "" {
			t.Errorf("tables (-first +again):\n%s", diff)
		}
	})
}

func FuzzReadLFTs(f *testing.F) {
	for _, name := range []string{"two.dump_lfts", "two.dump_lfts-n", "two.ibroute-a", "two.opensm-lfts.dump", "lmc.ibroute"} {
		f.Add(testdata(f, name))
	}
	n := dumped(f, "two")
	f.Fuzz(func(t *testing.T, text []byte) {
		first, err := format.ReadLFTs(bytes.NewReader(text), n.g, n.lids)
		if (first == nil) == (err == nil) {
			t.Fatalf("result %v, error %v", first, err)
		}
		if err != nil {
			return
		}
		var b bytes.Buffer
		if err := format.WriteLFTs(&b, first); err != nil {
			t.Fatal(err)
		}
		again, err := format.ReadLFTs(&b, n.g, n.lids)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(first.Tables, again.Tables); diff != "" {
			t.Errorf("tables (-first +again):\n%s", diff)
		}
	})
}

func FuzzReadFDBs(f *testing.F) {
	for _, name := range []string{"two.opensm.fdbs", "lmc.opensm.fdbs"} {
		f.Add(testdata(f, name))
	}
	n := dumped(f, "two")
	h, err := route.NewHops(n.g, 1)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		first, err := format.ReadFDBs(bytes.NewReader(text), n.g, n.lids)
		if (first == nil) == (err == nil) {
			t.Fatalf("result %v, error %v", first, err)
		}
		if err != nil {
			return
		}
		forgetDeadEnds(first, n.f)
		var b bytes.Buffer
		if err := format.WriteFDBs(&b, first, h); err != nil {
			t.Fatal(err)
		}
		again, err := format.ReadFDBs(&b, n.g, n.lids)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(first.Tables, again.Tables); diff != "" {
			t.Errorf("tables (-first +again):\n%s", diff)
		}
	})
}

// forgetDeadEnds takes out ports that lead to no switch nor to the owner of the
// LID: in fdbs they are unreachable, since they have no number of hops.
func forgetDeadEnds(t *route.LFTs, f *fabric.Fabric) {
	for v, table := range t.Tables {
		for l, port := range table {
			owner, ok := t.LIDs.Owner(ib.LID(l))
			if !ok || port == route.NoPort {
				continue
			}
			leaf, _ := f.Leaf(owner)
			peer, up := t.Exit(int32(v), ib.LID(l))
			if t.Graph.Vertex(leaf.Node) != int32(v) && (!up || f.Node(peer.Node).Kind != fabric.Switch) {
				table[l] = route.NoPort
			}
		}
	}
}

func FuzzReadMembers(f *testing.F) {
	f.Add([]byte("# comment\n0xc000 H-0000000000100000:1 0x100003 S-0000000000200000:0\n0xc001\n"))
	n := dumped(f, "two")
	f.Fuzz(func(t *testing.T, text []byte) {
		groups, mlids, err := format.ReadMembers(bytes.NewReader(text), n.f)
		if err != nil {
			if groups != nil || mlids != nil {
				t.Fatal("a result and an error")
			}
			return
		}
		if len(groups) != len(mlids) {
			t.Fatalf("%d groups, %d MLIDs", len(groups), len(mlids))
		}
		g := route.NewGraph(n.f, route.Selection{})
		var b strings.Builder
		d := route.NewDemand(g, groups)
		if err := format.WriteMembers(&b, g, d, mlids); err != nil {
			t.Fatal(err)
		}
		again, sameMLIDs, err := format.ReadMembers(strings.NewReader(b.String()), n.f)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(mlids, sameMLIDs); diff != "" {
			t.Errorf("MLIDs (-first +again):\n%s", diff)
		}
		if len(d.CutOff()) > 0 {
			return // they are left out
		}
		if diff := cmp.Diff(groups, again); diff != "" {
			t.Errorf("groups (-first +again):\n%s", diff)
		}
	})
}
