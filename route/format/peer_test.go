package format_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/fabric"
	fabricformat "heddle/fabric/format"
	"heddle/internal/testenv"
	"heddle/route"
	"heddle/route/format"
	"heddle/route/multicast"
)

// verdict is what check-mft.py, which shares no code with heddle, says.
type verdict struct {
	Trees       int                 `json:"trees"`
	Groups      int                 `json:"groups"`
	Wrong       int                 `json:"wrong"`
	Heights     map[string]int      `json:"heights"`
	SwitchLinks int                 `json:"switchLinks"`
	LinksUsed   int                 `json:"linksUsed"`
	MaxEFI      int                 `json:"maxEFI"`
	Faults      map[string][]string `json:"faults"`
}

// judge writes tables and members to files and has them judged; ok is false
// where the script is not there.
func judge(t *testing.T, l laid, topology string) (v verdict, ok bool) {
	t.Helper()
	script, ok := testenv.Shared(t, "tools", "check-mft.py")
	if !ok {
		t.Log("check-mft.py is missing: CheckMFTs alone judges the tables")
		return verdict{}, false
	}
	dir := t.TempDir()
	write := func(name string, write func(*bytes.Buffer) error) string {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	mfts := write("mfts", func(b *bytes.Buffer) error { return format.WriteMFTs(b, l.tables) })
	members := write("members", func(b *bytes.Buffer) error { return format.WriteMembers(b, l.g, l.d, l.mlids) })
	if topology == "" {
		topology = write("net", func(b *bytes.Buffer) error { return fabricformat.Write(b, l.f, "ibnetdiscover") })
	}
	out, err := exec.Command(testenv.Peer(t, "python3"), script, topology, mfts, "--members", members, "--json").Output()
	if len(out) == 0 {
		t.Fatalf("check-mft.py: %v", err)
	}
	if err := json.Unmarshal(out, &v); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	return v, true
}

// TestCheckMFTAgrees: check-mft.py finds no fault in what each engine's trees
// became, and counts what Measure counts.
func TestCheckMFTAgrees(t *testing.T) {
	cases := [][2]string{
		{"fat-tree:k=8", "grid:16x8,order=oblivious"},
		{"torus:4x4x3,e=2", "random:60x6"},
		{"dragonfly:a=4,p=2,h=2", "grid:8x9"},
		{"random:switches=30,degree=5,hosts=2,lost=0.1", "hierarchy:3x4x5"},
		{"single:hosts=40", "random:10x5"},
	}
	for _, e := range multicast.Engines() {
		for _, c := range cases {
			t.Run(e.Name+" "+c[0], func(t *testing.T) {
				n := generated(t, c[0])
				checkVerdict(t, lay(t, n, grouped(t, n, c[1]), e.Name), "")
			})
		}
	}
}

func checkVerdict(t *testing.T, l laid, topology string) {
	t.Helper()
	for _, fault := range route.CheckMFTs(l.tables, l.d, l.mlids, 0) {
		t.Error(fault)
	}
	got, ok := judge(t, l, topology)
	if !ok {
		return
	}
	m := route.Measure(l.s, l.d)
	want := verdict{
		Groups: m.Groups, SwitchLinks: m.Edges, LinksUsed: m.Links, MaxEFI: m.MaxEFI,
		Heights: map[string]int{}, Faults: map[string][]string{},
	}
	for h, n := range m.Heights {
		if n > 0 {
			want.Heights[string(rune('0'+h))] = n
		}
	}
	want.Trees = m.Groups
	if len(m.Heights) > 0 {
		want.Trees -= m.Heights[0]
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Measure and check-mft.py (-heddle +check-mft.py):\n%s", diff)
	}
}

// TestCheckMFTFindsFaults: the script is no rubber stamp, a port taken out of a
// table is a fault to it.
func TestCheckMFTFindsFaults(t *testing.T) {
	n := generated(t, "fat-tree:k=4")
	l := lay(t, n, grouped(t, n, "grid:16"), "fulb")
	l.tables.Tables[0][0].Ports = route.PortSet{1 << 1}
	if v, ok := judge(t, l, ""); ok && v.Wrong != 1 {
		t.Errorf("a broken tree is not wrong: %+v", v)
	}
}

// TestSelene routes on the dump of a real cluster, whose switches and hosts have
// spaces in their names.
func TestSelene(t *testing.T) {
	path, ok := testenv.Shared(t, "data", "fabrics", "nvidia-selene.storage.txt")
	if !ok {
		t.Log("the dump is missing: TestCheckMFTAgrees runs on generated fabrics")
		return
	}
	f, faults, err := fabricformat.ReadFile(path, "")
	if err != nil {
		t.Fatal(err)
	}
	if bad := fabric.Errors(faults); len(bad) > 0 {
		t.Fatal(bad)
	}
	n := net{f: f, g: route.NewGraph(f, route.Selection{MulticastOnly: true})}
	checkVerdict(t, lay(t, n, grouped(t, n, "random:100x12,skip=aggregation"), "weave"), path)
}

// TestRealFDBs reads what OpenSM wrote of a real cluster: from everywhere, all is
// reached.
func TestRealFDBs(t *testing.T) {
	lst, ok := testenv.Shared(t, "data", "fabrics", "ibutils-subnet.lst")
	if !ok {
		t.Log("OpenSM's dumps are missing: TestReadLFTs reads our own")
		return
	}
	f, _, err := fabricformat.ReadFile(lst, "")
	if err != nil {
		t.Fatal(err)
	}
	n := newNet(t, f)
	text, err := os.ReadFile(filepath.Join(filepath.Dir(lst), "ibutils-osm.fdbs"))
	if err != nil {
		t.Fatal(err)
	}
	tables, err := format.ReadFDBs(bytes.NewReader(text), n.g, n.lids)
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range route.CheckLFTs(tables) {
		t.Error(fault)
	}
	h, err := route.NewHops(n.g, 1)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := format.WriteFDBs(&b, tables, h); err != nil {
		t.Fatal(err)
	}
	again, err := format.ReadFDBs(&b, n.g, n.lids)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(tables.Tables, again.Tables); diff != "" {
		t.Errorf("tables (-OpenSM's +written):\n%s", diff)
	}
}
