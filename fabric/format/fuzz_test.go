package format_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/fabric"
	"heddle/fabric/format"
	"heddle/ib"
)

// fuzzRead holds for any text: an error or a fabric, never both, never neither;
// a fabric that is written reads as one that is written alike; and no format
// loses a link.
func fuzzRead(f *testing.F, formatName string) {
	f.Add([]byte(write(f, tiny(), formatName)))
	f.Fuzz(func(t *testing.T, text []byte) {
		got, faults, err := format.Read(strings.NewReader(string(text)), "fuzz", formatName)
		if err != nil {
			if got != nil || faults != nil || !errors.Is(err, format.ErrNotTopology) {
				t.Fatalf("%v with %v, %v", err, got, faults)
			}
			return
		}
		checkFaults(t, faults)
		once := write(t, got, formatName)
		for _, form := range format.All() {
			if form.Read != nil {
				checkWritten(t, got, form.Name)
			}
		}
		if once == "" {
			return
		}
		again, _ := read(t, once, formatName)
		twice := write(t, again, formatName)
		if formatName == "subnet.lst" { // whose nodes stand in the order of its links
			once, twice = sorted(once), sorted(twice)
		}
		if twice != once {
			t.Fatalf("written, read, written (-once +twice):\n%s", cmp.Diff(strings.Split(once, "\n"), strings.Split(twice, "\n")))
		}
	})
}

// tiny is as small as a seed should be: a switch with a self link, a host.
func tiny() *fabric.Fabric {
	var b fabric.Builder
	s := b.AddNode(fabric.Node{GUID: 0xa, Kind: fabric.Switch, Name: "s #1", NumPorts: 4, MulticastCap: fabric.CapUnknown}, fabric.Place{})
	h := b.AddNode(fabric.Node{GUID: 0xb, Kind: fabric.Adapter, Name: "h HCA-1 ", NumPorts: 2, VendorID: 0x2c9}, fabric.Place{})
	b.SetPort(fabric.End{Node: s}, fabric.PortInfo{GUID: 0xa, LID: 1}, fabric.Place{})
	b.SetPort(fabric.End{Node: h, Port: 1}, fabric.PortInfo{GUID: 0xc, LID: 2, LMC: 1}, fabric.Place{})
	b.Cable(fabric.End{Node: s, Port: 1}, fabric.End{Node: h, Port: 1}, ib.LinkRate{Width: ib.Width4x, Speed: ib.HDR}, fabric.Place{})
	b.Cable(fabric.End{Node: s, Port: 2}, fabric.End{Node: s, Port: 3}, ib.LinkRate{Width: ib.Width1x}, fabric.Place{})
	f, _ := b.Build()
	return f
}

func sorted(text string) string {
	lines := slices.Collect(strings.Lines(text))
	slices.Sort(lines)
	return strings.Join(lines, "")
}

func checkFaults(t *testing.T, faults []fabric.Fault) {
	t.Helper()
	for _, f := range faults {
		if f.Kind == "" || f.Text == "" || f.Severity != fabric.Warning && f.Severity != fabric.Error || f.At.Line < 0 {
			t.Fatalf("the fault %+v", f)
		}
	}
}

// checkWritten writes a fabric in a format and reads it.
func checkWritten(t *testing.T, f *fabric.Fabric, formatName string) {
	t.Helper()
	text := write(t, f, formatName)
	if text == "" {
		return
	}
	nodes, ok := f.NumNodes(), true
	if formatName == "subnet.lst" {
		nodes, ok = countLinked(f)
	}
	got, faults := read(t, text, formatName)
	if ok && (got.LinkEnds() != f.LinkEnds() || got.NumNodes() != nodes) {
		t.Fatalf("as %s: %d link ends, %d nodes, want %d and %d\n%v\n%s",
			formatName, got.LinkEnds(), got.NumNodes(), f.LinkEnds(), nodes, faults, text)
	}
}

// countLinked counts the nodes with a link; ok is false where one has no GUID,
// which subnet.lst needs.
func countLinked(f *fabric.Fabric) (n int, ok bool) {
	ok = true
	for i := range f.NumNodes() {
		id := fabric.NodeID(i)
		ok = ok && f.Node(id).GUID != 0
		if isLinked(f, id) {
			n++
		}
	}
	return n, ok
}

func FuzzReadIbnetdiscover(f *testing.F) {
	f.Add([]byte("Chassis 1\ncaguid=0xb\nCa\t1 \"H-000000000000000b\"\t\t# \"h\"\n[1][ext 3](c)\t\"S-000000000000000a\"[1][ext 4] # lid 2 lmc 1 \"s\" lid 0 4xHDR s=4 w=2\n[2]\n"))
	fuzzRead(f, "ibnetdiscover")
}

func FuzzReadIbsim(f *testing.F) {
	f.Add([]byte("Switch 8 \"a\"\n[1] \"b\" [1] w=2 s=4\n\nHca 2 \"b\" # x\n[1]\"a\"[1]\ndo link \"a\"[2] \"b\"[2]\nwidth=3\nswitchguid+1\n"))
	fuzzRead(f, "ibsim")
}

func FuzzReadSubnetLst(f *testing.F) {
	f.Add([]byte(lst))
	fuzzRead(f, "subnet.lst")
}

func FuzzReadJSON(f *testing.F) {
	f.Add([]byte(jsonPair))
	fuzzRead(f, "json")
}
