package emu_test

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"heddle/emu"
	"heddle/fabric"
	"heddle/ib"
	"heddle/route"
	"heddle/route/format"
)

// patience is how long something may take that comes about by itself.
const patience = 30 * time.Second

// eventually asks again and again until nothing is wrong any more.
func eventually(t *testing.T, wrong func() string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		why := wrong()
		if why == "" {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatal(why)
		}
	}
}

// TestForwardingTables: what dump_lfts, dump_mfts and ibroute read of the forwarding
// tables is what packets follow, and ibtracert follows them too.
func TestForwardingTables(t *testing.T) {
	s, _ := broughtUp(t, generate(t, "fat-tree:k=4"), emu.Config{MLIDs: 512}, "lmc 1")
	f := s.found(t)
	graph := route.NewGraph(f, route.Selection{})
	lfts := s.checkLFTs(t, graph)
	mfts, members, mlids := s.joinSome(t, graph)

	ends := f.EndPorts()
	from, to := ends[0], ends[len(ends)-1]
	for lid := f.Port(to).LID; lid <= f.Port(to).LID+1; lid++ {
		out := s.diag(t, "ibtracert", f.Port(from).LID.String(), lid.String())
		checkTrace(t, graph, out, from, to, func(v int32, port uint16) bool {
			return uint16(lfts.Tables[v].Lookup(lid)) == port
		})
	}
	a, b := members.Group(1).Members[0], members.Group(1).Members[1]
	out := s.diag(t, "ibtracert", "-m", mlids[1].String(), f.Port(a).LID.String(), f.Port(b).LID.String())
	checkTrace(t, graph, out, a, b, func(v int32, port uint16) bool {
		set := mfts.Tables[v].Lookup(mlids[1])
		return set.Has(port)
	})
	s.checkIbroute(t, lfts, mfts)
}

// checkLFTs reads the tables of a fabric that was found, and makes sure that
// they lead from everywhere to everywhere.
func (s *served) checkLFTs(t *testing.T, graph *route.Graph) *route.LFTs {
	t.Helper()
	lids, err := route.LIDsOf(graph.Fabric())
	if err != nil {
		t.Fatal(err)
	}
	lfts, err := format.ReadLFTs(strings.NewReader(s.diag(t, "dump_lfts")), graph, lids)
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range route.CheckLFTs(lfts) {
		t.Error(fault)
	}
	return lfts
}

// joinSome makes three groups and waits until the tables carry them.
func (s *served) joinSome(t *testing.T, graph *route.Graph) (*route.MFTs, *route.Demand, []ib.MLID) {
	t.Helper()
	ends := graph.Fabric().EndPorts()
	groups := []fabric.Group{{Members: ends[:2]}, {Members: []fabric.End{ends[1], ends[9], ends[14]}}, {Members: ends}}
	p := s.port(t, graph.Fabric().Node(ends[3].Node).ID)
	var mlids []ib.MLID
	for i, g := range groups {
		mlids = append(mlids, s.join(t, p, i, graph.Fabric(), g.Members...))
	}
	d := route.NewDemand(graph, groups)
	return s.awaitTables(t, graph, d, mlids), d, mlids
}

// awaitTables waits until the switches' tables carry the groups.
func (s *served) awaitTables(t *testing.T, graph *route.Graph, d *route.Demand, mlids []ib.MLID) (tables *route.MFTs) {
	t.Helper()
	eventually(t, func() string {
		var err error
		tables, err = format.ReadMFTs(strings.NewReader(s.diag(t, "dump_mfts")), graph)
		if err != nil {
			t.Fatal(err)
		}
		if faults := route.CheckMFTs(tables, d, mlids, 0); len(faults) > 0 {
			return fmt.Sprint(len(faults), " faults, the first: ", faults[0])
		}
		return ""
	})
	return tables
}

var hop = regexp.MustCompile(`(?m)^\[(\d+)\] -> (?:ca|switch)(?: port)? \{?(0x[0-9a-f]+)\}?\[(\d+)\]`)

// checkTrace follows what ibtracert says from port to port: each hop is a
// cable, and leaves a switch by a port that its table allows.
func checkTrace(t *testing.T, g *route.Graph, out string, from, to fabric.End, allows func(v int32, port uint16) bool) {
	t.Helper()
	f := g.Fabric()
	at := from
	for _, m := range hop.FindAllStringSubmatch(out, -1) {
		leave := fabric.End{Node: at.Node, Port: number(t, m[1])}
		if v := g.Vertex(at.Node); v >= 0 && !allows(v, leave.Port) {
			t.Errorf("the table of %s does not lead out of port %d:\n%s", f.Node(at.Node).Label(), leave.Port, out)
		}
		next, ok := f.Peer(leave)
		if !ok || next.Port != number(t, m[3]) {
			t.Fatalf("no such cable: %s\n%s", m[0], out)
		}
		guid := ib.MustParseGUID(m[2])
		if guid != f.Node(next.Node).GUID && guid != f.Port(next).GUID {
			t.Fatalf("%s leads to another node\n%s", m[0], out)
		}
		at = next
	}
	if at != to {
		t.Errorf("ends at %s, want %s:\n%s", f.EndLabel(at), f.EndLabel(to), out)
	}
}

func number(t *testing.T, digits string) uint16 {
	t.Helper()
	n, err := strconv.ParseUint(digits, 10, 16)
	if err != nil {
		t.Fatal(err)
	}
	return uint16(n)
}

// checkIbroute holds one switch's tables as ibroute shows them against the
// dumps.
func (s *served) checkIbroute(t *testing.T, lfts *route.LFTs, mfts *route.MFTs) {
	t.Helper()
	f := lfts.Graph.Fabric()
	id := f.Switches()[len(f.Switches())-1]
	v, lid := lfts.Graph.Vertex(id), f.Port(fabric.End{Node: id}).LID.String()
	unicast, err := format.ReadLFTs(strings.NewReader(s.diag(t, "ibroute", lid)), lfts.Graph, lfts.LIDs)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(lfts.Tables[v], unicast.Tables[v]); diff != "" {
		t.Errorf("-dump_lfts +ibroute:\n%s", diff)
	}
	multicast, err := format.ReadMFTs(strings.NewReader(s.diag(t, "ibroute", "-M", lid)), mfts.Graph)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(mfts.Tables[v], multicast.Tables[v]); diff != "" || len(mfts.Tables[v]) == 0 {
		t.Errorf("-dump_mfts +ibroute -M:\n%s", diff)
	}
}
