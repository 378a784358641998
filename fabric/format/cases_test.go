package format_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/fabric"
	"heddle/ib"
)

// pair is a switch with two hosts, as ibnetdiscover prints it; line 1 is blank.
const pair = `
vendid=0x2c9
devid=0xd2f0
sysimgguid=0x1c34da0300728866
switchguid=0x1c34da0300728866(1c34da0300728866)
Switch	41 "S-1c34da0300728866"		# "MF0;leaf1:MQM8700/U1" enhanced port 0 lid 7 lmc 0
[1]	"H-1c34da0300608820"[1](1c34da0300608821) 		# "node1 HCA-1" lid 2 4xHDR
[2]	"H-1c34da0300608908"[2](1c34da030060890a) 		# "node2 HCA-1" lid 3 4xEDR

vendid=0x2c9
devid=0x101b
sysimgguid=0x1c34da0300608820
caguid=0x1c34da0300608820
Ca	1 "H-1c34da0300608820"		# "node1 HCA-1"
[1](1c34da0300608821) 	"S-1c34da0300728866"[1]		# lid 2 lmc 0 "MF0;leaf1:MQM8700/U1" lid 7 4xHDR

vendid=0x2c9
devid=0x101b
caguid=0x1c34da0300608908
Ca	2 "H-1c34da0300608908"		# "node2 HCA-1"
[2](1c34da030060890a) 	"S-1c34da0300728866"[2]		# lid 3 lmc 0 "MF0;leaf1:MQM8700/U1" lid 7 4xEDR
`

func TestPair(t *testing.T) {
	f, faults := read(t, pair, "")
	if len(faults) != 0 {
		t.Fatal(faults)
	}
	const leaf, h1, h2 = 0x1c34da0300728866, 0x1c34da0300608820, 0x1c34da0300608908
	want := view{
		Nodes: []fabric.Node{
			{
				GUID: leaf, ID: "S-1c34da0300728866", Name: "MF0;leaf1:MQM8700/U1", Kind: fabric.Switch, NumPorts: 41,
				SystemGUID: leaf, VendorID: 0x2c9, DeviceID: 0xd2f0, EnhancedPort0: true, MulticastCap: fabric.CapUnknown,
			},
			{GUID: h1, ID: "H-1c34da0300608820", Name: "node1 HCA-1", Kind: fabric.Adapter, NumPorts: 1, SystemGUID: h1, VendorID: 0x2c9, DeviceID: 0x101b},
			{GUID: h2, ID: "H-1c34da0300608908", Name: "node2 HCA-1", Kind: fabric.Adapter, NumPorts: 2, VendorID: 0x2c9, DeviceID: 0x101b},
		},
		Ports: map[string]fabric.PortInfo{
			"S-1c34da0300728866:0": {GUID: leaf, LID: 7},
			"H-1c34da0300608820:1": {GUID: h1 + 1, LID: 2},
			"H-1c34da0300608908:2": {GUID: h2 + 2, LID: 3},
		},
		Links: []wire{
			{"H-1c34da0300608820:1", "S-1c34da0300728866:1", ib.LinkRate{Width: ib.Width4x, Speed: ib.HDR}},
			{"H-1c34da0300608908:2", "S-1c34da0300728866:2", ib.LinkRate{Width: ib.Width4x, Speed: ib.EDR}},
		},
	}
	if diff := cmp.Diff(want, viewOf(f)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// edited is pair with replacements, old and new in turn.
func edited(t *testing.T, oldnew ...string) string {
	t.Helper()
	text := pair
	for i := 0; i < len(oldnew); i += 2 {
		if !strings.Contains(text, oldnew[i]) {
			t.Fatalf("no %q to replace", oldnew[i])
		}
		text = strings.Replace(text, oldnew[i], oldnew[i+1], 1)
	}
	return text
}

const (
	leafPort1 = `[1]	"H-1c34da0300608820"[1](1c34da0300608821) 		# "node1 HCA-1" lid 2 4xHDR`
	node1Port = `[1](1c34da0300608821) 	"S-1c34da0300728866"[1]		# lid 2 lmc 0 "MF0;leaf1:MQM8700/U1" lid 7 4xHDR`
)

// TestSamePair reads texts that mean the same as pair, perhaps with faults.
func TestSamePair(t *testing.T) {
	want, _ := read(t, pair, "")
	tests := []struct {
		name, text string
		faults     []string
	}{
		{"T1 a down port without a peer", edited(t, leafPort1, leafPort1+"\n[5]\n[6]\t\t# down\n[7]\t\"\"[0]"), []string{"8 no-peer", "9 no-peer", "10 no-peer"}},
		{"T1 no closing quote of a peer", edited(t, leafPort1, `[1]	"H-1c34da0300608820[1](1c34da0300608821) 		# "node1 HCA-1" lid 2 4xHDR`), []string{"7 syntax", "15/6 one-sided"}},
		{"T1 no closing quote of a peer's name", edited(t, leafPort1, `[1]	"H-1c34da0300608820"[1](1c34da0300608821) 		# "node1 HCA-1 lid 2 4xHDR`), []string{"7 syntax"}},
		{"T1 no closing quote of a name", edited(t, `"node1 HCA-1"`+"\n", `"node1 HCA-1`+"\n"), []string{"14 syntax"}},
		{"T1 no closing quote of a switch's name", edited(t, `U1" enhanced`, `U1 enhanced`), []string{"6 syntax"}},
		{"T2 a tool's warning before the header", "src/query_smp.c:195; umad (DR path slid 0; dlid 0; 0,1,1,31 Attr 0x11:0) bad status 110; Connection timed out\n#\n" + pair, []string{"1 noise"}},
		{"a warning among the ports", edited(t, leafPort1, leafPort1+"\nibwarn: [1234] get_field: no port [7]"), []string{"8 noise"}},
		{"a warning that begins like a header", edited(t, leafPort1, leafPort1+"\nSwitch 12 does not answer"), []string{"8 noise"}},
		{"T7 CRLF", strings.ReplaceAll(pair, "\n", "\r\n"), nil},
		{"T7 a byte order mark", "\xef\xbb\xbf" + pair[1:], nil},
		{"T7 tabs lost to spaces", strings.ReplaceAll(pair, "\t", "        "), nil},
		{"T7 tabs lost to one space", strings.ReplaceAll(pair, "\t", " "), nil},
		{"T7 tabs and double spaces lost", strings.ReplaceAll(strings.ReplaceAll(pair, "\t", ""), ") ", ")"), nil},
		{"T7 a prompt as the first line", "[root@mgmt ~]# ibnetdiscover" + pair, []string{"1 noise"}},
		{"T7 another prompt", "admin@mgmt:~$ sudo ibnetdiscover" + pair, []string{"1 noise"}},
		{"T7 a prompt as the last line", pair + "[root@mgmt ~]# ", []string{"22 noise"}},
		{"T7 a prompt glued to the last line", strings.TrimSuffix(pair, "\n") + "[root@mgmt ~]# ", nil},
		{"T7 no newline at the end", strings.TrimSuffix(pair, "\n"), nil},
		{"T7 blank lines doubled", strings.ReplaceAll(pair, "\n", "\n\n"), nil},
		{"T7 indented", strings.ReplaceAll(pair, "\n", "\n  "), nil},
		{"without the GUID of a peer's port", edited(t, `(1c34da0300608821) `, ` `, `(1c34da030060890a) `, ``), nil},
		{"--full", edited(t, "lid 2 4xHDR", "lid 2 4xHDR s=4 w=2 v=4", "lid 7 4xHDR", "lid 7 4xHDR s=4 w=2 v=4"), nil},
		{"grouped by chassis", edited(
			t, "\n", "\nChassis 1 (guid 0x8f10400410015)\nHostname: x\n\n# Spine Nodes\n",
			"sysimgguid=0x1c34da0300728866\n", "sysimgguid=0x1c34da0300728866\t\t# Chassis 1\n",
			"866)\n", "866)\t# Spine 1 Chip 1\n", "[1]\t\"H-", "[1][ext 4]\t\"H-", "[2](1c34da030060890a)", "[2][ext 9](1c34da030060890a)",
			"4xHDR\n", "4xHDR slot 3\n", "HCA-1\"\n", "HCA-1\" (scp)\n",
		) + "\nNon-Chassis Nodes\n", nil},
		{"a chassis lists its switches twice", "Chassis 1\n" + pair + pair, nil},
		{"other comments", "# Max of 3 hops discovered\n# DUPLICATE\n" + pair, nil},
		{"the other word for an adapter", strings.ReplaceAll(pair, "Ca\t", "Hca\t"), nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f, faults := read(t, test.text, "")
			if diff := cmp.Diff(test.faults, said(faults)); diff != "" {
				t.Errorf("faults (-want +got):\n%s%v", diff, faults)
			}
			if diff := cmp.Diff(viewOf(want), viewOf(f)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestT2SelfLink(t *testing.T) {
	f, faults := read(t, `warning: x
#
# Topology file: generated on Mon Jul 25 11:30:26 2016
#
switchguid=0xe41d2d030003e470(e41d2d030003e470)
Switch 36 "S-e41d2d030003e470" # "SwitchIB Mellanox Technologies" base port 0 lid 268 lmc 0
[1] "S-e41d2d030003e470"[2] # "SwitchIB Mellanox Technologies" lid 268 4xEDR
[2] "S-e41d2d030003e470"[1] # "SwitchIB Mellanox Technologies" lid 268 4xEDR
`, "")
	if diff := cmp.Diff([]string{"1 noise"}, said(faults)); diff != "" {
		t.Errorf("faults (-want +got):\n%s", diff)
	}
	one, two := fabric.End{Node: 0, Port: 1}, fabric.End{Node: 0, Port: 2}
	if peer, ok := f.Peer(one); !ok || peer != two {
		t.Errorf("port 1 leads to %v, %v", peer, ok)
	}
	if peer, ok := f.Peer(two); !ok || peer != one {
		t.Errorf("port 2 leads to %v, %v", peer, ok)
	}
	if f.LinkEnds() != 2 {
		t.Errorf("%d link ends, want 2", f.LinkEnds())
	}
}

func TestT3NamesAreLabels(t *testing.T) {
	names := []string{
		"same", "same", "a#b # c", `say "hello" # x`, "two  spaces", "trailing ", " ", "größe 東京", "latin-\xe9",
		"MF0;switch-de779e:SX6012/U1", `lid 5" base port 0 lid 6 lmc 7`, "[1](2) \"S-3\"[4]", "vendid=0x1", "'",
	}
	var b strings.Builder
	fmt.Fprintf(&b, "switchguid=0x1(1)\nSwitch\t99 \"S-0000000000000001\"\t\t# \"%s\" base port 0 lid 999 lmc 0\n", names[3])
	for i, name := range names {
		fmt.Fprintf(&b, "[%d]\t\"H-00000000000000%02x\"[1](%x) \t\t# \"%s\" lid %d 4xHDR\n", i+1, i+16, i+16, name, i+1)
	}
	for i, name := range names {
		fmt.Fprintf(&b, "\ncaguid=0x%x\nCa\t1 \"H-00000000000000%02x\"\t\t# \"%s\"\n", i+16, i+16, name)
		fmt.Fprintf(&b, "[1](%x) \t\"S-0000000000000001\"[%d]\t\t# lid %d lmc 0 \"%s\" lid 999 4xHDR\n", i+16, i+1, i+1, names[3])
	}
	f, faults := read(t, b.String(), "")
	if len(faults) != 0 {
		t.Fatal(faults)
	}
	if got := f.Node(0).Name; got != names[3] {
		t.Errorf("the switch is called %q, want %q", got, names[3])
	}
	for i, name := range names {
		id, ok := f.ByGUID(ib.GUID(i + 16))
		if !ok || f.Node(id).Name != name {
			t.Errorf("node %d is called %q, want %q", i, f.Node(id).Name, name)
		}
		if got := f.Port(fabric.End{Node: id, Port: 1}).LID; got != ib.LID(i+1) {
			t.Errorf("%q has LID %v", name, got)
		}
	}
	if got := f.ByName("same"); len(got) != 2 {
		t.Errorf("%d nodes are called same, want 2", len(got))
	}
	if f.LinkEnds() != 2*len(names) {
		t.Errorf("%d link ends", f.LinkEnds())
	}
}

func TestT4NoSwitch(t *testing.T) {
	f, faults := read(t, "#\n# Topology file: generated on Fri Aug  8 06:33:24 2025\n#\n\nvendid=0x2c9\ncaguid=0xb8e92403009ca838\n"+
		"Ca\t1 \"H-b8e92403009ca838\"\t\t# \"dgx-gb200-n01-c1 HCA-1\"\n", "")
	if diff := cmp.Diff([]string{"0 no-switch !", "7 no-link"}, said(faults)); diff != "" {
		t.Errorf("faults (-want +got):\n%s", diff)
	}
	if len(fabric.Errors(faults)) == 0 || f.NumNodes() != 1 {
		t.Errorf("%d nodes, errors %v", f.NumNodes(), fabric.Errors(faults))
	}
}

func TestT5Islands(t *testing.T) {
	island := strings.NewReplacer("1c34da03007", "1c34da03aa7", "1c34da03006", "1c34da03aa6", "leaf1", "leaf2", "node", "far", "lid 2", "lid 12", "lid 3", "lid 13", "lid 7", "lid 17").Replace(pair)
	f, faults := read(t, pair+island+"\n", "")
	if diff := cmp.Diff([]string{"27 island !"}, said(faults)); diff != "" {
		t.Fatalf("faults (-want +got):\n%s%v", diff, faults)
	}
	for _, name := range []string{"leaf2", "far1 HCA-1", "far2 HCA-1"} {
		if !strings.Contains(faults[0].Text, name) {
			t.Errorf("the fault does not name %s: %s", name, faults[0].Text)
		}
	}
	if got := len(f.Components()); got != 2 {
		t.Errorf("%d components", got)
	}
}

func TestT6LIDs(t *testing.T) {
	for _, lid := range []string{"", "0", "-1", "-4", "61111", "65535", "49152", "99999999999999999999"} {
		t.Run("lid "+lid, func(t *testing.T) {
			f, faults := read(t, edited(t, "lid 2 lmc", "lid "+lid+" lmc", "port 0 lid 7", "port 0 lid "+lid, "lid 2 4x", "lid "+lid+" 4x", "lid 7 4xHDR", "lid "+lid+" 4xHDR", "lid 7 4x", "lid "+lid+" 4x"), "")
			if diff := cmp.Diff([]string{"6 lid", "15 lid"}, said(faults)); diff != "" {
				t.Errorf("faults (-want +got):\n%s%v", diff, faults)
			}
			if got := f.Port(fabric.End{Node: 1, Port: 1}).LID; got != 0 {
				t.Errorf("LID %v, want none", got)
			}
			if got := f.LinkEnds(); got != 4 {
				t.Errorf("%d link ends", got)
			}
		})
	}
	f, faults := read(t, edited(t, "lid 2 lmc", "lid 49151 lmc"), "")
	if len(faults) != 0 || f.Port(fabric.End{Node: 1, Port: 1}).LID != ib.MaxUnicastLID {
		t.Errorf("LID 49151: %v", faults)
	}
	_, faults = read(t, edited(t, "lid 2 lmc 0", "lid 2 lmc 8"), "")
	if diff := cmp.Diff([]string{"15 lid"}, said(faults)); diff != "" {
		t.Errorf("LMC 8 (-want +got):\n%s", diff)
	}
}

func TestT8TwoSides(t *testing.T) {
	tests := []struct {
		name, text string
		faults     []string
		ends       int
	}{
		{"one side only", edited(t, node1Port+"\n", ""), []string{"7/14 one-sided"}, 4},
		{"the other side only", edited(t, leafPort1+"\n", ""), []string{"14/6 one-sided"}, 4},
		{"the sides disagree", edited(t, `"S-1c34da0300728866"[1]`, `"S-1c34da0300728866"[3]`), []string{"7/15 disagree", "15/6 one-sided"}, 4},
		{"the sides differ in rate", edited(t, "lid 7 4xHDR", "lid 7 1xHDR"), []string{"15/7 disagree"}, 4},
		{"a port that is not there", edited(t, leafPort1, strings.Replace(leafPort1, "[1]\t", "[42]\t", 1)), []string{"7 port-range", "15/6 one-sided"}, 4},
		{"a peer's port that is not there", edited(t, `"H-1c34da0300608820"[1]`, `"H-1c34da0300608820"[3]`), []string{"7/14 port-range", "15/6 one-sided"}, 4},
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

func TestT9Rails(t *testing.T) {
	text := pair + strings.NewReplacer(
		"S-1c34da0300728866", "S-1c34da0300720000", "0x1c34da0300728866", "0x1c34da0300720000", "(1c34da0300728866)", "(1c34da0300720000)",
		"leaf1", "leaf2", "lid 7", "lid 8").Replace(pair[:strings.Index(pair, leafPort1)]) +
		`[9]	"H-1c34da0300608908"[1](1c34da0300608909) 		# "node2 HCA-1" lid 4 4xEDR
`
	text = strings.Replace(text, `# "node2 HCA-1"`+"\n[2]", `# "node2 HCA-1"
[1](1c34da0300608909) 	"S-1c34da0300720000"[9]		# lid 4 lmc 0 "leaf2" lid 8 4xEDR
[2]`, 1)
	f, faults := read(t, text, "")
	if len(faults) != 0 {
		t.Fatal(faults)
	}
	if got := len(f.EndPorts()); got != 3 {
		t.Errorf("%d end ports, want 3", got)
	}
	if got := len(f.Components()); got != 1 {
		t.Errorf("%d components, want 1", got)
	}
}
