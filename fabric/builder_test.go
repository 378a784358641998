package fabric_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/fabric"
	"heddle/ib"
)

var hdr = ib.LinkRate{Width: ib.Width4x, Speed: ib.HDR}

// draft states fabrics in few words: a statement is on the line of its number.
type draft struct {
	fabric.Builder
	line int
}

func (d *draft) at() fabric.Place {
	d.line++
	return fabric.Place{File: "f", Line: d.line}
}

// add states a node whose GUID follows from its name.
func (d *draft) add(kind fabric.Kind, name string, ports uint16) fabric.NodeID {
	guid := ib.GUID(0)
	for _, c := range name {
		guid = guid<<8 | ib.GUID(c)
	}
	return d.AddNode(fabric.Node{GUID: guid, Name: name, ID: name, Kind: kind, NumPorts: ports}, d.at())
}

func (d *draft) connect(a fabric.NodeID, pa uint16, b fabric.NodeID, pb uint16) {
	d.Connect(fabric.End{Node: a, Port: pa}, fabric.End{Node: b, Port: pb}, hdr, d.at())
}

func (d *draft) cable(a fabric.NodeID, pa uint16, b fabric.NodeID, pb uint16) {
	d.Cable(fabric.End{Node: a, Port: pa}, fabric.End{Node: b, Port: pb}, hdr, d.at())
}

// said shortens faults to their kind, severity and lines.
func said(faults []fabric.Fault) []string {
	var out []string
	for _, f := range faults {
		out = append(out, fmt.Sprintf("%s %v %d/%d", f.Kind, f.Severity, f.At.Line, f.Other.Line))
	}
	return out
}

// wires lists the links as text.
func wires(f *fabric.Fabric) []string {
	var out []string
	for i := range f.NumLinks() {
		l := f.Link(fabric.LinkID(i))
		out = append(out, fmt.Sprintf("%s:%d-%s:%d", f.Node(l.A.Node).ID, l.A.Port, f.Node(l.B.Node).ID, l.B.Port))
	}
	return out
}

func TestBuilderFaults(t *testing.T) {
	tests := []struct {
		name   string
		state  func(d *draft)
		links  []string
		faults []string
	}{
		{"both ends agree", func(d *draft) {
			a, b := d.add(fabric.Switch, "a", 4), d.add(fabric.Adapter, "b", 1)
			d.connect(a, 1, b, 1)
			d.connect(b, 1, a, 1)
		}, []string{"a:1-b:1"}, nil},
		{"T8 one side only", func(d *draft) {
			a, b := d.add(fabric.Switch, "a", 4), d.add(fabric.Adapter, "b", 1)
			d.connect(a, 1, b, 1)
		}, []string{"a:1-b:1"}, []string{"one-sided warning 3/2"}},
		{"T8 the ends disagree about the port", func(d *draft) {
			a, b := d.add(fabric.Switch, "a", 4), d.add(fabric.Switch, "b", 4)
			d.connect(a, 1, b, 1)
			d.connect(b, 1, a, 2)
		}, []string{"a:1-b:1"}, []string{"disagree warning 3/4", "one-sided warning 4/1"}},
		{"T8 an agreeing pair wins over one end's word", func(d *draft) {
			a, b, c := d.add(fabric.Switch, "a", 4), d.add(fabric.Switch, "b", 4), d.add(fabric.Switch, "c", 4)
			d.connect(a, 1, b, 1)
			d.connect(b, 1, c, 1)
			d.connect(c, 1, b, 1)
		}, []string{"b:1-c:1"}, []string{"disagree warning 4/5", "no-link warning 1/0"}},
		{"one port, two cables", func(d *draft) {
			a, b, c := d.add(fabric.Switch, "a", 4), d.add(fabric.Switch, "b", 4), d.add(fabric.Switch, "c", 4)
			d.cable(a, 1, b, 1)
			d.cable(a, 1, c, 1)
			d.cable(c, 2, b, 2)
		}, []string{"a:1-b:1", "c:2-b:2"}, []string{"port-conflict warning 5/4"}},
		{"two cables to one port", func(d *draft) {
			a, b, c := d.add(fabric.Switch, "a", 4), d.add(fabric.Switch, "b", 4), d.add(fabric.Switch, "c", 4)
			d.cable(a, 1, b, 1)
			d.cable(c, 1, b, 1)
			d.cable(c, 2, b, 2)
		}, []string{"a:1-b:1", "c:2-b:2"}, []string{"port-conflict warning 5/4"}},
		{"the same said again", func(d *draft) {
			a, b := d.add(fabric.Switch, "a", 4), d.add(fabric.Switch, "b", 4)
			d.cable(a, 1, b, 1)
			d.cable(b, 1, a, 1)
			d.cable(a, 1, b, 1)
			d.connect(a, 1, b, 1)
		}, []string{"a:1-b:1"}, nil},
		{"a word for one end, then for both", func(d *draft) {
			a, b := d.add(fabric.Switch, "a", 4), d.add(fabric.Switch, "b", 4)
			d.connect(a, 1, b, 1)
			d.cable(a, 1, b, 1)
		}, []string{"a:1-b:1"}, nil},
		{"a port beyond the last, and port 0", func(d *draft) {
			a, b := d.add(fabric.Switch, "a", 2), d.add(fabric.Switch, "b", 2)
			d.cable(a, 3, b, 1)
			d.cable(a, 0, b, 1)
			d.cable(a, 1, b, 1)
		}, []string{"a:1-b:1"}, []string{"port-range warning 3/1", "port-range warning 4/0"}},
		{"a port cabled to itself", func(d *draft) {
			a, b := d.add(fabric.Switch, "a", 2), d.add(fabric.Switch, "b", 2)
			d.cable(a, 2, a, 2)
			d.cable(a, 1, b, 1)
		}, []string{"a:1-b:1"}, []string{"port-conflict warning 3/0"}},
		{"T2 a self link", func(d *draft) {
			a, b := d.add(fabric.Switch, "a", 4), d.add(fabric.Switch, "b", 4)
			d.connect(a, 1, a, 2)
			d.connect(a, 2, a, 1)
			d.cable(a, 3, b, 3)
		}, []string{"a:1-a:2", "a:3-b:3"}, nil},
		{"T3 one name, two nodes; one GUID, two IDs", func(d *draft) {
			a := d.add(fabric.Switch, "a", 4)
			n := fabric.Node{GUID: 7, ID: "x", Name: "a", Kind: fabric.Adapter, NumPorts: 1}
			x := d.AddNode(n, d.at())
			n.ID = "y"
			if y := d.AddNode(n, d.at()); y != x {
				panic("a second node of one GUID")
			}
			d.cable(a, 1, x, 1)
		}, []string{"a:1-x:1"}, []string{"duplicate-node warning 3/2"}},
		{"T4 no switch", func(d *draft) {
			a, b := d.add(fabric.Adapter, "a", 1), d.add(fabric.Adapter, "b", 1)
			d.cable(a, 1, b, 1)
		}, []string{"a:1-b:1"}, []string{"no-switch error 0/0"}},
		{
			"T5 islands, one of them a switch with a self link", func(d *draft) {
				a, b, c := d.add(fabric.Switch, "a", 4), d.add(fabric.Switch, "b", 4), d.add(fabric.Switch, "c", 4)
				d.add(fabric.Switch, "d", 4)
				e := d.add(fabric.Switch, "e", 4)
				f := d.add(fabric.Adapter, "f", 1)
				d.cable(a, 1, b, 1)
				d.cable(b, 2, c, 1)
				d.cable(e, 2, f, 1)
				g := d.add(fabric.Switch, "g", 4)
				d.cable(g, 1, g, 2)
			},
			[]string{"a:1-b:1", "b:2-c:1", "e:2-f:1", "g:1-g:2"},
			[]string{"no-link warning 4/0", "island error 5/0", "island error 10/0"},
		},
		{"T6 LIDs that meet", func(d *draft) {
			a, b := d.add(fabric.Switch, "a", 4), d.add(fabric.Adapter, "b", 1)
			c := d.add(fabric.Adapter, "c", 1)
			d.cable(a, 1, b, 1)
			d.cable(a, 2, c, 1)
			d.SetPort(fabric.End{Node: a}, fabric.PortInfo{LID: 8, LMC: 3}, d.at())
			d.SetPort(fabric.End{Node: b, Port: 1}, fabric.PortInfo{LID: 9}, d.at())
			d.SetPort(fabric.End{Node: c, Port: 1}, fabric.PortInfo{LID: 15}, d.at())
		}, []string{"a:1-b:1", "a:2-c:1"}, []string{"duplicate-lid warning 2/1", "duplicate-lid warning 3/1"}},
		{"more ports than can be", func(d *draft) {
			a, b := d.add(fabric.Switch, "a", 255), d.add(fabric.Switch, "b", 254)
			d.cable(a, 255, b, 1)
		}, []string{"a:255-b:1"}, []string{"limit warning 1/0"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var d draft
			test.state(&d)
			f, faults := d.Build()
			if diff := cmp.Diff(test.faults, said(faults)); diff != "" {
				t.Errorf("faults (-want +got):\n%s%v", diff, faults)
			}
			if diff := cmp.Diff(test.links, wires(f)); diff != "" {
				t.Errorf("links (-want +got):\n%s", diff)
			}
		})
	}
}

func TestIslandsAreNamed(t *testing.T) {
	var d draft
	hub := d.add(fabric.Switch, "hub", 20)
	for i := range uint16(12) {
		d.cable(hub, i+1, d.add(fabric.Adapter, fmt.Sprintf("h%d", i), 1), 1)
	}
	lone := d.add(fabric.Switch, "lone", 20)
	for i := range uint16(10) {
		d.cable(lone, i+1, d.add(fabric.Adapter, fmt.Sprintf("l%d", i), 1), 1)
	}
	_, faults := d.Build()
	if len(faults) != 1 || len(fabric.Errors(faults)) != 1 {
		t.Fatalf("faults = %v, want one island", faults)
	}
	text := faults[0].Text
	for _, want := range []string{"11 nodes", "other 13", "lone (", "l6 (", "and 3 more"} {
		if !strings.Contains(text, want) {
			t.Errorf("the fault %q does not say %q", text, want)
		}
	}
}

func TestRatesOfTheEnds(t *testing.T) {
	const w, s = ib.Width4x, ib.HDR
	tests := []struct {
		first, second, want ib.LinkRate
		faults              int
	}{
		{ib.LinkRate{Width: w, Speed: s}, ib.LinkRate{Width: w, Speed: s}, ib.LinkRate{Width: w, Speed: s}, 0},
		{ib.LinkRate{Width: w, Speed: s}, ib.LinkRate{}, ib.LinkRate{Width: w, Speed: s}, 0},
		{ib.LinkRate{}, ib.LinkRate{Width: w, Speed: s}, ib.LinkRate{Width: w, Speed: s}, 0},
		{ib.LinkRate{Width: w}, ib.LinkRate{Speed: s}, ib.LinkRate{Width: w, Speed: s}, 0},
		{ib.LinkRate{Width: ib.Width1x, Speed: s}, ib.LinkRate{Width: w, Speed: s}, ib.LinkRate{Width: ib.Width1x, Speed: s}, 1},
		{ib.LinkRate{Width: w, Speed: s}, ib.LinkRate{Width: w, Speed: ib.EDR}, ib.LinkRate{Width: w, Speed: ib.EDR}, 1},
		{ib.LinkRate{Width: ib.Width4x, Speed: ib.SDR}, ib.LinkRate{Width: ib.Width1x, Speed: ib.QDR}, ib.LinkRate{Width: ib.Width1x, Speed: ib.QDR}, 1},
		{ib.LinkRate{Width: ib.Width4x}, ib.LinkRate{Width: ib.Width1x}, ib.LinkRate{Width: ib.Width1x}, 1},
		{ib.LinkRate{Speed: ib.QDR}, ib.LinkRate{Speed: ib.FDR10}, ib.LinkRate{Speed: ib.QDR}, 1},
	}
	for _, test := range tests {
		t.Run(fmt.Sprintf("%v and %v", test.first, test.second), func(t *testing.T) {
			var d draft
			x := fabric.End{Node: d.add(fabric.Switch, "a", 4), Port: 1}
			y := fabric.End{Node: d.add(fabric.Switch, "b", 4), Port: 2}
			d.Connect(x, y, test.first, d.at())
			d.Connect(y, x, test.second, d.at())
			f, faults := d.Build()
			if got := f.Link(0).Rate; got != test.want || len(faults) != test.faults {
				t.Errorf("rate %v, want %v; %d faults, want %d: %v", got, test.want, len(faults), test.faults, faults)
			}
			for _, fault := range faults {
				if fault.Kind != fabric.FaultDisagree || fault.At.Line != 4 || fault.Other.Line != 3 {
					t.Errorf("fault %+v, want both lines", fault)
				}
			}
		})
	}
}

func TestFaultsAreBounded(t *testing.T) {
	var d draft
	a := d.add(fabric.Switch, "a", 4)
	d.cable(a, 1, d.add(fabric.Adapter, "b", 1), 1)
	for range fabric.MaxFaults + 17 {
		d.Report(fabric.Fault{Kind: fabric.FaultNoise, Severity: fabric.Warning})
	}
	d.Report(fabric.Fault{Kind: fabric.FaultNoise, Severity: fabric.Error})
	d.Report(fabric.Fault{Kind: fabric.FaultLID, Severity: fabric.Warning})
	_, faults := d.Build()
	if len(faults) != fabric.MaxFaults+2 {
		t.Fatalf("%d faults, want %d, one of another kind, and one that counts", len(faults), fabric.MaxFaults)
	}
	last := faults[len(faults)-1]
	if last.Kind != fabric.FaultLimit || last.Severity != fabric.Error || !strings.Contains(last.Text, "18 more faults of kind noise") {
		t.Errorf("the last fault is %+v", last)
	}
}

// TestManyDisagreeingEnds would take minutes if a fault cost a search.
func TestManyDisagreeingEnds(t *testing.T) {
	var d draft
	const n = 60000
	hubs := make([]fabric.NodeID, 2)
	for i := range hubs {
		hubs[i] = d.add(fabric.Switch, fmt.Sprint("hub", i), n)
	}
	for p := range uint16(n) {
		x, y := fabric.End{Node: hubs[0], Port: p + 1}, fabric.End{Node: hubs[1], Port: p + 1}
		d.Connect(x, y, hdr, d.at())
		d.Connect(y, x, ib.LinkRate{Width: ib.Width1x, Speed: ib.SDR}, d.at())
	}
	f, faults := d.Build()
	if f.LinkEnds() != 2*n || !slices.ContainsFunc(faults, func(f fabric.Fault) bool {
		return f.Kind == fabric.FaultLimit && strings.Contains(f.Text, fmt.Sprint(n-fabric.MaxFaults, " more"))
	}) {
		t.Errorf("%d link ends, faults end with %v", f.LinkEnds(), faults[len(faults)-1])
	}
}

func TestFaultText(t *testing.T) {
	f := fabric.Fault{
		Kind: fabric.FaultDisagree, Severity: fabric.Warning, Text: "no",
		At: fabric.Place{File: "x.topo", Line: 3}, Other: fabric.Place{Line: 9},
	}
	if got, want := f.String(), "x.topo:3: warning: no (see line 9)"; got != want {
		t.Errorf("String = %q, want %q", got, want)
	}
	if got, want := (fabric.Fault{Severity: fabric.Error, Text: "no"}).String(), "error: no"; got != want {
		t.Errorf("String = %q, want %q", got, want)
	}
}
