package admin_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/ib"
	"heddle/mad"
	"heddle/sm/admin"
)

const bothGIDs = mad.PathRecordDGID | mad.PathRecordSGID

// pathQuestion asks for paths between two ports.
func pathQuestion(from, to admin.Port, mask mad.ComponentMask, q mad.PathRecord) question {
	q.SGID, q.DGID = gid(from), gid(to)
	return question{from: from.Info.LID, attr: mad.AttrPathRecord, mask: mask | bothGIDs, data: q}
}

func TestPath(t *testing.T) {
	s := tree(t)
	a, b := s.ends[0], s.ends[15]
	got, status := get(t, s, pathQuestion(a, b, 0, mad.PathRecord{}), mad.ParsePathRecord)
	want := mad.PathRecord{
		DGID: gid(b), SGID: gid(a), DLID: b.Info.LID, SLID: a.Info.LID, Reversible: true, PKey: ib.DefaultPKey,
		MTUSelector: mad.SelectExactly, MTU: ib.MTU4096, RateSelector: mad.SelectExactly, Rate: ib.Rate200,
		LifetimeSelector: mad.SelectExactly, Lifetime: 18,
	}
	if diff := cmp.Diff(want, got); diff != "" || status != mad.StatusOK {
		t.Errorf("status %v, path (-want +got):\n%s", status, diff)
	}
	byLID := question{attr: mad.AttrPathRecord, mask: mad.PathRecordDLID | mad.PathRecordSLID, data: mad.PathRecord{DLID: b.Info.LID, SLID: a.Info.LID}}
	got, status = get(t, s, byLID, mad.ParsePathRecord)
	if diff := cmp.Diff(want, got); diff != "" || status != mad.StatusOK {
		t.Errorf("by LIDs: status %v, path (-want +got):\n%s", status, diff)
	}
	if self, status := get(t, s, pathQuestion(a, a, 0, mad.PathRecord{}), mad.ParsePathRecord); status != mad.StatusOK || self.Lifetime != 0 {
		t.Errorf("to itself: status %v, %+v", status, self)
	}
}

// TestSelectors: a path may be used with less than it can, and not with more.
// The narrowest link of the path has an MTU of 2048 and 100 Gb/s.
func TestSelectors(t *testing.T) {
	subnet := subnetOf(t, "fat-tree:k=4", 0)
	s := serverOf(t, subnet, admin.Config{})
	slow := s.hosts()[0]
	leaf := &subnet.Nodes[slow.Peer]
	for number := range leaf.Ports {
		leaf.Ports[number].Info.NeighborMTU, leaf.Ports[number].Rate = ib.MTU2048, ib.Rate100
	}
	s.Update(s.now, snapshotOf(t, subnet))
	const mtus, rates, lifetimes = mad.PathRecordMTUSelector | mad.PathRecordMTU, mad.PathRecordRateSelector | mad.PathRecordRate, mad.PathRecordLifetimeSelector | mad.PathRecordLifetime
	for _, test := range []struct {
		name string
		mask mad.ComponentMask
		q    mad.PathRecord
		want mad.Status
		mtu  ib.MTU
		rate ib.Rate
		life mad.TimeValue
	}{
		{"as it is", 0, mad.PathRecord{}, 0, ib.MTU2048, ib.Rate100, 18},
		{"value without selector", mad.PathRecordMTU, mad.PathRecord{MTU: ib.MTU4096}, 0, ib.MTU2048, ib.Rate100, 18},
		{"MTU exactly", mtus, mad.PathRecord{MTUSelector: mad.SelectExactly, MTU: ib.MTU1024}, 0, ib.MTU1024, ib.Rate100, 18},
		{"MTU too large", mtus, mad.PathRecord{MTUSelector: mad.SelectExactly, MTU: ib.MTU4096}, mad.StatusSANoRecords, 0, 0, 0},
		{"MTU greater", mtus, mad.PathRecord{MTUSelector: mad.SelectGreater, MTU: ib.MTU1024}, 0, ib.MTU2048, ib.Rate100, 18},
		{"MTU not greater", mtus, mad.PathRecord{MTUSelector: mad.SelectGreater, MTU: ib.MTU2048}, mad.StatusSANoRecords, 0, 0, 0},
		{"MTU less", mtus, mad.PathRecord{MTUSelector: mad.SelectLess, MTU: ib.MTU2048}, 0, ib.MTU1024, ib.Rate100, 18},
		{"MTU less than the least", mtus, mad.PathRecord{MTUSelector: mad.SelectLess, MTU: ib.MTU256}, mad.StatusSANoRecords, 0, 0, 0},
		{"MTU less than 0", mtus, mad.PathRecord{MTUSelector: mad.SelectLess}, mad.StatusSANoRecords, 0, 0, 0},
		{"MTU largest", mtus, mad.PathRecord{MTUSelector: mad.SelectLargest}, 0, ib.MTU2048, ib.Rate100, 18},
		{"MTU undefined", mtus, mad.PathRecord{MTUSelector: mad.SelectExactly}, mad.StatusSANoRecords, 0, 0, 0},
		{"rate exactly", rates, mad.PathRecord{RateSelector: mad.SelectExactly, Rate: ib.Rate56}, 0, ib.MTU2048, ib.Rate56, 18},
		{"rate too high", rates, mad.PathRecord{RateSelector: mad.SelectExactly, Rate: ib.Rate120}, mad.StatusSANoRecords, 0, 0, 0},
		{"rate greater by code but not by rate", rates, mad.PathRecord{RateSelector: mad.SelectGreater, Rate: ib.Rate168}, mad.StatusSANoRecords, 0, 0, 0},
		{"rate less", rates, mad.PathRecord{RateSelector: mad.SelectLess, Rate: ib.Rate100}, 0, ib.MTU2048, ib.Rate80, 18},
		{"rate less than more", rates, mad.PathRecord{RateSelector: mad.SelectLess, Rate: ib.Rate400}, 0, ib.MTU2048, ib.Rate100, 18},
		{"rate less than the least", rates, mad.PathRecord{RateSelector: mad.SelectLess, Rate: ib.Rate2_5}, mad.StatusSANoRecords, 0, 0, 0},
		{"lifetime exactly, longer", lifetimes, mad.PathRecord{LifetimeSelector: mad.SelectExactly, Lifetime: 20}, 0, ib.MTU2048, ib.Rate100, 20},
		{"lifetime exactly, shorter", lifetimes, mad.PathRecord{LifetimeSelector: mad.SelectExactly, Lifetime: 10}, mad.StatusSANoRecords, 0, 0, 0},
		{"lifetime greater", lifetimes, mad.PathRecord{LifetimeSelector: mad.SelectGreater, Lifetime: 18}, 0, ib.MTU2048, ib.Rate100, 19},
		{"lifetime greater than the greatest", lifetimes, mad.PathRecord{LifetimeSelector: mad.SelectGreater, Lifetime: 63}, mad.StatusSANoRecords, 0, 0, 0},
		{"lifetime less", lifetimes, mad.PathRecord{LifetimeSelector: mad.SelectLess, Lifetime: 18}, mad.StatusSANoRecords, 0, 0, 0},
		{"lifetime shortest", lifetimes, mad.PathRecord{LifetimeSelector: mad.SelectLargest}, 0, ib.MTU2048, ib.Rate100, 18},
		{"another SL", mad.PathRecordSL, mad.PathRecord{SL: 3}, mad.StatusSANoRecords, 0, 0, 0},
		{"partition of nobody", mad.PathRecordPKey, mad.PathRecord{PKey: 0x8001}, mad.StatusSANoRecords, 0, 0, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, status := get(t, s, pathQuestion(slow, s.hosts()[15], test.mask, test.q), mad.ParsePathRecord)
			if status != test.want {
				t.Fatalf("status %v, want %v", status, test.want)
			}
			if status == mad.StatusOK && (got.MTU != test.mtu || got.Rate != test.rate || got.Lifetime != test.life) {
				t.Errorf("MTU %v, rate %v, lifetime %v; want %v, %v, %v", got.MTU, got.Rate, got.Lifetime, test.mtu, test.rate, test.life)
			}
		})
	}
	// The way back counts as well: here its last link is the slow one.
	p := &subnet.Nodes[s.hosts()[8].Peer].Ports[s.hosts()[8].PeerPort]
	p.Info.NeighborMTU, p.Rate = ib.MTU1024, ib.Rate40
	s.Update(s.now, snapshotOf(t, subnet))
	if back, _ := get(t, s, pathQuestion(s.hosts()[8], s.hosts()[14], 0, mad.PathRecord{}), mad.ParsePathRecord); back.MTU != ib.MTU1024 || back.Rate != ib.Rate40 {
		t.Errorf("slow way back: %+v", back)
	}
	// The ends' own links are wide: two ports elsewhere are not slowed down.
	if far, _ := get(t, s, pathQuestion(s.hosts()[14], s.hosts()[10], 0, mad.PathRecord{}), mad.ParsePathRecord); far.MTU != ib.MTU4096 || far.Rate != ib.Rate200 {
		t.Errorf("elsewhere: %+v", far)
	}
}

// TestPathPartitions is case M6: two full members, a full and a limited one, two
// limited ones, and strangers.
func TestPathPartitions(t *testing.T) {
	subnet := subnetOf(t, "single:hosts=6", 0)
	keys := [][]ib.PKey{{0xFFFF, 0xAA00}, {0xFFFF, 0x2A00}, {0xFFFF, 0x2A00}, {0x7FFF}, {0x7FFF}, {0xFFFF}}
	for i, at := 0, 0; i < len(subnet.Nodes); i++ {
		if !subnet.Nodes[i].IsSwitch() {
			subnet.Nodes[i].Ports[1].PKeys = keys[at]
			at++
		}
	}
	subnet.SLs = map[uint16]ib.SL{0x2A00: 4}
	s := serverOf(t, subnet, admin.Config{})
	h := s.hosts()
	for _, test := range []struct {
		name     string
		from, to int
		pkey     ib.PKey
		want     mad.Status
		got      ib.PKey
	}{
		{"full and limited", 0, 1, 0x2A00, 0, 0x2A00},
		{"full and limited, other bit", 1, 0, 0xAA00, 0, 0xAA00},
		{"two limited", 1, 2, 0x2A00, mad.StatusSANoRecords, 0},
		{"not held", 0, 5, 0xAA00, mad.StatusSANoRecords, 0},
		{"any", 1, 2, 0, 0, 0xFFFF},
		{"limited of the default partition", 3, 0, 0, 0, 0x7FFF},
		{"two limited of the default partition", 3, 4, 0, mad.StatusSANoRecords, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			mask := mad.ComponentMask(0)
			if test.pkey != 0 {
				mask = mad.PathRecordPKey
			}
			got, status := get(t, s, pathQuestion(h[test.from], h[test.to], mask, mad.PathRecord{PKey: test.pkey}), mad.ParsePathRecord)
			if status != test.want || status == mad.StatusOK && got.PKey != test.got {
				t.Errorf("status %v, P_Key %v; want %v, %v", status, got.PKey, test.want, test.got)
			}
			if status == mad.StatusOK && (got.SL == 4) != (got.PKey.Base() == 0x2A00) {
				t.Errorf("SL %v of partition %v", got.SL, got.PKey)
			}
		})
	}
	if n := s.count(t, question{from: h[3].Info.LID, attr: mad.AttrNodeRecord}); n != 6 { // all but the other limited one
		t.Errorf("a limited member sees %d nodes, want 6", n)
	}
	if n := s.count(t, question{from: h[3].Info.LID, attr: mad.AttrNodeRecord, key: 1}); n != 7 {
		t.Errorf("a trusted one sees %d nodes, want 7", n)
	}
}

// TestLMC: each pair of LIDs is a path, those with the same path bits first.
func TestLMC(t *testing.T) {
	s := serverOf(t, subnetOf(t, "fat-tree:k=4", 2), admin.Config{})
	a, b := s.hosts()[0], s.hosts()[9]
	all := table(t, s, pathQuestion(a, b, 0, mad.PathRecord{}), mad.ParsePathRecord)
	seen := map[[2]ib.LID]bool{}
	for i, p := range all {
		seen[[2]ib.LID{p.SLID, p.DLID}] = true
		if i < 4 && p.SLID-a.Info.LID != p.DLID-b.Info.LID || p.Preference != uint8(i) {
			t.Errorf("path %d: %v to %v, preference %d", i, p.SLID, p.DLID, p.Preference)
		}
	}
	if len(all) != 16 || len(seen) != 16 {
		t.Errorf("%d paths, %d different ones, want 16", len(all), len(seen))
	}
	three := pathQuestion(a, b, mad.PathRecordNumbPath, mad.PathRecord{NumbPath: 3})
	if n := s.count(t, three); n != 3 {
		t.Errorf("%d paths, want 3", n)
	}
	one := pathQuestion(a, b, mad.PathRecordDLID, mad.PathRecord{DLID: b.Info.LID + 2})
	if p, status := get(t, s, one, mad.ParsePathRecord); status != mad.StatusOK || p.DLID != b.Info.LID+2 {
		t.Errorf("status %v, DLID %v", status, p.DLID)
	}
	// A node is found by each of its LIDs.
	if n := s.count(t, question{attr: mad.AttrNodeRecord, mask: mad.NodeRecordLID, data: mad.NodeRecord{LID: a.Info.LID + 3}}); n != 1 {
		t.Errorf("%d nodes, want 1", n)
	}
}

// TestUnroutable: where the tables do not lead to a port, there is no path; and
// where they do not lead back, none that is reversible. Loops end.
func TestUnroutable(t *testing.T) {
	subnet := subnetOf(t, "fat-tree:k=4", 0)
	s := serverOf(t, subnet, admin.Config{})
	a, b := s.hosts()[0], s.hosts()[9]
	change := func(port uint8) {
		for i := range subnet.Nodes {
			if n := &subnet.Nodes[i]; n.IsSwitch() && int32(i) != a.Peer {
				n.LFT = append([]uint8(nil), n.LFT...)
				n.LFT[a.Info.LID] = port
			}
		}
		s.Update(s.now, snapshotOf(t, subnet))
	}
	for _, port := range []uint8{mad.NoPort, 200, 0, 1, 3} { // unknown, no such port, the switch itself, loops
		change(port)
		if _, status := get(t, s, pathQuestion(b, a, 0, mad.PathRecord{}), mad.ParsePathRecord); status != mad.StatusSANoRecords {
			t.Errorf("port %d: status %v, want no records", port, status)
		}
		if _, status := get(t, s, pathQuestion(a, a, 0, mad.PathRecord{}), mad.ParsePathRecord); status != mad.StatusOK {
			t.Errorf("port %d: status %v of the path to itself", port, status)
		}
		if p, status := get(t, s, pathQuestion(a, b, 0, mad.PathRecord{}), mad.ParsePathRecord); status != mad.StatusOK || p.Reversible {
			t.Errorf("port %d: status %v, reversible %v", port, status, p.Reversible)
		}
		if _, status := get(t, s, pathQuestion(a, b, mad.PathRecordReversible, mad.PathRecord{Reversible: true}), mad.ParsePathRecord); status != mad.StatusSANoRecords {
			t.Errorf("port %d: status %v for a reversible path", port, status)
		}
	}
}

func TestMultiPath(t *testing.T) {
	s := tree(t)
	h := s.hosts()
	q := mad.MultiPathRecord{SGIDs: []ib.GID{gid(h[0]), gid(h[1])}, DGIDs: []ib.GID{gid(h[2]), gid(h[3]), gid(h[9])}, NumbPath: 1}
	const counts = mad.MultiPathRecordSGIDCount | mad.MultiPathRecordDGIDCount
	r := s.ask(t, question{method: mad.MethodGetMulti, attr: mad.AttrMultiPathRecord, mask: counts | mad.MultiPathRecordNumbPath, data: q})
	if r.status != mad.StatusOK || r.head.Attr != mad.AttrPathRecord || r.head.Method != mad.MethodGetMultiResp {
		t.Fatalf("answer %+v", r.head)
	}
	var pairs [][2]ib.LID
	for p, err := range mad.Table(r.data, r.sa.AttributeOffset, mad.ParsePathRecord) {
		if err != nil {
			t.Fatal(err)
		}
		pairs = append(pairs, [2]ib.LID{p.SLID, p.DLID})
	}
	var want [][2]ib.LID
	for _, a := range []int{0, 1} {
		for _, b := range []int{2, 3, 9} {
			want = append(want, [2]ib.LID{h[a].Info.LID, h[b].Info.LID})
		}
	}
	if diff := cmp.Diff(want, pairs); diff != "" {
		t.Error(diff)
	}
	q.DGIDs[1] = ib.NewGID(ib.DefaultPrefix, 77)
	r = s.ask(t, question{method: mad.MethodGetMulti, attr: mad.AttrMultiPathRecord, mask: counts, data: q})
	if r.status != mad.StatusSAInvalidGID || r.head.Attr != mad.AttrMultiPathRecord {
		t.Errorf("unknown GID: %+v", r.head)
	}
}

// TestPathWork: a request may not have more paths looked at than a processor
// does in the blink of an eye.
func TestPathWork(t *testing.T) {
	s := serverOf(t, subnetOf(t, "fat-tree:k=4", 7), admin.Config{})
	impossible := question{
		method: mad.MethodGetTable, attr: mad.AttrPathRecord, mask: mad.PathRecordMTUSelector | mad.PathRecordMTU,
		data: mad.PathRecord{MTUSelector: mad.SelectGreater, MTU: ib.MTU4096},
	}
	if r := s.ask(t, impossible); r.status != mad.StatusSANoResources {
		t.Errorf("status %v, want no resources", r.status)
	}
}

// TestGroupPath: the path to a group is for ports in its partition, with the
// group's parameters.
func TestGroupPath(t *testing.T) {
	subnet := subnetOf(t, "single:hosts=4", 0)
	subnet.Nodes[1].Ports[1].PKeys = []ib.PKey{0x8002, 0xFFFF}
	subnet.Nodes[2].Ports[1].PKeys = []ib.PKey{0x8001, 0xFFFF}
	subnet.Nodes[2].Ports[1].Info.NeighborMTU = ib.MTU2048
	s := serverOf(t, subnet, admin.Config{})
	creator := s.hosts()[0]
	q := join(creator, mad.MethodSet, mad.JoinFull)
	record := q.data.(mad.MCMemberRecord)
	record.SL, record.TClass, record.FlowLabel = 3, 9, 77
	q.data = record
	if r := s.ask(t, q); r.status != mad.StatusOK {
		t.Fatalf("status %v", r.status)
	}
	for _, test := range []struct {
		name string
		mask mad.ComponentMask
		q    mad.PathRecord
		want mad.Status
		n    int
	}{
		{"from everywhere", 0, mad.PathRecord{}, 0, 4}, // but the slow one
		{"from a port", mad.PathRecordSGID, mad.PathRecord{SGID: gid(creator)}, 0, 1},
		{"its MLID", mad.PathRecordDLID, mad.PathRecord{DLID: 0xC000}, 0, 4},
		{"another MLID", mad.PathRecordDLID, mad.PathRecord{DLID: 0xC001}, mad.StatusSARequestInvalid, 0},
		{"its partition", mad.PathRecordPKey, mad.PathRecord{PKey: 0x7FFF}, 0, 4},
		{"another partition", mad.PathRecordPKey, mad.PathRecord{PKey: 0x8001}, 0, 0},
		{"another SL", mad.PathRecordSL, mad.PathRecord{SL: 2}, 0, 0},
		{"too fast", mad.PathRecordRateSelector | mad.PathRecordRate, mad.PathRecord{RateSelector: mad.SelectGreater, Rate: ib.Rate200}, 0, 0},
	} {
		test.q.DGID = mgid.GID()
		r := s.ask(t, question{method: mad.MethodGetTable, attr: mad.AttrPathRecord, mask: test.mask | mad.PathRecordDGID, data: test.q})
		if r.status != test.want || test.want == 0 && len(r.data) != 64*test.n {
			t.Errorf("%s: status %v, %d bytes; want %v, %d paths", test.name, r.status, len(r.data), test.want, test.n)
		}
		if r.status != mad.StatusOK {
			continue
		}
		for p, err := range mad.Table(r.data, r.sa.AttributeOffset, mad.ParsePathRecord) {
			if err != nil || p.SL != 3 || p.TClass != 9 || p.FlowLabel != 77 || p.DLID != 0xC000 {
				t.Errorf("%s: %+v, %v", test.name, p, err)
				break
			}
		}
	}
}

// TestEchoes: what a path does not depend on comes back as it was asked for.
func TestEchoes(t *testing.T) {
	s := tree(t)
	h := s.hosts()
	want := mad.PathRecord{ServiceID: 5, QoSClass: 6, TClass: 7, FlowLabel: 8, HopLimit: 9}
	const mask = mad.PathRecordServiceID | mad.PathRecordQoSClass | mad.PathRecordTClass | mad.PathRecordFlowLabel | mad.PathRecordHopLimit
	echoed := func(p mad.PathRecord) mad.PathRecord {
		return mad.PathRecord{ServiceID: p.ServiceID, QoSClass: p.QoSClass, TClass: p.TClass, FlowLabel: p.FlowLabel, HopLimit: p.HopLimit}
	}
	p, _ := get(t, s, pathQuestion(h[0], h[1], mask, want), mad.ParsePathRecord)
	if diff := cmp.Diff(want, echoed(p)); diff != "" {
		t.Error(diff)
	}
	if p, _ := get(t, s, pathQuestion(h[0], h[1], 0, want), mad.ParsePathRecord); echoed(p) != (mad.PathRecord{}) {
		t.Errorf("not asked for: %+v", p)
	}
	const multi = mad.MultiPathRecordSGIDCount | mad.MultiPathRecordDGIDCount | mad.MultiPathRecordServiceID | mad.MultiPathRecordQoSClass |
		mad.MultiPathRecordTClass | mad.MultiPathRecordFlowLabel | mad.MultiPathRecordHopLimit
	q := mad.MultiPathRecord{
		ServiceID: 5, QoSClass: 6, TClass: 7, FlowLabel: 8, HopLimit: 9, SGIDs: []ib.GID{gid(h[0])}, DGIDs: []ib.GID{gid(h[1])}, RawTraffic: true,
	}
	r := s.ask(t, question{method: mad.MethodGetMulti, attr: mad.AttrMultiPathRecord, mask: multi, data: q})
	if p, err := mad.ParsePathRecord(r.data); err != nil || !cmp.Equal(want, echoed(p)) {
		t.Errorf("%v, %+v", err, p)
	}
	r = s.ask(t, question{method: mad.MethodGetMulti, attr: mad.AttrMultiPathRecord, mask: multi | mad.MultiPathRecordRawTraffic, data: q})
	if r.status != mad.StatusOK || len(r.data) > 0 {
		t.Errorf("raw packets: status %v, %d bytes", r.status, len(r.data))
	}
}
