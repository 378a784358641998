package route_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"heddle/fabric"
	"heddle/ib"
	"heddle/route"
)

func mfts(t fataler, r routed) (*route.MFTs, []ib.MLID) {
	t.Helper()
	mlids, err := route.AssignMLIDs(r.s, r.d)
	if err != nil {
		t.Fatal(err)
	}
	tables, err := route.NewMFTs(r.s, r.d, mlids)
	if err != nil {
		t.Fatal(err)
	}
	return tables, mlids
}

func portSet(ports ...uint16) (s route.PortSet) {
	for _, p := range ports {
		s.Add(p)
	}
	return s
}

// TestMFTsOfKnownTrees: on a row of three switches (host on port 1, the switch
// before on 2, the one behind on 3).
func TestMFTsOfKnownTrees(t *testing.T) {
	f := line(fabric.CapUnknown, fabric.CapUnknown, fabric.CapUnknown)
	host := func(c string) fabric.End { return fabric.End{Node: f.ByName("host-" + c)[0], Port: 1} }
	groups := []fabric.Group{
		{Members: []fabric.End{host("a"), host("c")}},
		{Members: []fabric.End{host("b")}},
		{Members: []fabric.End{host("c"), {Node: 2}}},
		{Members: []fabric.End{{Node: 0}, host("b")}},
		{},
	}
	tables, _ := mfts(t, layGroups(t, f, groups, "minihop"))
	want := []route.MFT{
		{{MLID: 0xc000, Ports: portSet(1, 3)}, {MLID: 0xc003, Ports: portSet(0, 3)}},
		{{MLID: 0xc000, Ports: portSet(2, 3)}, {MLID: 0xc003, Ports: portSet(1, 2)}},
		{{MLID: 0xc000, Ports: portSet(1, 2)}, {MLID: 0xc002, Ports: portSet(0, 1)}},
	}
	if diff := cmp.Diff(want, tables.Tables); diff != "" {
		t.Errorf("tables (-want +got):\n%s", diff)
	}
	if got := tables.Tables[1].Lookup(0xc003); got != portSet(1, 2) {
		t.Errorf("Lookup of an entry: %v", got)
	}
	if got := tables.Tables[1].Lookup(0xc002); got.Len() != 0 {
		t.Errorf("Lookup of no entry: %v", got)
	}
}

func TestPortSet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ports := rapid.SliceOfDistinct(rapid.Uint16Range(0, route.MaxSetPort), rapid.ID).Draw(t, "ports")
		s := portSet(ports...)
		slices.Sort(ports)
		if got := slices.Collect(s.All()); !slices.Equal(got, ports) || s.Len() != len(ports) {
			t.Errorf("set of %v holds %v, %d", ports, got, s.Len())
		}
		p := rapid.Uint16Range(0, route.MaxSetPort).Draw(t, "port")
		if s.Has(p) != slices.Contains(ports, p) {
			t.Errorf("Has(%d) of %v is %v", p, ports, s.Has(p))
		}
	})
}

func TestMFTsRefuse(t *testing.T) {
	f := line(fabric.CapUnknown, 4)
	r := layGroups(t, f, pairs(f, "ab", "ab"), "minihop")
	for _, test := range []struct {
		name  string
		mlids []ib.MLID
	}{
		{"too few MLIDs", []ib.MLID{0xc000}},
		{"the same twice", []ib.MLID{0xc001, 0xc001}},
		{"none", []ib.MLID{0xc000, 0}},
		{"a unicast LID", []ib.MLID{0xbfff, 0xc000}},
		{"beyond the table", []ib.MLID{0xc000, 0xc004}},
	} {
		if tables, err := route.NewMFTs(r.s, r.d, test.mlids); err == nil {
			t.Errorf("%s: %v", test.name, tables.Tables)
		}
	}
	if _, err := route.NewMFTs(r.s, r.d, []ib.MLID{0xc003, 0xc000}); err != nil {
		t.Errorf("MLIDs that fit: %v", err)
	}
}

// TestMFTsNameTooManyPorts: these top switches have 400 ports.
func TestMFTsNameTooManyPorts(t *testing.T) {
	r := lay(t, "trimmed:supernodes=50,leaves=1,hosts=1,mids=8,tops=2,planes=1", "grid:4", "minihop")
	mlids, err := route.AssignMLIDs(r.s, r.d)
	if err != nil {
		t.Fatal(err)
	}
	_, err = route.NewMFTs(r.s, r.d, mlids)
	var ports *route.PortRangeError
	if !errors.As(err, &ports) || ports.Ports != 400 {
		t.Errorf("NewMFTs: %v, want a PortRangeError of 400 ports", err)
	}
}

// TestMFTsOfModels: BlueLight's top switches have 272 ports, more than any
// InfiniBand switch, and can have multicast tables all the same.
func TestMFTsOfModels(t *testing.T) {
	r := lay(t, "bluelight", "random:20x300", "fulb")
	mlids, err := route.AssignMLIDs(r.s, r.d)
	if err != nil {
		t.Fatal(err)
	}
	tables, err := route.NewMFTs(r.s, r.d, mlids)
	if err != nil {
		t.Fatal(err)
	}
	if faults := route.CheckMFTs(tables, r.d, mlids, 1); len(faults) > 0 {
		t.Error(faults[0])
	}
}

// TestCheckMFTsFindsAnyChange: no port can be added to an entry or taken out of
// it without a fault.
func TestCheckMFTsFindsAnyChange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := drawFabric(t)
		g := route.NewGraph(f, route.Selection{})
		r := layAll(t, g, hopsOf(t, g), drawGroups(t, f, true), minihop(t), noOptions)
		mlids := make([]ib.MLID, r.d.NumGroups())
		for i := range mlids {
			mlids[i] = ib.LastMLID - ib.MLID(i)
		}
		tables, err := route.NewMFTs(r.s, r.d, mlids)
		if err != nil {
			return // through a switch with a small table
		}
		var rows []*route.MFTEntry
		for _, table := range tables.Tables {
			for k := range table {
				rows = append(rows, &table[k])
			}
		}
		if len(rows) == 0 {
			return
		}
		row := rapid.SampledFrom(rows).Draw(t, "row")
		port := rapid.IntRange(0, 20).Draw(t, "port")
		row.Ports[port>>6] ^= 1 << (port & 63)
		if len(route.CheckMFTs(tables, r.d, mlids, 0)) == 0 {
			t.Errorf("%v with port %d changed is no fault", row.MLID, port)
		}
	})
}

// TestCheckMFTsFindsLoops: two trees laid over each other send packets round.
func TestCheckMFTsFindsLoops(t *testing.T) {
	f := generate(t, "ring:n=4")
	ends := f.EndPorts()
	r := layGroups(t, f, []fabric.Group{{Members: ends}}, "minihop")
	tables, mlids := mfts(t, r)
	for v := range tables.Tables {
		tables.Tables[v] = route.MFT{{MLID: mlids[0], Ports: portSet(1, 2, 3)}}
	}
	got := kinds(route.CheckMFTs(tables, r.d, mlids, 1))
	if diff := cmp.Diff([]route.FaultKind{route.FaultTwice}, got); diff != "" {
		t.Errorf("faults of a ring (-want +got):\n%s", diff)
	}
}

// TestCheckMFTsOfOneMember: a group of one member has no entry, so one is a
// fault.
func TestCheckMFTsOfOneMember(t *testing.T) {
	f := line(fabric.CapUnknown, fabric.CapUnknown)
	r := layGroups(t, f, pairs(f, "a"), "minihop")
	tables, mlids := mfts(t, r)
	noFaults(t, route.CheckMFTs(tables, r.d, mlids, 0))
	tables.Tables[0] = route.MFT{{MLID: mlids[0], Ports: portSet(1)}}
	if got := kinds(route.CheckMFTs(tables, r.d, mlids, 0)); !slices.Equal(got, []route.FaultKind{route.FaultStranger}) {
		t.Errorf("faults: %v", got)
	}
}

func BenchmarkNewMFTs(b *testing.B) {
	r := lay(b, "dragonfly:a=18,p=9,h=9", "grid:81x27x12,order=oblivious", "fulb")
	for b.Loop() {
		mfts(b, r)
	}
}

func BenchmarkCheckMFTs(b *testing.B) {
	r := lay(b, "dragonfly:a=18,p=9,h=9", "grid:81x27x12,order=oblivious", "fulb")
	tables, mlids := mfts(b, r)
	for b.Loop() {
		route.CheckMFTs(tables, r.d, mlids, 1)
	}
}
