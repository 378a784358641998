package format_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/fabric"
	fabricformat "heddle/fabric/format"
	"heddle/fabric/topology"
	"heddle/ib"
	"heddle/route"
	"heddle/route/format"
)

// The files of testdata are what ibnetdiscover, ibroute, dump_lfts and dump_mfts
// of infiniband-diags and OpenSM 3.3.23 wrote about two small nets of our own in
// ibsim: two.* (switches of 8 and 40 ports), lmc.* (the same with an LMC of 2)
// and wide.* (9 and 144 ports).

func testdata(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// net is a fabric with its graph and LIDs.
type net struct {
	f    *fabric.Fabric
	g    *route.Graph
	lids *route.LIDs
}

func newNet(t testing.TB, f *fabric.Fabric) net {
	t.Helper()
	lids, err := route.LIDsOf(f)
	if err != nil {
		t.Fatal(err)
	}
	return net{f, route.NewGraph(f, route.Selection{}), lids}
}

// dumped is a net of testdata.
func dumped(t testing.TB, name string) net {
	t.Helper()
	f, faults, err := fabricformat.Read(bytes.NewReader(testdata(t, name+".topo")), name+".topo", "ibnetdiscover")
	if err != nil || len(faults) > 0 {
		t.Fatal(err, faults)
	}
	return newNet(t, f)
}

func generated(t testing.TB, form string) net {
	t.Helper()
	f, err := topology.Generate(form)
	if err != nil {
		t.Fatal(err)
	}
	return newNet(t, f)
}

func ports(list ...uint16) (s route.PortSet) {
	for _, p := range list {
		s.Add(p)
	}
	return s
}

func TestReadMFTs(t *testing.T) {
	narrow := []route.MFT{
		{{MLID: 0xc000, Ports: ports(1, 3)}, {MLID: 0xc025, Ports: ports(0, 1, 2)}},
		{{MLID: 0xc000, Ports: ports(1, 2, 16, 33, 40)}, {MLID: 0xc025, Ports: ports(0, 1)}},
	}
	wide := []route.MFT{
		{{MLID: 0xc000, Ports: ports(1, 3)}, {MLID: 0xc025, Ports: ports(0, 1, 2)}},
		{{MLID: 0xc000, Ports: ports(1, 2, 16, 99, 100, 144)}, {MLID: 0xc025, Ports: ports(0, 1)}},
	}
	for _, test := range []struct {
		net, file string
		want      []route.MFT
	}{
		{"two", "two.dump_mfts", narrow},
		{"two", "two.dump_mfts-n", narrow},
		{"two", "two.dump_mfts-a", narrow},
		{"two", "two.ibroute-M", narrow},
		{"wide", "wide.dump_mfts", wide},
		{"wide", "wide.dump_mfts-n", wide},
		{"wide", "wide.ibroute-M", wide},
	} {
		t.Run(test.file, func(t *testing.T) {
			got, err := format.ReadMFTs(bytes.NewReader(testdata(t, test.file)), dumped(t, test.net).g)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got.Tables); diff != "" {
				t.Errorf("tables (-want +got):\n%s", diff)
			}
		})
	}
}

// TestWriteMFTs writes what the real tool wrote, to the byte, but for the end of
// the range, which the topology file does not tell.
func TestWriteMFTs(t *testing.T) {
	for _, name := range []string{"two", "wide"} {
		want := testdata(t, name+".ibroute-M")
		got, err := format.ReadMFTs(bytes.NewReader(want), dumped(t, name).g)
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		if err := format.WriteMFTs(&b, got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(strings.ReplaceAll(string(want), "0xc3ff", "0xc025"), b.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestReadLFTs(t *testing.T) {
	for _, file := range []string{"two.dump_lfts", "two.dump_lfts-n", "two.ibroute", "two.ibroute-a", "two.opensm-lfts.dump", "two.opensm.fdbs"} {
		t.Run(file, func(t *testing.T) {
			n := dumped(t, "two")
			want := []route.LFT{
				{route.NoPort, 2, 1, 0, 2, 1, 3},
				{route.NoPort, 0, 1, 33, 2, 40, 16},
			}
			if diff := cmp.Diff(want, readLFTs(t, n, file).Tables); diff != "" {
				t.Errorf("tables (-want +got):\n%s", diff)
			}
		})
	}
}

func readLFTs(t testing.TB, n net, file string) *route.LFTs {
	t.Helper()
	read := format.ReadLFTs
	if strings.HasSuffix(file, ".fdbs") {
		read = format.ReadFDBs
	}
	tables, err := read(bytes.NewReader(testdata(t, file)), n.g, n.lids)
	if err != nil {
		t.Fatal(err)
	}
	return tables
}

func TestWriteLFTs(t *testing.T) {
	for _, name := range []string{"two", "lmc"} {
		n := dumped(t, name)
		var b strings.Builder
		if err := format.WriteLFTs(&b, readLFTs(t, n, name+".ibroute")); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(testdata(t, name+".ibroute")), b.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestWriteFDBs(t *testing.T) {
	for _, name := range []string{"two", "lmc"} {
		n := dumped(t, name)
		h, err := route.NewHops(n.g, 1)
		if err != nil {
			t.Fatal(err)
		}
		want := testdata(t, name+".opensm.fdbs")
		var b strings.Builder
		if err := format.WriteFDBs(&b, readLFTs(t, n, name+".opensm.fdbs"), h); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(blocks(string(want)), blocks(b.String())); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// blocks splits fdbs by switch: OpenSM's order is another.
func blocks(text string) map[string]string {
	m := map[string]string{}
	for _, block := range strings.Split(text, "dump_ucast_routes: ")[1:] {
		heading, rows, _ := strings.Cut(block, "\n")
		m[heading] = rows
	}
	return m
}

// TestFaultsHaveLines: what is wrong in a table is told with its line.
func TestFaultsHaveLines(t *testing.T) {
	n := dumped(t, "two")
	mft := func(text string) error { _, err := format.ReadMFTs(strings.NewReader(text), n.g); return err }
	lft := func(text string) error { _, err := format.ReadLFTs(strings.NewReader(text), n.g, n.lids); return err }
	fdb := func(text string) error { _, err := format.ReadFDBs(strings.NewReader(text), n.g, n.lids); return err }
	members := func(text string) error { _, _, err := format.ReadMembers(strings.NewReader(text), n.f); return err }
	const (
		mHead = "Multicast mlids [0xc000-0xc3ff] of switch Lid 3 guid 0x0000000000200001 (leaf  (two)):\n"
		cols  = "     Ports: 0 1 2 3 4 5 6 7 8 \n MLid\n"
		mask  = " MLid       Port Mask\n"
		uHead = "Unicast lids [0x0-0x6] of switch Lid 3 guid 0x0000000000200001 (leaf  (two)):\n"
		fHead = "dump_ucast_routes: Switch 0x0000000000200001\n"
	)
	tests := []struct {
		name string
		read func(string) error
		text string
		line int // 0 for no fault
		want string
	}{
		{"noise", mft, "ibwarn: [1] x\n\n" + mHead + cols + "0xc000        x   x           \r\n2 valid mlids dumped \n*** WARNING ***\n", 0, ""},
		{"row first", mft, "\n0xc000      x\n", 2, "without a heading"},
		{"row before columns", mft, mHead + "0xc000      x\n", 2, "without a heading"},
		{"no such switch", mft, "Multicast mlids [] of switch Lid 3 guid 0x99 (nobody):\n", 1, "nobody"},
		{"by name", mft, "Multicast mlids [] of switch Lid 3 guid 0x99 (leaf one):\n", 0, ""},
		{"a host", mft, "Multicast mlids [] of switch Lid 3 guid 0x99 (host1 HCA-1):\n", 1, "not in the fabric"},
		{"no GUID", mft, "Multicast mlids [] of switch Lid 3\n", 1, "no GUID"},
		{"GUID", mft, "Multicast mlids [] of switch Lid 3 guid x (leaf one)\n", 1, `"x"`},
		{"twice", mft, mHead + mHead, 2, "listed again"},
		{"MLID", mft, mHead + cols + "0xbfff      x\n", 4, "0xbfff is no MLID"},
		{"MLID digits", mft, mHead + cols + "0xc00g      x\n", 4, "no address"},
		{"order", mft, mHead + cols + "0xc001      x\n0xc001      x\n", 5, "0xc001 follows 0xc001"},
		{"port", mft, mHead + cols + "0xc001                        x \n", 4, "port 9 of 8"},
		{"between ports", mft, mHead + cols + "0xc001       x \n", 4, "column 14"},
		{"letter", mft, mHead + cols + "0xc001      y \n", 4, `'y'`},
		{"mask port", mft, mHead + mask + "0xc001      0200\n", 3, "port 9 of 8"},
		{"mask length", mft, mHead + mask + "0xc001      020\n", 3, "3 digits"},
		{"mask digits", mft, mHead + mask + "0xc001      0z00\n", 3, "0z00"},
		{"long line", mft, strings.Repeat("x", format.MaxLine+1), 1, "longer than"},
		{"S7 a port above the switch's count", lft, uHead + "0x0001 003 \n0x0002 009 \n", 3, "port 9 of 8"},
		{"LFT row first", lft, "0x0001 003 \n", 1, "without a heading"},
		{"LFT order", lft, uHead + "0x0002 003 \n0x0002 003 \n", 3, "LID 2 follows 2"},
		{"LFT port", lft, uHead + "0x0002 : \n", 2, `":" is no port`},
		{"LFT port 256", lft, uHead + "0x0002 256\n", 2, `"256" is no port`},
		{"LFT none", lft, uHead + "0x0002 255 : (path #0 - illegal port)\n", 0, ""},
		{"LFT unknown LID", lft, uHead + "0x0032 003 \n", 0, ""},
		{"FDB heading", fdb, "dump_ucast_routes: Switch leaf\n", 1, `"leaf"`},
		{"FDB switch", fdb, "dump_ucast_routes: Switch 0x99\n", 1, "not in the fabric"},
		{"FDB row", fdb, fHead + "LID    : Port : Hops : Optimal\n0x0001\n", 3, "no port"},
		{"FDB port", fdb, fHead + "0x0001 : 00x  : 01   : yes\n", 2, `"00x" is no port`},
		{"FDB none", fdb, fHead + "0x0001 : UNREACHABLE\n", 0, ""},
		{"members", members, "# c\n\n0xc000 H-0000000000100000:1 0x100003 S-0000000000200000:0 H-0000000000100006\n", 0, ""},
		{"members MLID", members, "0xbfff\n", 1, "0xbfff"},
		{"members twice", members, "0xc000\n0xc000\n", 2, "listed again"},
		{"members GUID", members, "0xc000 0x99\n", 1, "no port has the GUID"},
		{"members bad GUID", members, "0xc000 0xq\n", 1, "0xq"},
		{"members node", members, "0xc000 nobody:1\n", 1, "nobody"},
		{"members port", members, "0xc000 H-0000000000100000:2\n", 1, "ports up to 1, not 2"},
		{"members port digits", members, "0xc000 H-0000000000100000:x\n", 1, `"x" is no port`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			err := test.read(test.text)
			if test.line == 0 {
				if err != nil {
					t.Error(err)
				}
				return
			}
			var fault *format.Error
			if !errors.As(err, &fault) || fault.Line != test.line || !strings.Contains(fault.Text, test.want) {
				t.Errorf("error %v, want line %d and %q", err, test.line, test.want)
			}
		})
	}
}

// TestReadersTellReadErrors: an error of the file itself is given back.
func TestReadersTellReadErrors(t *testing.T) {
	n := dumped(t, "two")
	broken := errors.New("the disk is on fire")
	if _, err := format.ReadMFTs(failing{broken}, n.g); !errors.Is(err, broken) {
		t.Errorf("ReadMFTs: %v", err)
	}
	if _, err := format.ReadLFTs(failing{broken}, n.g, n.lids); !errors.Is(err, broken) {
		t.Errorf("ReadLFTs: %v", err)
	}
	if _, _, err := format.ReadMembers(failing{broken}, n.f); !errors.Is(err, broken) {
		t.Errorf("ReadMembers: %v", err)
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error)  { return 0, f.err }
func (f failing) Write([]byte) (int, error) { return 0, f.err }

// TestNames: a switch whose description does not tell it from others is called
// by its ID.
func TestNames(t *testing.T) {
	var b fabric.Builder
	for i, name := range []string{"alike", "alike ", " other", "", "S-2", "own", "other"} {
		b.AddNode(fabric.Node{GUID: ib.GUID(i + 1), ID: "S-" + string(rune('1'+i)), Name: name, Kind: fabric.Switch, NumPorts: 2}, fabric.Place{})
	}
	f, _ := b.Build()
	n := newNet(t, f)
	var out strings.Builder
	tables := &route.MFTs{Graph: n.g, Tables: make([]route.MFT, n.g.NumVertices())}
	if err := format.WriteMFTs(&out, tables); err != nil {
		t.Fatal(err)
	}
	var names []string
	for line := range strings.SplitSeq(out.String(), "\n") {
		if _, name, ok := strings.Cut(line, " ("); ok {
			names = append(names, strings.TrimSuffix(name, "):"))
		}
	}
	want := []string{"S-1", "S-2", "S-3", "S-4", "S-5", "own", "S-7"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
}
