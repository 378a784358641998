package format_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"heddle/fabric"
	"heddle/fabric/format"
	"heddle/fabric/topology"
	"heddle/ib"
	"heddle/internal/testenv"
)

// simulator runs the real ibsim.
type simulator struct{ path, dir string }

func newSimulator(t *testing.T) simulator {
	t.Helper()
	return simulator{testenv.Peer(t, "ibsim"), t.TempDir()}
}

// dump starts a net and returns what ibsim says of it: the listing of its
// console and its warnings. ibsim ends with an error where it refuses a net.
func (s simulator) dump(t failer, text string, f *fabric.Fabric) (listing, warnings string) {
	t.Helper()
	path := filepath.Join(s.dir, "net")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	ports := 0
	for i := range f.NumNodes() {
		ports += int(f.Node(fabric.NodeID(i)).NumPorts) + 1
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	number := func(n int) string { return strconv.Itoa(n + 1) }
	cmd := exec.CommandContext(ctx, s.path, "-s", "-N", number(f.NumNodes()), "-S", number(len(f.Switches())), "-P", number(ports), path)
	cmd.Env = append(os.Environ(), fmt.Sprint("IBSIM_SOCKNAME=heddle-format-", os.Getpid()))
	cmd.Stdin = strings.NewReader("Dump\nQuit\n")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatal(fmt.Sprintf("ibsim refuses the net: %v\n%s%s\n%s", err, &errs, &out, text))
	}
	return out.String(), errs.String()
}

// simulated is what ibsim tells of a net.
type simulated struct {
	guids map[string]ib.GUID     // by node ID
	peers map[string]string      // by end
	rates map[string]ib.LinkRate // by end
	lids  map[string]string      // by end, with the LMC
	total string
}

var (
	dumpedNode = regexp.MustCompile(`^(?:Switch|Ca|Router) \d+ "(.*)"\tnodeguid ([0-9a-f]+)\t`)
	dumpedPort = regexp.MustCompile(`^[0-9a-f]+\t\[(\d+)\]\t"(.*)"\[(\d+)\]\t(?: lid (\d+) lmc (\d+) smlid \d+ )? *(\d+x) *([0-9.A-Z]+) `)
	dumpedAll  = regexp.MustCompile(`^#  dumped (\d+) nodes`)
)

func parseDump(text string) simulated {
	s := simulated{map[string]ib.GUID{}, map[string]string{}, map[string]ib.LinkRate{}, map[string]string{}, ""}
	node := ""
	for line := range strings.Lines(text) {
		if m := dumpedNode.FindStringSubmatch(line); m != nil {
			node = m[1]
			s.guids[node], _ = ib.ParseGUID(m[2])
		} else if m := dumpedPort.FindStringSubmatch(line); m != nil {
			end := node + ":" + m[1]
			if m[1] != "0" {
				s.peers[end] = m[2] + ":" + m[3]
				width, _ := ib.ParseWidth(m[6])
				speed, _ := ib.ParseSpeed(strings.TrimSuffix(m[7], "G"))
				s.rates[end] = ib.LinkRate{Width: width, Speed: speed}
			}
			if m[4] != "" {
				s.lids[end] = m[4] + "/" + m[5]
			}
		} else if m := dumpedAll.FindStringSubmatch(line); m != nil {
			s.total = m[1]
		}
	}
	return s
}

// expected is what ibsim should tell of a fabric. It takes no LIDs from a
// router's port line.
func expected(f *fabric.Fabric) simulated {
	s := simulated{map[string]ib.GUID{}, map[string]string{}, map[string]ib.LinkRate{}, map[string]string{}, strconv.Itoa(f.NumNodes())}
	for i := range f.NumNodes() {
		id := fabric.NodeID(i)
		n := f.Node(id)
		s.guids[n.ID] = n.GUID
		if port := f.Port(fabric.End{Node: id}); n.Kind == fabric.Switch {
			s.lids[n.ID+":0"] = fmt.Sprintf("%d/%d", port.LID, port.LMC)
		}
		for e, peer := range f.Ports(id) {
			port := f.Port(e)
			s.peers[endName(f, e)] = endName(f, peer)
			s.rates[endName(f, e)] = f.Link(port.Link).Rate
			if n.Kind == fabric.Adapter {
				s.lids[endName(f, e)] = fmt.Sprintf("%d/%d", port.LID, port.LMC)
			}
			if n.Kind == fabric.Router {
				s.lids[endName(f, e)] = "0/0"
			}
		}
	}
	return s
}

// compare holds what ibsim says against the fabric, node by node, cable by
// cable. skipLIDs leaves out LIDs, skipRates rates.
func (s simulator) compare(t failer, f *fabric.Fabric, formatName string, skipLIDs, skipRates bool) (warnings string) {
	t.Helper()
	text := write(t, f, formatName)
	listing, warnings := s.dump(t, text, f)
	got, want := parseDump(listing), expected(f)
	if skipLIDs {
		got.lids, want.lids = nil, nil
	}
	if skipRates {
		got.rates, want.rates = nil, nil
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(simulated{})); diff != "" {
		t.Fatal(fmt.Sprintf("ibsim sees another net in %s (-want +got):\n%s\n%s", formatName, diff, text))
	}
	return warnings
}

func TestIbsimAcceptsGenerated(t *testing.T) {
	s := newSimulator(t)
	for _, spec := range []string{"fat-tree:k=4", "torus:3x3x3,e=2", "dragonfly:a=4,p=2,h=2"} {
		f, err := topology.Generate(spec)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"ibnetdiscover", "ibsim"} {
			if warnings := s.compare(t, f, name, false, false); warnings != "" {
				t.Errorf("%s as %s: ibsim warns: %s", spec, name, warnings)
			}
		}
	}
}

func TestIbsimAcceptsSample(t *testing.T) {
	s := newSimulator(t)
	for _, name := range []string{"ibnetdiscover", "ibsim"} {
		s.compare(t, sample(t), name, true, true) // a quote in a name hides a LID, unknown rates become SDR
	}
}

// TestIbsimAcceptsRates writes each width and speed that ibsim 0.10 knows; it
// takes NDR and XDR for SDR, with a warning.
func TestIbsimAcceptsRates(t *testing.T) {
	s := newSimulator(t)
	var b fabric.Builder
	sw := b.AddNode(fabric.Node{GUID: 1 << 40, Kind: fabric.Switch, NumPorts: 200, MulticastCap: fabric.CapUnknown}, fabric.Place{})
	port := uint16(0)
	for w := ib.Width(1); w.IsValid(); w++ {
		for v := ib.SDR; v < ib.NDR; v++ {
			if v == ib.FDR10 { // which the listing does not tell from QDR
				continue
			}
			port++
			h := b.AddNode(fabric.Node{GUID: ib.GUID(port) << 8, Kind: fabric.Adapter, NumPorts: 1}, fabric.Place{})
			b.Cable(fabric.End{Node: sw, Port: port}, fabric.End{Node: h, Port: 1}, ib.LinkRate{Width: w, Speed: v}, fabric.Place{})
		}
	}
	f, _ := b.Build()
	for _, name := range []string{"ibnetdiscover", "ibsim"} {
		if warnings := s.compare(t, f, name, false, false); warnings != "" {
			t.Errorf("%s: ibsim warns: %s", name, warnings)
		}
	}
}

func TestIbsimAcceptsDumps(t *testing.T) {
	s := newSimulator(t)
	dir, ok := testenv.Shared(t, "data", "fabrics")
	if !ok {
		t.Log("the generated fabrics of TestIbsimAcceptsGenerated stand for the dumps")
		return
	}
	for _, d := range dumps {
		f, _, err := format.ReadFile(filepath.Join(dir, d.file), "")
		if err != nil {
			t.Fatal(err)
		}
		skipRates := hasOtherRates(f)
		for _, name := range []string{"ibnetdiscover", "ibsim"} {
			t.Run(d.file+"/"+name, func(t *testing.T) {
				s.compare(t, f, name, false, skipRates)
			})
		}
	}
}

// hasOtherRates tells whether a fabric has rates that ibsim 0.10 does not know.
func hasOtherRates(f *fabric.Fabric) bool {
	for i := range f.NumLinks() {
		r := f.Link(fabric.LinkID(i)).Rate
		if !r.IsValid() || r.Speed >= ib.NDR || r.Speed == ib.FDR10 {
			return true
		}
	}
	return false
}

// TestIbsimAcceptsAny starts any fabric whose names have the size that
// InfiniBand allows, and whose nodes have ports.
func TestIbsimAcceptsAny(t *testing.T) {
	s := newSimulator(t)
	rapid.Check(t, func(t *rapid.T) {
		drawn := drawFabric(t)
		var b fabric.Builder
		for i := range drawn.NumNodes() {
			n := drawn.Node(fabric.NodeID(i))
			n.NumPorts = max(n.NumPorts, 1)
			n.Name = n.Name[:min(len(n.Name), 63)]
			b.AddNode(n, fabric.Place{})
		}
		for i := range drawn.NumLinks() {
			l := drawn.Link(fabric.LinkID(i))
			b.Cable(l.A, l.B, l.Rate, fabric.Place{})
		}
		f, _ := b.Build()
		if f.NumNodes() > 0 {
			s.compare(t, f, rapid.SampledFrom([]string{"ibnetdiscover", "ibsim"}).Draw(t, "format"), true, true)
		}
	})
}

// TestDumpIsRead makes sure that a comparison would fail.
func TestDumpIsRead(t *testing.T) {
	got := parseDump("Switch 8 \"s\"\tnodeguid 1a\tsysimgguid 1a\n1a\t[0]\t\"Sma Port\"[0]\t lid 6 lmc 1 smlid 0  4x  2.5G Active/LinkUp\n" +
		"1a\t[2]\t\"H-1\"[3]\t  4x 50G Init/LinkUp\n1a\t[4]\t\t\t  4x  2.5G Down/Polling\n#  dumped 1 nodes\n")
	if !maps.Equal(got.peers, map[string]string{"s:2": "H-1:3"}) || got.guids["s"] != 0x1a || got.lids["s:0"] != "6/1" ||
		got.rates["s:2"] != (ib.LinkRate{Width: ib.Width4x, Speed: ib.HDR}) || got.total != "1" {
		t.Errorf("%+v", got)
	}
}
