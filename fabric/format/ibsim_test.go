package format_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/fabric"
	"heddle/ib"
)

func TestIbsimNet(t *testing.T) {
	f, faults := read(t, `# Net configuration file example
Switch	8 "Switch1"
[1]	"Hca1"[1]
[2]	"Hca2" [2]	w=2 s=4
[3]	"Switch2"[3]
[4]	"Switch2"[4]	w=11 e=6

Switch 8 "Switch2" # "named # two" enhanced port 0 lid 4 lmc 1
[3]	"Switch1"[3]
[4]	"Switch1"[4]	w=8
[5]	"Rt1"

Hca	2 "Hca1"
[1]	"Switch1"[1]

Ca	2 "Hca2"	# unquoted name
[2]	"Switch1"[2]

Rt	1 "Rt1"
[1] "Switch2"[5]
`, "")
	if len(faults) > 0 {
		t.Error(faults)
	}
	want := view{
		Nodes: []fabric.Node{
			{GUID: 0x200000, ID: "Switch1", Name: "Switch1", Kind: fabric.Switch, NumPorts: 8, MulticastCap: fabric.CapUnknown},
			{GUID: 0x200001, ID: "Switch2", Name: "named # two", Kind: fabric.Switch, NumPorts: 8, MulticastCap: fabric.CapUnknown, EnhancedPort0: true},
			{GUID: 0x100000, ID: "Hca1", Name: "Hca1", Kind: fabric.Adapter, NumPorts: 2},
			{GUID: 0x100003, ID: "Hca2", Name: "unquoted name", Kind: fabric.Adapter, NumPorts: 2},
			{GUID: 0x300000, ID: "Rt1", Name: "Rt1", Kind: fabric.Router, NumPorts: 1},
		},
		Ports: map[string]fabric.PortInfo{
			"Switch1:0": {GUID: 0x200000}, "Switch2:0": {GUID: 0x200001, LID: 4, LMC: 1},
			"Hca1:1": {GUID: 0x100001}, "Hca1:2": {GUID: 0x100002},
			"Hca2:1": {GUID: 0x100004}, "Hca2:2": {GUID: 0x100005}, "Rt1:1": {GUID: 0x300001},
		},
		Links: []wire{
			{A: "Hca1:1", B: "Switch1:1"},
			{"Hca2:2", "Switch1:2", ib.LinkRate{Width: ib.Width4x, Speed: ib.QDR}},
			{A: "Rt1:1", B: "Switch2:5"},
			{A: "Switch1:3", B: "Switch2:3"},
			{"Switch1:4", "Switch2:4", ib.LinkRate{Width: ib.Width12x, Speed: ib.HDR}},
		},
	}
	// Of the last link one end tells the speed, and both the width.
	if diff := cmp.Diff(want, viewOf(f)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestIbsimExtensions(t *testing.T) {
	f, faults := read(t, `switchguid=0x1000
vendid=0x2c9
sysimgguid=0x77
Switch 4 "A"
Switch 4 "B"
switchguid+0x10
Switch 4 "C"
caguid=0x2000
hcaguids=0x3000
width=2
speed=4
Hca 1 "H"
[1] "A"[1]
extspeed=2
pdebug=1
do link "B"[1] "C"[2]
do Link "B"[2] "A"[3]
do unlink "A"
do link "B"[9] "C"[1]
include "other.net"
module="m"
`, "ibsim")
	if diff := cmp.Diff([]string{"18 noise", "19 noise", "20 syntax !", "21 syntax !", "13/4 one-sided"}, said(faults)); diff != "" {
		t.Errorf("faults (-want +got):\n%s%v", diff, faults)
	}
	var guids []ib.GUID
	for i := range f.NumNodes() {
		guids = append(guids, f.Node(fabric.NodeID(i)).GUID)
	}
	if diff := cmp.Diff([]ib.GUID{0x1000, 0x1001, 0x1010, 0x3000}, guids); diff != "" {
		t.Errorf("GUIDs (-want +got):\n%s", diff)
	}
	if n := f.Node(0); n.VendorID != 0x2c9 || n.SystemGUID != 0x77 {
		t.Errorf("the first node is %+v", n)
	}
	qdr, edr := ib.LinkRate{Width: ib.Width4x, Speed: ib.QDR}, ib.LinkRate{Width: ib.Width4x, Speed: ib.EDR}
	if diff := cmp.Diff([]wire{{"A:1", "H:1", qdr}, {"A:3", "B:2", edr}, {"B:1", "C:2", edr}}, viewOf(f).Links); diff != "" {
		t.Errorf("links (-want +got):\n%s", diff)
	}
}

func TestMadeUpGUIDs(t *testing.T) {
	const net = `Hca 1 "a"
caguid=0xffffffffffffffff
Hca 1 "b"
Hca 1 "c"
caguid=0x100000
Hca 1 "d"
switchguid=0x200000
Switch 2 "e"
Switch 2 "S-0000000000200001"
Switch 2 "f"
`
	first, _ := read(t, net, "ibsim")
	second, _ := read(t, net, "ibsim")
	if diff := cmp.Diff(viewOf(first), viewOf(second)); diff != "" {
		t.Errorf("made up anew (-first +second):\n%s", diff)
	}
	seen := map[ib.GUID]string{}
	for i := range first.NumNodes() {
		n := first.Node(fabric.NodeID(i))
		if seen[n.GUID] != "" || n.GUID == 0 {
			t.Errorf("%s and %s have the GUID %v", seen[n.GUID], n.ID, n.GUID)
		}
		seen[n.GUID] = n.ID
	}
	if first.NumNodes() != 6 { // "d" has the GUID that "a" was given
		t.Errorf("%d nodes", first.NumNodes())
	}
}

func TestUnknownPeerOfANet(t *testing.T) {
	_, faults := read(t, "Switch 8 \"s\"\n[1] \"x\"[1]\n[2] \"x\"[2]\n", "")
	if diff := cmp.Diff([]string{"2 unknown-peer", "1 no-link"}, said(faults)); diff != "" {
		t.Errorf("faults (-want +got):\n%s%v", diff, faults)
	}
	if !strings.Contains(faults[0].Text, "x is not described") {
		t.Error(faults[0].Text)
	}
}
