package format_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/fabric"
	"heddle/ib"
)

const (
	lstSwitch = `{ SW-SM Ports:24 SystemGUID:0000000000000a00 NodeGUID:0000000000000a00 PortGUID:0000000000000a01 VenID:0002C9 DevID:C738 Rev:000000A1 {leaf {1} } LID:0010 PN:0B }`
	lstHost   = `{ CA Ports:02 SystemGUID:0000000000000b03 NodeGUID:0000000000000b00 PortGUID:0000000000000b02 VenID:000002C9 DevID:10170000 Rev:00000000 {node1 HCA-1 } LID:0004 PN:02 }`
	lst       = lstSwitch + " " + lstHost + " PHY=4x LOG=ACT SPD=25\n" + lstHost + " " + lstSwitch + " PHY=4x LOG=ACT SPD=25\n"
)

func TestSubnetLst(t *testing.T) {
	f, faults := read(t, lst, "")
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	want := view{
		Nodes: []fabric.Node{
			{GUID: 0xa00, ID: "S-0000000000000a00", Name: "leaf {1} ", Kind: fabric.Switch, NumPorts: 36, SystemGUID: 0xa00, VendorID: 0x2c9, DeviceID: 0xc738, MulticastCap: fabric.CapUnknown},
			{GUID: 0xb00, ID: "H-0000000000000b00", Name: "node1 HCA-1 ", Kind: fabric.Adapter, NumPorts: 2, SystemGUID: 0xb03, VendorID: 0x2c9, DeviceID: 0x1017},
		},
		Ports: map[string]fabric.PortInfo{"S-0000000000000a00:0": {GUID: 0xa01, LID: 16}, "H-0000000000000b00:2": {GUID: 0xb02, LID: 4}},
		Links: []wire{{"H-0000000000000b00:2", "S-0000000000000a00:11", ib.LinkRate{Width: ib.Width4x, Speed: ib.EDR}}},
	}
	if diff := cmp.Diff(want, viewOf(f)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestSubnetLstFaults(t *testing.T) {
	replaced := func(old, text string) string { return strings.ReplaceAll(lst, old, text) }
	tests := []struct {
		name, text string
		faults     []string
		ends       int
	}{
		{"the speed is not told", replaced(" SPD=25", ""), nil, 2},
		{"unknown width and speed", replaced("PHY=4x LOG=ACT SPD=25", "PHY=?? LOG=INI SPD=??"), nil, 2},
		{"device told once", strings.Replace(lst, "DevID:C738", "DevID:0000", 1), nil, 2},
		{"CRLF, a prompt, a comment", "# x\r\n" + replaced("\n", "\r\n") + "[root@sm ~]# ", []string{"4 noise"}, 2},
		{"bad LIDs", replaced("LID:0004", "LID:FFFF"), []string{"1 lid"}, 2},
		{"no LIDs", replaced("LID:0010", "LID:0000"), []string{"1 lid"}, 2},
		{"a router", replaced("CA", "Rt"), nil, 2},
		{"a kind that is none", replaced("CA", "**"), []string{"1 syntax", "2 syntax", "0 no-switch !"}, 0},
		{"a port beyond the last", replaced("PN:0B", "PN:FF"), []string{"1 port-range", "2 port-range", "1 no-link", "2 no-link"}, 0},
		{"down", replaced("LOG=ACT", "LOG=DWN"), []string{"1 no-peer", "2 no-peer", "1 no-link", "1 no-link"}, 0},
		{"a rate that is none", replaced("PHY=4x", "PHY=5x"), []string{"1 rate", "2 rate"}, 2},
		{"one side only", lst[:len(lst)/2], []string{"1/1 one-sided"}, 2},
		{"cut", lst[:len(lst)-60], []string{"2 truncated", "1/1 one-sided"}, 2},
		{"the braces are gone", replaced("{", "("), []string{"1 noise", "2 noise", "0 no-switch !"}, 0},
		{"no GUID", replaced("NodeGUID:0000000000000b00", "NodeGUID:x"), []string{"1 syntax", "2 syntax", "0 no-switch !"}, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f, faults := read(t, test.text, "subnet.lst")
			if diff := cmp.Diff(test.faults, said(faults)); diff != "" {
				t.Errorf("faults (-want +got):\n%s%v", diff, faults)
			}
			if f.LinkEnds() != test.ends {
				t.Errorf("%d link ends, want %d", f.LinkEnds(), test.ends)
			}
		})
	}
}
