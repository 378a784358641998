package format_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/fabric"
	"heddle/ib"
)

func TestCutOffAfterTheSwitches(t *testing.T) {
	whole, _ := read(t, pair, "")
	cut := pair[:strings.Index(pair, "\nvendid=0x2c9\ndevid=0x101b")]
	f, faults := read(t, cut, "")
	if diff := cmp.Diff([]string{"8 truncated", "7 unknown-peer", "8 unknown-peer"}, said(faults)); diff != "" {
		t.Errorf("faults (-want +got):\n%s", diff)
	}
	// All is known but what only the adapter's own block tells.
	want := viewOf(whole)
	for i := range want.Nodes[1:] {
		n := &want.Nodes[i+1]
		n.SystemGUID, n.VendorID, n.DeviceID = 0, 0, 0
	}
	if diff := cmp.Diff(want, viewOf(f)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if errs := fabric.Errors(faults); len(errs) != 0 {
		t.Errorf("not routable: %v", errs)
	}
}

func TestUndescribedNodes(t *testing.T) {
	f, faults := read(t, edited(t, leafPort1, leafPort1+`
[3]	"H-0000000000000033"[2](34) 		# "Mellanox Technologies Aggregation Node" lid 61111 4xHDR
[4]	"H-0000000000000033"[1](35) 		# "Mellanox Technologies Aggregation Node" lid 61111 4xHDR
[5]	"S-0000000000000044"[9]		# "far" lid 44 4xHDR
[6]	"R-0000000000000055"[1](56) 		# "rt" lid 55 4xHDR
[7]	"odd"[1]		# "x" lid 55 4xHDR
[8]	"odd port"[1](77) 		# "x" lid 56 4xHDR`), "ibnetdiscover")
	want := []string{"8 unknown-peer", "8 lid", "10 unknown-peer", "11 unknown-peer", "12 unknown-peer", "13 guid", "13 unknown-peer"}
	got := said(faults)
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("faults (-want +got):\n%s%v", diff, faults)
	}
	agg, _ := f.ByID("H-0000000000000033")
	if n := f.Node(agg); n.Kind != fabric.Adapter || !n.Aggregation || n.NumPorts != 2 || n.GUID != 0x33 {
		t.Errorf("the aggregation node is %+v", n)
	}
	if p := f.Port(fabric.End{Node: agg, Port: 2}); p.GUID != 0x34 || p.LID != 0 {
		t.Errorf("its port is %+v", p)
	}
	far, _ := f.ByID("S-0000000000000044")
	if n, p := f.Node(far), f.Port(fabric.End{Node: far}); n.Kind != fabric.Switch || n.NumPorts != 9 || p.LID != 44 {
		t.Errorf("the switch is %+v, %+v", n, p)
	}
	if len(f.Routers()) != 1 || f.NumNodes() != 7 || f.LinkEnds() != 14 {
		t.Errorf("%d routers, %d nodes, %d link ends", len(f.Routers()), f.NumNodes(), f.LinkEnds())
	}
}

// TestEveryCut reads each beginning of a dump: what is found was said, and a
// cut within a line is seen, except where what is left is a whole line.
func TestEveryCut(t *testing.T) {
	whole, _ := read(t, pair, "")
	links := viewOf(whole).Links
	for n := 1; n < len(pair); n++ {
		text := pair[:n]
		f, faults := read(t, text, "ibnetdiscover")
		for _, l := range viewOf(f).Links {
			if !slices.ContainsFunc(links, func(w wire) bool { return w.A == l.A && w.B == l.B }) {
				t.Fatalf("after %d bytes there is a link %+v\n%s", n, l, text)
			}
		}
		last := text[strings.LastIndexByte(text, '\n')+1:]
		if cutInPort(last) && !slices.ContainsFunc(faults, func(f fabric.Fault) bool { return f.Kind == fabric.FaultTruncated }) {
			t.Fatalf("after %q no fault says that the file is cut: %v", last, faults)
		}
	}
}

// cutInPort tells whether a line is the beginning of a port line behind a name.
func cutInPort(line string) bool {
	return strings.HasPrefix(line, "[") && strings.Contains(line, "]\t") && !strings.HasSuffix(line, "DR")
}

func TestCutOffWithin(t *testing.T) {
	tests := []struct {
		name, end string
		faults    []string
	}{
		{"an attribute", "\nvendid=0x2c9\ndevid=0x101b\n", []string{"24 truncated"}},
		{"a number", "\nvendid=", []string{"23 truncated"}},
		{"the ID of a header", "\ncaguid=0x77\nCa\t1 \"H-00000", []string{"24 truncated"}},
		{"the name of a header", "\ncaguid=0x77\nCa\t1 \"H-0000000000000077\"\t\t# \"no", []string{"24 truncated", "24 no-link"}},
		{"a speed", "\ncaguid=0x77\nCa\t1 \"H-0000000000000077\"\t\t# \"node3\"\n[1](78) \t\"S-1c34da0300728866\"[3]\t\t# lid 8 lmc 0 \"x\" lid 7 4xHD", []string{"25 truncated", "25/6 one-sided"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, faults := read(t, pair+test.end, "")
			got := said(faults)
			if diff := cmp.Diff(test.faults, got); diff != "" {
				t.Errorf("faults (-want +got):\n%s%v", diff, faults)
			}
		})
	}
}

func TestDamagedLines(t *testing.T) {
	tests := []struct {
		name, text string
		faults     []string
		ends       int
	}{
		{"a header without an ID", edited(t, "Ca\t1 \"H-1c34da0300608820\"", "Ca\t1 \"\""), []string{"14 syntax", "15 syntax", "7 unknown-peer"}, 4},
		{"a header with an ID that does not end", edited(t, "Ca\t1 \"H-1c34da0300608820\"", "Ca\t1 \"H-1c34da0300608820"), []string{"14 syntax", "15 syntax", "7 unknown-peer"}, 4},
		{"too many ports", edited(t, "Ca\t1", "Ca\t70000"), []string{"14 limit", "15 syntax", "7 unknown-peer"}, 4},
		{"no ] of a port", edited(t, leafPort1, "[1"+leafPort1[3:]), []string{"7 syntax", "15/6 one-sided"}, 4},
		{"something before the peer", edited(t, "[1]\t\"H", "[1] x \"H"), []string{"7 syntax", "15/6 one-sided"}, 4},
		{"no port of the peer", edited(t, `8820"[1](1c34da0300608821)`, `8820"`), []string{"7 syntax", "15/6 one-sided"}, 4},
		{"a rate that is none", edited(t, "lid 2 4xHDR", "lid 2 5xHDR"), []string{"7 rate"}, 4},
		{"another", edited(t, "lid 2 4xHDR", "lid 2 4xABC"), []string{"7 rate"}, 4},
		{"unknown rates", edited(t, "lid 2 4xHDR", "lid 2 ?????"), nil, 4},
		{"no rate", edited(t, "lid 2 4xHDR", "lid 2"), nil, 4},
		{"a port's GUID that is none", edited(t, "(1c34da0300608821)", "(xyz)"), []string{"7 guid"}, 4},
		{"a GUID that is none", edited(t, "caguid=0x1c34da0300608820", "caguid=zero"), []string{"13 guid"}, 4},
		{"two nodes with one GUID", edited(t, "caguid=0x1c34da0300608908", "caguid=0x1c34da0300608820"), []string{"20/14 duplicate-node", "21 port-range", "8/14 port-range"}, 2},
		{"a node described twice", edited(t, leafPort1, leafPort1+"\n") + pair[strings.Index(pair, "Ca\t2"):], []string{"23/21 duplicate-node"}, 4},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f, faults := read(t, test.text, "")
			if diff := cmp.Diff(test.faults, said(faults)); diff != "" {
				t.Errorf("faults (-want +got):\n%s%v", diff, faults)
			}
			if f.LinkEnds() != test.ends {
				t.Errorf("%d link ends, want %d", f.LinkEnds(), test.ends)
			}
		})
	}
}

func TestSpeedsAndWidths(t *testing.T) {
	for w := ib.Width(1); w.IsValid(); w++ {
		for s := ib.Speed(1); s.IsValid(); s++ {
			rate := ib.LinkRate{Width: w, Speed: s}
			f, faults := read(t, strings.ReplaceAll(pair, "4xHDR", rate.String()), "")
			if got := f.Link(0).Rate; got != rate || len(faults) > 0 {
				t.Errorf("%v was read as %v, %v", rate, got, faults)
			}
		}
	}
}
