package emu_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"heddle/emu"
	"heddle/fabric"
	"heddle/internal/testenv"
)

// query is what one of infiniband-diags' programs is asked, and lines that it
// has to print, as plain leaves them.
type query struct {
	call string
	want []string
}

var dots = regexp.MustCompile(`:?\.\.+`)

// plain are the lines of an output without indentation and dots, up to the
// second record where there are several.
func plain(out string) (lines []string) {
	if heading, rest, several := strings.Cut(out, "dump:\n"); several {
		first, _, _ := strings.Cut(rest, heading+"dump:\n")
		out = first
	}
	for line := range strings.Lines(out) {
		lines = append(lines, strings.TrimSpace(dots.ReplaceAllString(line, ": ")))
	}
	return lines
}

// ask makes the queries, and holds the answers against what they have to be.
// A query is the first word of its call, put into the format, and what
// follows it.
func (s *served) ask(t *testing.T, format string, queries []query) {
	t.Helper()
	for _, q := range queries {
		what, rest, _ := strings.Cut(q.call, " ")
		words := strings.Fields(fmt.Sprintf(format, what) + " " + rest)
		out := s.diag(t, words[0], words[1:]...)
		got := plain(out)
		for _, line := range q.want {
			if !slices.Contains(got, line) {
				t.Errorf("%s does not say %q but\n%s", q.call, line, out)
			}
		}
	}
}

// TestQueries: each kind of smpquery by LID, by directed route, and by LID to a
// switch and from there by directed route.
func TestQueries(t *testing.T) {
	f := generate(t, "fat-tree:k=4,rate=4xEDR")
	s, _ := broughtUp(t, f, emu.Config{MLIDs: 4096})
	host := f.EndPorts()[1] // on the same switch as the first
	at, _ := f.Peer(host)
	up, _ := f.Peer(fabric.End{Node: at.Node, Port: 1})
	leaf, spine := s.lid(t, f.Node(at.Node).ID), s.lid(t, f.Node(up.Node).ID)
	hostWays := map[string]string{
		"LID":   fmt.Sprintf("smpquery %%s %d", s.lid(t, f.Node(host.Node).ID)),
		"route": fmt.Sprintf("smpquery -D %%s 0,1,%d", at.Port),
		"both":  fmt.Sprintf("smpquery -c %%s %d 0,%d,%d", spine, up.Port, at.Port),
	}
	for name, way := range hostWays {
		t.Run("adapter by "+name, func(t *testing.T) { s.ask(t, way, s.adapterQueries(t, host)) })
	}
	s.ask(t, fmt.Sprintf("smpquery -G %%s %v", f.Port(host).GUID), s.adapterQueries(t, host)[:1])
	spineWays := map[string]string{
		"LID":   fmt.Sprintf("smpquery %%s %d", spine),
		"route": "smpquery -D %s 0,1,1",
		"both":  fmt.Sprintf("smpquery -c %%s %d 0,1", leaf),
	}
	for name, way := range spineWays {
		t.Run("switch by "+name, func(t *testing.T) { s.ask(t, way, s.switchQueries(t, up)) })
	}
}

func (s *served) adapterQueries(t *testing.T, e fabric.End) []query {
	t.Helper()
	n, port := s.fabric.Node(e.Node), s.fabric.Port(e)
	return []query{
		{"nodeinfo", []string{
			"NodeType: Channel Adapter", fmt.Sprint("NumPorts: ", n.NumPorts), fmt.Sprint("Guid: ", n.GUID),
			fmt.Sprint("PortGuid: ", port.GUID), fmt.Sprint("LocalPort: ", e.Port), "PartCap: 32",
		}},
		{"nodedesc", []string{"Node Description: " + n.Name}},
		{"portinfo", []string{
			"GidPrefix: 0xfe80000000000000", fmt.Sprint("Lid: ", s.lid(t, n.ID)), fmt.Sprint("SMLid: ", s.lid(t, "")),
			fmt.Sprint("LocalPort: ", e.Port), "LinkState: Active", "PhysLinkState: LinkUp", "LMC: 0", "NeighborMTU: 4096",
			"LinkWidthActive: 4X", "LinkSpeedActive: 10.0 Gbps", "LinkSpeedExtActive: 25.78125 Gbps", "GuidCap: 32",
		}},
		{"pkeys", []string{"0: 0xffff" + strings.Repeat(" 0x0000", 7), "32 pkeys capacity for this port"}},
		{"sl2vl", []string{"ports: in  0, out  0: " + eightLanes}},
		{"vlarb", []string{"WEIGHT: " + strings.Repeat("|0x4 ", 8) + strings.Repeat("|0x0 ", 24) + "|"}},
		{"guidinfo", []string{fmt.Sprintf("0: %v 0x0000000000000000", port.GUID), "32 guids capacity for this port"}},
		{"mepi", []string{"LinkSpeedActive: 0x00"}},
	}
}

// eightLanes is how service levels are spread over eight lanes.
const eightLanes = "| 0| 1| 2| 3| 4| 5| 6| 7| 0| 1| 2| 3| 4| 5| 6| 7|"

func (s *served) switchQueries(t *testing.T, e fabric.End) []query {
	t.Helper()
	n := s.fabric.Node(e.Node)
	return []query{
		{"nodeinfo", []string{
			"NodeType: Switch", fmt.Sprint("NumPorts: ", n.NumPorts), fmt.Sprint("Guid: ", n.GUID),
			fmt.Sprint("PortGuid: ", n.GUID), fmt.Sprint("LocalPort: ", e.Port),
		}},
		{"nodedesc", []string{"Node Description: " + n.Name}},
		{"switchinfo", []string{
			"LinearFdbCap: 49152", "McastFdbCap: 4096", "LinearFdbTop: 36", "StateChange: 0", "LifeTime: 18",
			"PartEnforceCap: 32", "EnhancedPort0: 1",
		}},
		{"portinfo", []string{
			fmt.Sprint("Lid: ", s.lid(t, n.ID)), fmt.Sprint("SMLid: ", s.lid(t, "")), "LinkState: Active",
		}},
		{fmt.Sprint("portinfo ", e.Port), []string{
			"Lid: 0", "LinkState: Active", "NeighborMTU: 4096", "LinkSpeedExtActive: 25.78125 Gbps",
		}},
		{"sl2vl 3", []string{"ports: in  0, out  3: " + eightLanes, "ports: in  4, out  3: " + eightLanes}},
		{"pkeys 3", []string{"32 pkeys capacity for this port"}},
		{"vlarb 3", []string{"# Low priority VL Arbitration Table:"}},
	}
}

// TestAddresses: ibaddr tells the addresses of a port, with an LMC all of its
// LIDs, and sminfo who the subnet manager is.
func TestAddresses(t *testing.T) {
	f := generate(t, "single:hosts=3")
	s, _ := broughtUp(t, f, emu.Config{}, "lmc 2", "sm_priority 7")
	for _, node := range named(f, f.Adapters()) {
		info := s.info(t, node, 0)
		want := fmt.Sprintf("GID %v LID start %#x end %#x\n", info.GID(), uint16(info.LID), uint16(info.LID)+3)
		if out := s.diag(t, "ibaddr", info.LID.String()); out != want {
			t.Errorf("ibaddr says %q, want %q", out, want)
		}
	}
	sm := s.info(t, "", 0)
	want := regexp.MustCompile(fmt.Sprintf(`^sminfo: sm lid %d sm guid %#x, activity count \d+ priority 7 state 3 SMINFO_MASTER\n$`,
		uint16(sm.LID), uint64(sm.PortGUID)))
	if out := testenv.Diag(t, s.name, "host-2", "sminfo"); !want.MatchString(out) {
		t.Errorf("sminfo says %q, want %v", out, want)
	}
}
