package format_test

import (
	"bytes"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"heddle/fabric"
	"heddle/fabric/format"
	"heddle/ib"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares text with a file in testdata.
func golden(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), text); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// sample is a small fabric with one of each: two leaves with two cables to a
// spine, three hosts of which one has two rails, an aggregation node, a router,
// a self link, a switch without hosts that cannot multicast.
func sample(t *testing.T) *fabric.Fabric {
	t.Helper()
	var b fabric.Builder
	at := fabric.Place{}
	add := func(kind fabric.Kind, guid ib.GUID, name string, ports uint16, lid ib.LID) fabric.NodeID {
		n := fabric.Node{GUID: guid, Name: name, Kind: kind, NumPorts: ports, SystemGUID: guid, VendorID: 0x2c9, DeviceID: 0x1017}
		first := fabric.End{}
		switch kind {
		case fabric.Switch:
			n.EnhancedPort0, n.MulticastCap = true, fabric.CapUnknown
		default:
			first.Port = 1
			n.Aggregation = strings.Contains(name, "Aggregation")
		}
		first.Node = b.AddNode(n, at)
		b.SetPort(first, fabric.PortInfo{GUID: guid + ib.GUID(first.Port), LID: lid}, at)
		return first.Node
	}
	hdr, edr := ib.LinkRate{Width: ib.Width4x, Speed: ib.HDR}, ib.LinkRate{Width: ib.Width2x, Speed: ib.EDR}
	cable := func(x fabric.NodeID, px uint16, y fabric.NodeID, py uint16, r ib.LinkRate) {
		b.Cable(fabric.End{Node: x, Port: px}, fabric.End{Node: y, Port: py}, r, at)
	}
	leaf1, leaf2 := add(fabric.Switch, 0xa1, "MF0;leaf1:MQM8700/U1", 40, 1), add(fabric.Switch, 0xa2, "MF0;leaf2:MQM8700/U1", 40, 2)
	spine := add(fabric.Switch, 0xb1, `spine "1" #x`, 8, 3)
	b.Node(spine).MulticastCap = 0
	n01, n02 := add(fabric.Adapter, 0xc10, "node01 HCA-1", 2, 4), add(fabric.Adapter, 0xc20, "node02 mlx5_0 ", 1, 5)
	n09, n10 := add(fabric.Adapter, 0xc30, "node09 HCA-1", 1, 6), add(fabric.Adapter, 0xc40, "node10 HCA-1", 1, 7)
	agg := add(fabric.Adapter, 0xd10, "Mellanox Technologies Aggregation Node", 1, 8)
	card, rt := add(fabric.Adapter, 0xe10, "MT4129 ConnectX7   Mellanox Technologies", 1, 9), add(fabric.Router, 0xf10, "rt=1", 1, 10)
	b.SetPort(fabric.End{Node: n01, Port: 2}, fabric.PortInfo{GUID: 0xc12, LID: 16, LMC: 2}, at)
	for i := range uint16(2) {
		cable(leaf1, 37+i, spine, 1+i, hdr)
		cable(leaf2, 37+i, spine, 3+i, hdr)
	}
	cable(leaf1, 1, n01, 1, hdr)
	cable(leaf2, 1, n01, 2, edr)
	cable(leaf1, 2, n02, 1, hdr)
	cable(leaf2, 2, n09, 1, hdr)
	cable(leaf2, 3, n10, 1, ib.LinkRate{})
	cable(leaf1, 3, agg, 1, ib.LinkRate{Width: ib.Width1x})
	cable(leaf2, 4, card, 1, hdr)
	cable(spine, 5, rt, 1, ib.LinkRate{Width: ib.Width12x, Speed: ib.SDR})
	cable(spine, 7, spine, 8, hdr)
	f, faults := b.Build()
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	return f
}

func TestGolden(t *testing.T) {
	f := sample(t)
	for _, name := range format.Names() {
		t.Run(name, func(t *testing.T) {
			golden(t, "sample."+name, write(t, f, name))
		})
	}
}

// TestGoldenReadBack reads the golden files: what they hold is the sample.
func TestGoldenReadBack(t *testing.T) {
	f := sample(t)
	for _, form := range format.All() {
		if form.Read == nil {
			continue
		}
		path := filepath.Join("testdata", "sample."+form.Name)
		got, faults, err := format.ReadFile(path, "")
		if err != nil {
			t.Fatal(err)
		}
		if len(faults) > 0 {
			t.Errorf("%s: %v", path, faults)
		}
		v := viewOf(got)
		if form.Name == "subnet.lst" {
			v.sortNodes()
		}
		if diff := cmp.Diff(kept(f, form.Name), v); diff != "" {
			t.Errorf("%s (-want +got):\n%s", path, diff)
		}
	}
}

// TestDeadIsNotWritten writes what is left of a fabric.
func TestDeadIsNotWritten(t *testing.T) {
	f := sample(t)
	spine, _ := f.ByGUID(0xb1)
	f = f.Without([]fabric.NodeID{spine}, []fabric.LinkID{f.Port(fabric.End{Node: 0, Port: 2}).Link})
	for _, form := range format.All() {
		text := write(t, f, form.Name)
		if strings.Contains(text, "spine") {
			t.Errorf("%s has the dead switch:\n%s", form.Name, text)
		}
		if form.Read == nil {
			continue
		}
		got, _ := read(t, text, form.Name)
		if got.LinkEnds() != f.LinkEnds() {
			t.Errorf("%s: %d link ends, want %d", form.Name, got.LinkEnds(), f.LinkEnds())
		}
	}
}

func TestDetection(t *testing.T) {
	f := sample(t)
	for _, form := range format.All() {
		text := write(t, f, form.Name)
		_, _, err := format.Read(strings.NewReader(text), "x", "")
		if readable := form.Read != nil; readable != (err == nil) {
			t.Errorf("%s: %v", form.Name, err)
		}
		if !readable(form) && !errors.Is(err, format.ErrNotTopology) {
			t.Errorf("%s: %v", form.Name, err)
		}
	}
	// What a file is called decides where its contents do not.
	got, faults, err := format.Read(strings.NewReader("nothing\n"), "some.topo", "")
	if err != nil || got.NumNodes() != 0 || len(fabric.Errors(faults)) != 1 {
		t.Errorf("%v, %v, %v", got, faults, err)
	}
}

func readable(f format.Format) bool { return f.Read != nil }

func TestForPath(t *testing.T) {
	for path, want := range map[string]string{
		"a/b.topo": "ibnetdiscover", "x.net": "ibsim", "opensm-subnet.lst": "subnet.lst", "f.json": "json",
		"f.dot": "dot", "/etc/slurm/topology.conf": "slurm", "noext": "", "a.topo/b": "",
	} {
		if got := format.ForPath(path); got != want {
			t.Errorf("ForPath(%q) = %q, want %q", path, got, want)
		}
	}
}

func TestNotATopology(t *testing.T) {
	for name, text := range map[string]string{
		"empty": "", "binary": "ab\x00cd", "UTF-16": "\xff\xfea\x00", "compressed": "\x1f\x8b\x08\x00",
		"no line looks": "hello\nworld\n",
	} {
		f, faults, err := format.Read(strings.NewReader(text), "some file", "")
		if !errors.Is(err, format.ErrNotTopology) || f != nil || faults != nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "some file") {
			t.Errorf("%s: %v, %v, %v", name, f, faults, err)
		}
	}
	if _, _, err := format.ReadFile(filepath.Join(t.TempDir(), "absent"), ""); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

func TestUnknownFormats(t *testing.T) {
	for _, name := range []string{"xml", "dot"} {
		if _, _, err := format.Read(strings.NewReader(pair), "x", name); !errors.Is(err, format.ErrUnknown) {
			t.Errorf("read as %s: %v", name, err)
		}
	}
	if err := format.Write(io.Discard, sample(t), "xml"); !errors.Is(err, format.ErrUnknown) || !strings.Contains(err.Error(), "ibsim") {
		t.Error(err)
	}
}

// TestBrokenReaders gives an error of the reader on, wherever it occurs.
func TestBrokenReaders(t *testing.T) {
	broken := errors.New("broken")
	for _, form := range format.All() {
		if form.Read == nil {
			continue
		}
		text := write(t, sample(t), form.Name)
		for _, n := range []int{0, 1, 100, len(text) - 1} {
			r := io.MultiReader(strings.NewReader(text[:n]), iotest.ErrReader(broken))
			if f, _, err := format.Read(iotest.OneByteReader(r), "x", form.Name); !errors.Is(err, broken) || f != nil {
				t.Errorf("%s after %d bytes: %v", form.Name, n, err)
			}
			r = io.MultiReader(strings.NewReader(text[:n]), iotest.ErrReader(broken))
			if f, _, err := form.Read(r, "x"); !errors.Is(err, broken) || f != nil {
				t.Errorf("%s itself after %d bytes: %v", form.Name, n, err)
			}
		}
	}
}

// fullDisk takes a few bytes and no more.
type fullDisk struct{ room int }

var errFull = errors.New("no space left")

func (d *fullDisk) Write(p []byte) (int, error) {
	if len(p) > d.room {
		return 0, errFull
	}
	d.room -= len(p)
	return len(p), nil
}

func TestFullDisk(t *testing.T) {
	for _, name := range format.Names() {
		if err := format.Write(&fullDisk{100}, sample(t), name); !errors.Is(err, errFull) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSlurmHosts(t *testing.T) {
	var b fabric.Builder
	sw := b.AddNode(fabric.Node{GUID: 1, Kind: fabric.Switch, Name: "sw", NumPorts: 40}, fabric.Place{})
	for i, name := range []string{
		"n9 HCA-1", "n10 HCA-1", "n11 HCA-2", "n13 mlx5_0", "x07 mlx5_bond_0", "x08 HCA-1", "x10 HCA-1", "x100 HCA-1", "x101 HCA-1",
		"a,b[1] HCA-1", "two words HCA-3", "login", "", "n9 HCA-2", "y99999999999999999999 HCA-1", "0 HCA-1", "z0 HCA-1", "z1 HCA-1",
	} {
		id := b.AddNode(fabric.Node{GUID: ib.GUID(i + 16), Kind: fabric.Adapter, Name: name, NumPorts: 1}, fabric.Place{})
		b.Cable(fabric.End{Node: sw, Port: uint16(i + 1)}, fabric.End{Node: id, Port: 1}, ib.LinkRate{}, fabric.Place{})
	}
	f, _ := b.Build()
	want := "SwitchName=sw Nodes=0,H-000000000000001c,a_b_1_,login,n[9-11,13],two_words,x[07-08,10],x[100-101],y99999999999999999999,z[0-1]\n"
	if diff := cmp.Diff(want, write(t, f, "slurm")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestSlurmNamesAreUnique(t *testing.T) {
	var b fabric.Builder
	var ids []fabric.NodeID
	for i, id := range []string{"a", "a;b", "a_a", "a_b", "c"} {
		n := fabric.Node{GUID: ib.GUID(i + 1), ID: id, Kind: fabric.Switch, Name: "a", NumPorts: 9}
		ids = append(ids, b.AddNode(n, fabric.Place{}))
		host := b.AddNode(fabric.Node{GUID: ib.GUID(i + 100), Kind: fabric.Adapter, NumPorts: 1}, fabric.Place{})
		b.Cable(fabric.End{Node: ids[i], Port: 1}, fabric.End{Node: host, Port: 1}, ib.LinkRate{}, fabric.Place{})
	}
	f, _ := b.Build()
	var names []string
	for line := range strings.Lines(write(t, f, "slurm")) {
		name, _, _ := strings.Cut(line, " ")
		names = append(names, name)
	}
	slices.Sort(names)
	if len(slices.Compact(names)) != len(ids) {
		t.Errorf("names %v", names)
	}
}

func TestReplacedIDs(t *testing.T) {
	var b fabric.Builder
	for i, id := range []string{`a"b`, "S-0000000000000001", "x#y", "S-0000000000000001-0", strings.Repeat("z", 65), "tab\t"} {
		b.AddNode(fabric.Node{GUID: ib.GUID(i + 1), ID: id, Kind: fabric.Switch, NumPorts: 1}, fabric.Place{})
	}
	f, _ := b.Build()
	for _, name := range []string{"ibnetdiscover", "ibsim"} {
		got, faults := read(t, write(t, f, name), name)
		if got.NumNodes() != 6 || got.Node(1).ID != "S-0000000000000001" || len(got.Components()) != 6 {
			t.Errorf("%s: %v %v", name, viewOf(got).Nodes, faults)
		}
	}
}

func TestLongLine(t *testing.T) {
	for _, size := range []int{1 << 16, 1<<16 + 1, 1 << 18} {
		text := pair + strings.Repeat("x", size) + "\n[3]\n"
		f, faults := read(t, text, "")
		if diff := cmp.Diff([]string{"22 limit", "23 no-peer"}, said(faults)); diff != "" {
			t.Errorf("faults (-want +got):\n%s", diff)
		}
		if f.LinkEnds() != 4 {
			t.Errorf("%d link ends", f.LinkEnds())
		}
	}
	text := strings.Replace(pair, "HCA-1\"\n", strings.Repeat("x", 60000)+"\"\n", 1)
	f, faults := read(t, text, "")
	if len(faults) != 1 || faults[0].Kind != fabric.FaultLimit || f.LinkEnds() != 4 {
		t.Errorf("%v", faults)
	}
	var out bytes.Buffer
	if err := format.Write(&out, f, "ibnetdiscover"); err != nil {
		t.Fatal(err)
	}
	if back, faults := read(t, out.String(), ""); len(faults) > 0 || back.NumNodes() != 3 {
		t.Errorf("a long name cannot be read back: %v", faults)
	}
}

// TestToolsOutput reads what the real tools said of the sample when ibsim
// simulated it and OpenSM swept it: ibnetdiscover in three forms, OpenSM's
// subnet.lst. ibsim took unknown speeds for SDR and cut a name at its quote, so
// that was written without; OpenSM set LMC 0.
func TestToolsOutput(t *testing.T) {
	want := kept(sample(t), "ibnetdiscover")
	want.sortNodes()
	for i := range want.Nodes {
		want.Nodes[i].Name = strings.ReplaceAll(want.Nodes[i].Name, `"`, "")
	}
	for i := range want.Links {
		r := &want.Links[i].Rate
		if r.Width == 0 {
			r.Width = ib.Width4x
		}
		if r.Speed == 0 {
			r.Speed = ib.SDR
		}
	}
	for key, info := range want.Ports {
		info.LMC = 0
		want.Ports[key] = info
	}
	for _, name := range []string{"ibnetdiscover", "ibnetdiscover-full", "ibnetdiscover-group", "subnet.lst"} {
		f, faults, err := format.ReadFile(filepath.Join("testdata", "tool."+name), "")
		if err != nil || len(faults) > 0 {
			t.Fatal(err, faults)
		}
		got := viewOf(f)
		got.sortNodes()
		if name == "subnet.lst" {
			for i := range got.Nodes {
				got.Nodes[i].EnhancedPort0 = got.Nodes[i].Kind == fabric.Switch // which it does not tell
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
