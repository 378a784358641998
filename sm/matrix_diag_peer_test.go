package sm_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/fabric"
	"heddle/fabric/format"
	"heddle/ib"
	"heddle/internal/testenv"
	"heddle/mad"
	"heddle/route"
	tables "heddle/route/format"
)

// discover has ibnetdiscover find the net, and iblinkinfo all its links up.
func (x *matrix) discover(t *testing.T, f *fabric.Fabric) {
	t.Helper()
	text := x.diag(t, "ibnetdiscover")
	found, faults, err := format.Read(strings.NewReader(text), "ibnetdiscover", "ibnetdiscover")
	if err != nil || len(fabric.Errors(faults)) > 0 {
		t.Fatal(err, faults)
	}
	if diff := cmp.Diff(cables(f), cables(found)); diff != "" {
		t.Fatalf("cables (-net +ibnetdiscover):\n%s", diff)
	}
	x.found, x.graph = found, route.NewGraph(found, route.Selection{})
	x.net = filepath.Join(t.TempDir(), "net")
	if err := os.WriteFile(x.net, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	links := x.diag(t, "iblinkinfo")
	up := regexp.MustCompile(`Active/ +LinkUp`).FindAllString(links, -1)
	down := regexp.MustCompile(`Down/ +Polling`).FindAllString(links, -1)
	if all := strings.Count(links, "==("); len(up) != found.LinkEnds() || len(up)+len(down) != all {
		t.Errorf("iblinkinfo: of %d ports %d are up and %d down, want %d up and the others down", all, len(up), len(down), found.LinkEnds())
	}
}

// cables are a fabric's, by the GUIDs of the nodes.
func cables(f *fabric.Fabric) (list []string) {
	for id := range fabric.LinkID(f.NumLinks()) {
		l := f.Link(id)
		ends := []string{}
		for _, e := range []fabric.End{l.A, l.B} {
			ends = append(ends, fmt.Sprintf("%v[%d]", f.Node(e.Node).GUID, e.Port))
		}
		slices.Sort(ends)
		list = append(list, strings.Join(ends, " "))
	}
	slices.Sort(list)
	return list
}

// checkSMInfo: sminfo finds our manager at port 1 of a node. The port's own GUID
// is not that of the net: ibsim makes it of the node's.
func (x *matrix) checkSMInfo(t *testing.T, node ib.GUID) {
	t.Helper()
	id, ok := x.found.ByGUID(node)
	if !ok {
		t.Fatalf("ibnetdiscover does not know the node %v", node)
	}
	port := x.found.Port(fabric.End{Node: id, Port: 1})
	want := regexp.MustCompile(fmt.Sprintf(`^sminfo: sm lid %v sm guid %#x, activity count \d+ priority 7 state 3 SMINFO_MASTER\n$`,
		port.LID, uint64(port.GUID)))
	if out := x.diag(t, "sminfo"); !want.MatchString(out) {
		t.Errorf("sminfo says %q, want %v", out, want)
	}
}

// dumpTables has dump_lfts and dump_mfts read the forwarding tables, and judges
// them.
func (x *matrix) dumpTables(t *testing.T) {
	t.Helper()
	lids, err := route.LIDsOf(x.found)
	if err != nil {
		t.Fatal(err)
	}
	if x.lfts, err = tables.ReadLFTs(strings.NewReader(x.diag(t, "dump_lfts")), x.graph, lids); err != nil {
		t.Fatal(err)
	}
	x.addLastLID(t)
	text := x.diag(t, "dump_mfts")
	if x.mfts, err = tables.ReadMFTs(strings.NewReader(text), x.graph); err != nil {
		t.Fatal(err)
	}
	demand := route.NewDemand(x.graph, x.groups)
	faults := append(route.CheckLFTs(x.lfts), route.CheckMFTs(x.mfts, demand, x.mlids, 0)...)
	for _, fault := range faults[:min(len(faults), 10)] {
		t.Errorf("%v (%d in all)", fault, len(faults))
	}
	x.strangers(t)
	x.judge(t, text, demand)
}

// addLastLID adds what dump_lfts of infiniband-diags 44 leaves out, whoever
// wrote the tables: the highest LID, where it is a multiple of 64. It is asked
// for of subnet administration.
func (x *matrix) addLastLID(t *testing.T) {
	t.Helper()
	top := x.lfts.LIDs.Top()
	if top%64 != 0 {
		return
	}
	for _, r := range whole(t, x.client, mad.LFTRecord{Block: uint16(top / 64)}, mad.LFTRecordBlock) {
		e, _ := x.lfts.LIDs.Owner(r.LID)
		x.lfts.Tables[x.graph.Vertex(e.Node)][top] = r.Ports[0]
	}
}

// strangers are MLIDs in tables that no group has.
func (x *matrix) strangers(t *testing.T) {
	t.Helper()
	for v, table := range x.mfts.Tables {
		for _, entry := range table {
			if !slices.Contains(x.mlids, entry.MLID) && entry.Ports.Len() > 0 {
				t.Errorf("%s forwards %v, which is no group's", x.graph.Label(int32(v)), entry.MLID)
			}
		}
	}
}

// judge has check-mft.py, which is not ours, judge the dump.
func (x *matrix) judge(t *testing.T, dump string, demand *route.Demand) {
	t.Helper()
	script, ok := testenv.Shared(t, "tools", "check-mft.py")
	if !ok {
		t.Log("check-mft.py is missing: CheckMFTs alone judges the tables")
		return
	}
	var members strings.Builder
	if err := tables.WriteMembers(&members, x.graph, demand, x.mlids); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	mfts, list := filepath.Join(dir, "mfts"), filepath.Join(dir, "members")
	for file, text := range map[string]string{mfts: dump, list: members.String()} {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	out, err := exec.Command(testenv.Peer(t, "python3"), script, x.net, mfts, "--members", list, "--json").CombinedOutput()
	var verdict struct{ Trees, Groups, Wrong int }
	if err := errors.Join(err, json.Unmarshal(out, &verdict)); err != nil {
		t.Fatalf("check-mft.py: %v: %s", err, out)
	}
	if verdict.Wrong > 0 || verdict.Groups != len(x.groups) || verdict.Trees != len(x.groups) {
		t.Errorf("check-mft.py, of %d groups: %s", len(x.groups), out)
	}
}

// checkPaths: ibtracert finds between random ports the way that the tables show.
func (x *matrix) checkPaths(t *testing.T) {
	t.Helper()
	ends := x.found.EndPorts()
	random := rand.New(rand.NewPCG(1, 2))
	for range 10 {
		from, to := ends[random.IntN(len(ends))], ends[random.IntN(len(ends))]
		if from == to {
			continue
		}
		lid := x.found.Port(to).LID
		want := x.walk(from, to, func(sw fabric.NodeID, _ uint16) []uint16 {
			return []uint16{uint16(x.lfts.Tables[x.graph.Vertex(sw)].Lookup(lid))}
		})
		x.compareTrace(t, want, x.found.Port(from).LID.String(), lid.String())
	}
}

// checkTrees: ibtracert -m finds the ways of three groups from a member to
// another in the tree.
func (x *matrix) checkTrees(t *testing.T) {
	t.Helper()
	traced := 0
	for i, g := range x.groups {
		for _, to := range g.Members[1:] {
			from := g.Members[0]
			if want := x.wayInTree(from, to, x.mlids[i]); len(want) > 0 {
				x.compareTrace(t, want, "-m", x.mlids[i].String(), x.found.Port(from).LID.String(), x.found.Port(to).LID.String())
				traced++
				break
			}
		}
		if traced == 3 {
			return
		}
	}
	t.Errorf("%d groups have a way that ibtracert can trace, want 3", traced)
}

// wayInTree is the way of a packet to a group, from a member to another, unless
// it takes a switch's last port where that is a multiple of 16: ibtracert of
// infiniband-diags 44 does not see such a port in a multicast table.
func (x *matrix) wayInTree(from, to fabric.End, mlid ib.MLID) []string {
	return x.walk(from, to, func(sw fabric.NodeID, in uint16) (out []uint16) {
		set := x.mfts.Tables[x.graph.Vertex(sw)].Lookup(mlid)
		for port := range set.All() {
			if port != in && (port%16 != 0 || port < x.found.Node(sw).NumPorts) {
				out = append(out, port)
			}
		}
		return out
	})
}

// compareTrace has ibtracert trace a way.
func (x *matrix) compareTrace(t *testing.T, want []string, args ...string) {
	t.Helper()
	if len(want) == 0 {
		t.Errorf("the tables have no way for ibtracert %v", args)
		return
	}
	out := x.diag(t, "ibtracert", args...)
	hop := regexp.MustCompile(`(?m)^\[(\d+)\] -> (?:ca|switch)(?: port)? \{?(0x[0-9a-f]+)\}?\[(\d+)\]`)
	var got []string
	for _, m := range hop.FindAllStringSubmatch(out, -1) {
		guid := ib.MustParseGUID(m[2])
		if e, ok := x.found.ByPortGUID(guid); ok {
			guid = x.found.Node(e.Node).GUID
		}
		got = append(got, fmt.Sprintf("[%s] -> %v[%s]", m[1], guid, m[3]))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("ibtracert %v (-tables +ibtracert):\n%s\n%s", args, diff, out)
	}
}

// walk is the way from a port to another, where next has the ports by which a
// switch passes on what came in by one: of them, those lead there that end
// there. It is empty where there is none of 64 hops or fewer.
func (x *matrix) walk(from, to fabric.End, next func(sw fabric.NodeID, in uint16) []uint16) []string {
	var visit func(leave fabric.End, hops int) []string
	visit = func(leave fabric.End, hops int) []string {
		in, ok := x.found.Peer(leave)
		if !ok || hops == 64 {
			return nil
		}
		step := fmt.Sprintf("[%d] -> %v[%d]", leave.Port, x.found.Node(in.Node).GUID, in.Port)
		if in == to {
			return []string{step}
		}
		if x.found.Node(in.Node).Kind != fabric.Switch {
			return nil
		}
		for _, port := range next(in.Node, in.Port) {
			if rest := visit(fabric.End{Node: in.Node, Port: port}, hops+1); rest != nil {
				return append([]string{step}, rest...)
			}
		}
		return nil
	}
	return visit(from, 0)
}
