package admin_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/ib"
	"heddle/mad"
	"heddle/sm/admin"
	"heddle/sm/group"
)

// guidInfo asks for aliases at the indexes of a block, with their GUIDs.
func guidInfo(p admin.Port, block uint8, guids map[int]ib.GUID) question {
	record := mad.GUIDInfoRecord{LID: p.Info.LID, Block: block}
	mask := mad.GUIDInfoRecordLID | mad.GUIDInfoRecordBlock
	for i, guid := range guids {
		record.GUIDs[i] = guid
		mask |= mad.GUIDInfoRecordGUID << i
	}
	return question{from: p.Info.LID, method: mad.MethodSet, attr: mad.AttrGUIDInfoRecord, mask: mask, data: record}
}

// change carries out a Set or Delete, and gives the block that is answered.
func (s *server) change(t *testing.T, q question) (mad.GUIDInfo, mad.Status) {
	t.Helper()
	r := s.ask(t, q)
	record, err := mad.ParseGUIDInfoRecord(r.data)
	if err != nil {
		t.Fatal(err)
	}
	return record.GUIDs, r.status
}

// TestAliases: a port gets the GUIDs that it asks for, if nobody has them, and
// is found by them.
func TestAliases(t *testing.T) {
	subnet := subnetOf(t, "single:hosts=4", 0)
	s := serverOf(t, subnet, admin.Config{})
	a, b := s.hosts()[0], s.hosts()[1]
	got, status := s.change(t, guidInfo(b, 0, map[int]ib.GUID{1: 0x77, 2: a.GUID, 3: 0}))
	if status != mad.StatusOK || got[0] != b.GUID || got[1] != 0x77 || got[2] != 0 || got[3] == 0 {
		t.Fatalf("%v, %v", got, status)
	}
	made := got[3]
	if got, _ = s.change(t, guidInfo(a, 1, map[int]ib.GUID{0: 0x77, 1: 0x78, 2: made})); got != (mad.GUIDInfo{1: 0x78}) {
		t.Errorf("of another port: %v", got)
	}
	alias := ib.NewGID(ib.DefaultPrefix, 0x77)
	q := question{attr: mad.AttrPathRecord, mask: bothGIDs, data: mad.PathRecord{SGID: gid(a), DGID: alias}}
	if p, status := get(t, s, q, mad.ParsePathRecord); status != mad.StatusOK || p.DLID != b.Info.LID || p.DGID != alias {
		t.Errorf("status %v, path %+v", status, p)
	}
	held, _ := get(t, s, question{attr: mad.AttrGUIDInfoRecord, mask: mad.GUIDInfoRecordLID | mad.GUIDInfoRecordBlock, data: mad.GUIDInfoRecord{LID: b.Info.LID}}, mad.ParseGUIDInfoRecord)
	if want := (mad.GUIDInfo{b.GUID, 0x77, 0, made}); held.GUIDs != want {
		t.Errorf("the port holds %v, want %v", held.GUIDs, want)
	}
	del := guidInfo(b, 0, map[int]ib.GUID{1: 0x77})
	del.method = mad.MethodDelete
	if got, status := s.change(t, del); status != mad.StatusOK || got != (mad.GUIDInfo{b.GUID, 0, 0, made}) {
		t.Errorf("after Delete %v, %v", got, status)
	}
	if _, status := get(t, s, q, mad.ParsePathRecord); status != mad.StatusSAInvalidGID {
		t.Errorf("path to a deleted alias: %v", status)
	}
	if diff := cmp.Diff(map[ib.GUID][]ib.GUID{
		b.GUID: {0, 0, 0, made}, a.GUID: {8: 0, 9: 0x78},
	}, s.Aliases()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestMadeAliasesGoOn: who has an alias made up gets another one than any before,
// though it was given back, so that nobody has to look from the first on.
func TestMadeAliasesGoOn(t *testing.T) {
	s := serverOf(t, subnetOf(t, "single:hosts=4", 0), admin.Config{})
	p, seen := s.hosts()[0], map[ib.GUID]bool{}
	for range 20 {
		got, status := s.change(t, guidInfo(p, 0, map[int]ib.GUID{1: 0}))
		if status != mad.StatusOK || seen[got[1]] || got[1] == 0 {
			t.Fatalf("%v, %v: made before: %v", got, status, seen[got[1]])
		}
		seen[got[1]] = true
		del := guidInfo(p, 0, map[int]ib.GUID{1: got[1]})
		del.method = mad.MethodDelete
		if _, status := s.change(t, del); status != mad.StatusOK {
			t.Fatal(status)
		}
	}
}

// TestAliasRefused: what is not a port's to ask for, or malformed.
func TestAliasRefused(t *testing.T) {
	subnet := subnetOf(t, "single:hosts=4", 0)
	deaf := &agents{held: map[admin.PortTable][64]byte{}, deaf: map[int32]bool{}}
	subnet.Tables = deaf
	s := serverOf(t, subnet, admin.Config{})
	a, b := s.hosts()[0], s.hosts()[1]
	one := func(p admin.Port) question { return guidInfo(p, 0, map[int]ib.GUID{1: 0x77}) }
	for i, n := range subnet.Nodes {
		deaf.deaf[int32(i)] = !n.IsSwitch() && n.Ports[1].GUID == s.hosts()[2].GUID
	}
	for _, test := range []struct {
		name   string
		q      question
		change func(q *question)
		want   mad.Status
	}{
		{"of another", one(b), func(q *question) { q.from = a.Info.LID }, mad.StatusSADenied},
		{"of another, trusted", one(b), func(q *question) { q.from, q.key = a.Info.LID, 1 }, mad.StatusOK},
		{"no LID", one(a), func(q *question) { q.mask &^= mad.GUIDInfoRecordLID }, mad.StatusSAInsufficientFields},
		{"no block", one(a), func(q *question) { q.mask &^= mad.GUIDInfoRecordBlock }, mad.StatusSAInsufficientFields},
		{"a block beyond the table", guidInfo(a, 2, map[int]ib.GUID{1: 0x99}), nil, mad.StatusSARequestInvalid},
		{"the port's own GUID", guidInfo(a, 0, map[int]ib.GUID{0: 0x99}), nil, mad.StatusSARequestInvalid},
		{"LID of nobody", one(a), func(q *question) { q.data = mad.GUIDInfoRecord{LID: 99} }, mad.StatusSARequestInvalid},
		{"the port does not answer", guidInfo(s.hosts()[2], 0, map[int]ib.GUID{1: 0x55}), nil, mad.StatusBusy},
	} {
		if test.change != nil {
			test.change(&test.q)
		}
		if r := s.ask(t, test.q); r.status != test.want {
			t.Errorf("%s: status %v, want %v", test.name, r.status, test.want)
		}
	}
	if diff := cmp.Diff(map[ib.GUID][]ib.GUID{b.GUID: {0, 0x77}}, s.Aliases()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestAliasesAreKept: through a restart, and until the port goes.
func TestAliasesAreKept(t *testing.T) {
	var kept []admin.Change
	journal := func(c admin.Change) { kept = append(kept, c) }
	subnet := subnetOf(t, "single:hosts=4", 0)
	s := serverOf(t, subnet, admin.Config{Journal: journal})
	a := s.hosts()[0]
	if _, status := s.change(t, guidInfo(a, 0, map[int]ib.GUID{2: 0x77})); status != mad.StatusOK {
		t.Fatal(status)
	}
	next := serverOf(t, subnet, admin.Config{Journal: journal})
	for _, c := range kept {
		if err := next.Restore(c); err != nil {
			t.Fatal(err)
		}
	}
	want := map[ib.GUID][]ib.GUID{a.GUID: {0, 0, 0x77}}
	if diff := cmp.Diff(want, next.Aliases()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, wrong := range []admin.Change{
		{Bucket: admin.BucketAliases, Key: []byte{1}},
		{Bucket: admin.BucketAliases, Key: make([]byte, 8), Value: make([]byte, 9)},
		{Bucket: admin.BucketAliases, Key: []byte{0, 0, 0, 0, 0, 0, 0, 5}, Value: []byte{0, 0, 0, 0, 0, 0, 0, 0x77}},
	} {
		if err := next.Restore(wrong); !errors.Is(err, admin.ErrKept) {
			t.Errorf("%v: %v", wrong, err)
		}
	}
	if diff := cmp.Diff(want, next.Aliases()); diff != "" {
		t.Errorf("after faulty ones (-want +got):\n%s", diff)
	}
	kept = nil
	subnet.Nodes = append([]admin.Node(nil), subnet.Nodes...)
	for i := range subnet.Nodes {
		if subnet.Nodes[i].Info.NodeType == mad.NodeCA && subnet.Nodes[i].Ports[1].GUID == a.GUID {
			subnet.Nodes[i].Ports = []admin.Port{{}, {}}
		}
	}
	changes := next.Update(next.now, snapshotOf(t, subnet))
	if len(changes.Gone) != 2 || len(kept) != 1 || kept[0].Value != nil || len(next.Aliases()) != 0 {
		t.Errorf("gone %v, kept %v, aliases %v", changes.Gone, kept, next.Aliases())
	}
}

// TestAliasInGroup: a port is in a group by its alias and by itself, and the
// alias leaves when it is taken away.
func TestAliasInGroup(t *testing.T) {
	s := serverOf(t, subnetOf(t, "single:hosts=4", 0), admin.Config{})
	a := s.hosts()[0]
	if _, status := s.change(t, guidInfo(a, 0, map[int]ib.GUID{1: 0x77})); status != mad.StatusOK {
		t.Fatal(status)
	}
	alias, mgid := ib.NewGID(ib.DefaultPrefix, 0x77), ib.MustParseMGID("ff12:a01c::1")
	for _, port := range []ib.GID{gid(a), alias} {
		record := mad.MCMemberRecord{MGID: mgid, PortGID: port, JoinState: 1, PKey: ib.DefaultPKey}
		r := s.ask(t, question{method: mad.MethodSet, attr: mad.AttrMCMemberRecord, mask: aliasCreate, data: record})
		if r.status != mad.StatusOK {
			t.Fatalf("%v joins: %v", port, r.status)
		}
	}
	members := func() (list []ib.GID) {
		s.Groups(func(g *group.Table) {
			for m := range g.Members(mgid) {
				list = append(list, m.Port)
			}
		})
		return list
	}
	if got := members(); len(got) != 2 {
		t.Fatalf("members %v", got)
	}
	del := guidInfo(a, 0, map[int]ib.GUID{1: 0})
	del.method = mad.MethodDelete
	if _, status := s.change(t, del); status != mad.StatusOK {
		t.Fatal(status)
	}
	if got := members(); len(got) != 1 || got[0] != gid(a) {
		t.Errorf("members %v", got)
	}
}

const aliasCreate = mad.MCMemberRecordMGID | mad.MCMemberRecordPortGID | mad.MCMemberRecordJoinState | mad.MCMemberRecordPKey |
	mad.MCMemberRecordQKey | mad.MCMemberRecordSL | mad.MCMemberRecordFlowLabel | mad.MCMemberRecordTClass

// TestTablesAreReadOnce: what is not known is read, at once and one time; what
// does not answer is left out.
func TestTablesAreReadOnce(t *testing.T) {
	subnet := subnetOf(t, "single:hosts=4", 0)
	nodes := &agents{held: map[admin.PortTable][64]byte{}, deaf: map[int32]bool{0: true}, simple: map[int32]bool{1: true}}
	subnet.Tables = nodes
	s := serverOf(t, subnet, admin.Config{})
	q := question{method: mad.MethodGetTable, attr: mad.AttrSLtoVLRecord}
	of := func(i int) int {
		if subnet.Nodes[i].IsSwitch() {
			return 25
		}
		return 1
	}
	all := 4 + 25
	for i, reads := range []int{all, all + of(0)} { // the deaf one is asked again
		if got := s.count(t, q); got != all-of(0)-of(1) || nodes.reads != reads {
			t.Errorf("round %d: %d records, %d tables read, want %d", i, got, nodes.reads, reads)
		}
	}
	if admin.MayBlock(mad.AttrPathRecord) || !admin.MayBlock(q.attr) {
		t.Error("which requests may block")
	}
}

// TestExternalPKeys: the tables by which ports of a switch enforce partitions.
func TestExternalPKeys(t *testing.T) {
	subnet := subnetOf(t, "single:hosts=4", 0)
	for i := range subnet.Nodes {
		if subnet.Nodes[i].IsSwitch() {
			info := *subnet.Nodes[i].Switch
			info.PartitionEnforcementCap = 40
			subnet.Nodes[i].Switch = &info
		}
	}
	s := serverOf(t, subnet, admin.Config{})
	if got, want := s.count(t, question{attr: mad.AttrPKeyRecord, key: 1}), 5+4*2; got != want {
		t.Errorf("%d blocks, want %d", got, want)
	}
	q := question{attr: mad.AttrPKeyRecord, key: 1, mask: mad.PKeyRecordPort | mad.PKeyRecordBlock, data: mad.PKeyRecord{Port: 3, Block: 1}}
	if got := s.count(t, q); got != 1 {
		t.Errorf("%d blocks of one port and number", got)
	}
}
