package admin_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/ib"
	"heddle/mad"
	"heddle/sm/admin"
	"heddle/sm/group"
)

// tree is a fat tree of 16 adapters and 20 switches with 48 cables.
func tree(t testing.TB) *server { return serverOf(t, subnetOf(t, "fat-tree:k=4", 0), admin.Config{}) }

// count asks for a table and tells how many records it has.
func (s *server) count(t testing.TB, q question) int {
	t.Helper()
	q.method = mad.MethodGetTable
	r := s.ask(t, q)
	if r.status != mad.StatusOK {
		t.Fatalf("%s: status %v", q.attr.Name(mad.ClassSA), r.status)
	}
	if len(r.data) == 0 {
		return 0
	}
	return len(r.data) / (int(r.sa.AttributeOffset) * 8)
}

func TestTables(t *testing.T) {
	s := tree(t)
	host, leaf := s.ends[0], s.subnet.Nodes[s.hosts()[0].Peer]
	lid, sw := host.Info.LID, leaf.Ports[0].Info.LID
	for _, test := range []struct {
		name string
		q    question
		want int
	}{
		{"nodes", question{attr: mad.AttrNodeRecord}, 36},
		{"node of a LID", question{attr: mad.AttrNodeRecord, mask: mad.NodeRecordLID, data: mad.NodeRecord{LID: lid}}, 1},
		{"node of no LID", question{attr: mad.AttrNodeRecord, mask: mad.NodeRecordLID, data: mad.NodeRecord{LID: 40000}}, 0},
		{"node of LID 0", question{attr: mad.AttrNodeRecord, mask: mad.NodeRecordLID, data: mad.NodeRecord{}}, 0},
		{"switches", question{attr: mad.AttrNodeRecord, mask: mad.NodeRecordNodeType, data: mad.NodeRecord{Info: mad.NodeInfo{NodeType: mad.NodeSwitch}}}, 20},
		{"node by port GUID", question{attr: mad.AttrNodeRecord, mask: mad.NodeRecordPortGUID, data: mad.NodeRecord{Info: mad.NodeInfo{PortGUID: host.GUID}}}, 1},
		{"node by LID and another GUID", question{attr: mad.AttrNodeRecord, mask: mad.NodeRecordLID | mad.NodeRecordPortGUID, data: mad.NodeRecord{LID: lid, Info: mad.NodeInfo{PortGUID: 1}}}, 0},
		{"node by name", question{attr: mad.AttrNodeRecord, mask: mad.NodeRecordNodeDescription, data: mad.NodeRecord{Description: leaf.Description}}, 1},
		{"ports", question{attr: mad.AttrPortInfoRecord}, 16 + 20*5},
		{"ports of a switch", question{attr: mad.AttrPortInfoRecord, mask: mad.PortInfoRecordLID, data: mad.PortInfoRecord{LID: sw}}, 5},
		{"port of a switch", question{attr: mad.AttrPortInfoRecord, mask: mad.PortInfoRecordLID | mad.PortInfoRecordPortNum, data: mad.PortInfoRecord{LID: sw, PortNum: 3}}, 1},
		{"port with options", question{attr: mad.AttrPortInfoRecord, mask: mad.PortInfoRecordLID | mad.PortInfoRecordOptions, data: mad.PortInfoRecord{LID: lid, Options: 0x80}}, 1},
		{"ports that are down", question{attr: mad.AttrPortInfoRecord, mask: mad.PortInfoRecordPortState, data: mad.PortInfoRecord{Info: mad.PortInfo{PortState: mad.PortDown}}}, 0},
		{"links", question{attr: mad.AttrLinkRecord}, 96},
		{"links of a switch", question{attr: mad.AttrLinkRecord, mask: mad.LinkRecordFromLID, data: mad.LinkRecord{FromLID: sw}}, 4},
		{"link to an adapter", question{attr: mad.AttrLinkRecord, mask: mad.LinkRecordToLID, data: mad.LinkRecord{ToLID: lid}}, 1},
		{"managers", question{attr: mad.AttrSMInfoRecord}, 1},
		{"switch infos", question{attr: mad.AttrSwitchInfoRecord}, 20},
		{"switch info of an adapter", question{attr: mad.AttrSwitchInfoRecord, mask: mad.SwitchInfoRecordLID, data: mad.SwitchInfoRecord{LID: lid}}, 0},
		{"forwarding tables", question{attr: mad.AttrLFTRecord}, 20},
		{"block of a forwarding table", question{attr: mad.AttrLFTRecord, mask: mad.LFTRecordLID | mad.LFTRecordBlock, data: mad.LFTRecord{LID: sw}}, 1},
		{"block beyond the table", question{attr: mad.AttrLFTRecord, mask: mad.LFTRecordLID | mad.LFTRecordBlock, data: mad.LFTRecord{LID: sw, Block: 1}}, 0},
		{"multicast tables", question{attr: mad.AttrMFTRecord}, 0},
		{"SL to VL", question{attr: mad.AttrSLtoVLRecord}, 20*5*5 + 16},
		{"SL to VL of a port", question{attr: mad.AttrSLtoVLRecord, mask: mad.SLtoVLRecordLID, data: mad.SLtoVLRecord{LID: lid}}, 1},
		{"arbitration", question{attr: mad.AttrVLArbitrationRecord}, 232},
		{"arbitration, high", question{attr: mad.AttrVLArbitrationRecord, mask: mad.VLArbitrationRecordBlock, data: mad.VLArbitrationRecord{Block: mad.VLArbitrationHighFirst}}, 116},
		{"P_Keys of the own port", question{attr: mad.AttrPKeyRecord}, 1},
		{"P_Keys, trusted", question{attr: mad.AttrPKeyRecord, key: 1}, 36},
		{"GUIDs", question{attr: mad.AttrGUIDInfoRecord}, 36 * 2},
		{"paths from a port", question{attr: mad.AttrPathRecord, mask: mad.PathRecordSGID, data: mad.PathRecord{SGID: gid(host)}}, 36},
		{"all paths", question{attr: mad.AttrPathRecord}, 36 * 36},
		{"groups", question{attr: mad.AttrMCMemberRecord}, 0},
		{"services", question{attr: mad.AttrServiceRecord}, 0},
		{"subscriptions", question{attr: mad.AttrInformInfoRecord}, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := s.count(t, test.q); got != test.want {
				t.Errorf("%d records, want %d", got, test.want)
			}
		})
	}
}

func TestContents(t *testing.T) {
	s := tree(t)
	host := s.ends[0]
	leaf := s.subnet.Nodes[s.hosts()[0].Peer]
	byLID := mad.NodeRecordLID
	node, _ := get(t, s, question{attr: mad.AttrNodeRecord, mask: byLID, data: mad.NodeRecord{LID: host.Info.LID}}, mad.ParseNodeRecord)
	if node.Info.PortGUID != host.GUID || node.Info.LocalPortNum != 1 || node.LID != host.Info.LID {
		t.Errorf("node %+v", node)
	}
	link, _ := get(t, s, question{attr: mad.AttrLinkRecord, mask: byLID, data: mad.LinkRecord{FromLID: host.Info.LID}}, mad.ParseLinkRecord)
	want := mad.LinkRecord{FromLID: host.Info.LID, FromPort: 1, ToLID: leaf.Ports[0].Info.LID, ToPort: host.PeerPort}
	if diff := cmp.Diff(want, link); diff != "" {
		t.Error(diff)
	}
	lft, _ := get(t, s, question{attr: mad.AttrLFTRecord, mask: byLID, data: mad.LFTRecord{LID: want.ToLID}}, mad.ParseLFTRecord)
	if !slices.Equal(lft.Ports[:len(leaf.LFT)], leaf.LFT) || lft.Ports[63] != mad.NoPort {
		t.Errorf("table %v, want %v", lft.Ports, leaf.LFT)
	}
	info, _ := get(t, s, question{attr: mad.AttrClassPortInfo}, func(b []byte) (classPortInfo, error) {
		i, err := mad.ParseClassPortInfo(b)
		return classPortInfo{i}, err
	})
	if info.ClassVersion != 2 || info.CapabilityMask&mad.SACapUDMulticast == 0 || info.RespTimeValue != 16 {
		t.Errorf("ClassPortInfo %+v", info)
	}
}

// classPortInfo is a record for get.
type classPortInfo struct{ mad.ClassPortInfo }

func (classPortInfo) AttrID() mad.AttrID { return mad.AttrClassPortInfo }

// TestSecrets: keys are for those who show the SM_Key.
func TestSecrets(t *testing.T) {
	s := tree(t)
	lid := s.ends[0].Info.LID
	for _, key := range []mad.SMKey{0, 1} {
		port, _ := get(t, s, question{attr: mad.AttrPortInfoRecord, mask: mad.PortInfoRecordLID, key: key, data: mad.PortInfoRecord{LID: lid}}, mad.ParsePortInfoRecord)
		if (port.Info.MKey == 9) != (key == 1) {
			t.Errorf("SM_Key %v: M_Key %v", key, port.Info.MKey)
		}
		manager, _ := get(t, s, question{attr: mad.AttrSMInfoRecord, key: key}, mad.ParseSMInfoRecord)
		if (manager.Info.SMKey == 7) != (key == 1) {
			t.Errorf("SM_Key %v: SM_Key %v", key, manager.Info.SMKey)
		}
	}
}

func TestMatchCapabilities(t *testing.T) {
	subnet := subnetOf(t, "single:hosts=4", 0)
	for i := range subnet.Nodes {
		for number := range subnet.Nodes[i].Ports {
			subnet.Nodes[i].Ports[number].Info.CapabilityMask = mad.CapIsSM | mad.CapTrap
		}
	}
	s := serverOf(t, subnet, admin.Config{})
	q := question{attr: mad.AttrPortInfoRecord, mask: mad.PortInfoRecordCapabilityMask, data: mad.PortInfoRecord{Info: mad.PortInfo{CapabilityMask: mad.CapIsSM}}}
	if n := s.count(t, q); n != 0 {
		t.Errorf("%d ports have that mask, want none", n)
	}
	q.mod = mad.PortInfoMatchCapabilities
	if n := s.count(t, q); n != 9 {
		t.Errorf("%d ports have that bit, want 9", n)
	}
}

// held is a multicast forwarding table with two blocks.
type held struct{ of ib.GUID }

func (h held) MFT(sw ib.GUID, block uint16, position uint8) (mad.MulticastForwarding, bool) {
	return mad.MulticastForwarding{0: block<<1 | 1}, sw == h.of && block < 2 && position == 0
}

func TestMulticastTables(t *testing.T) {
	subnet := subnetOf(t, "fat-tree:k=4", 0)
	at := slices.IndexFunc(subnet.Nodes, func(n admin.Node) bool { return n.IsSwitch() })
	subnet.MFTs = held{subnet.Nodes[at].Info.NodeGUID}
	s := serverOf(t, subnet, admin.Config{})
	all := table(t, s, question{attr: mad.AttrMFTRecord}, mad.ParseMFTRecord)
	lid := subnet.Nodes[at].Ports[0].Info.LID
	want := []mad.MFTRecord{
		{LID: lid, Block: 0, Ports: mad.MulticastForwarding{1}}, {LID: lid, Block: 1, Ports: mad.MulticastForwarding{3}},
	}
	if diff := cmp.Diff(want, all); diff != "" {
		t.Error(diff)
	}
	for _, test := range []struct {
		mask mad.ComponentMask
		q    mad.MFTRecord
		want int
	}{
		{mad.MFTRecordBlock, mad.MFTRecord{Block: 1}, 1},
		{mad.MFTRecordBlock, mad.MFTRecord{Block: 2}, 0},
		{mad.MFTRecordPosition, mad.MFTRecord{}, 2},
		{mad.MFTRecordPosition, mad.MFTRecord{Position: 1}, 0},
		{mad.MFTRecordLID, mad.MFTRecord{LID: lid}, 2},
	} {
		if n := s.count(t, question{attr: mad.AttrMFTRecord, mask: test.mask, data: test.q}); n != test.want {
			t.Errorf("%v %+v: %d blocks, want %d", test.mask, test.q, n, test.want)
		}
	}
	small := *subnet.Nodes[at].Switch
	small.MulticastFDBCap = 32
	subnet.Nodes[at].Switch = &small
	s.Update(s.now, snapshotOf(t, subnet))
	if n := s.count(t, question{attr: mad.AttrMFTRecord}); n != 1 {
		t.Errorf("a table of 32 MLIDs has %d blocks", n)
	}
}

// TestPartitionsAreClosed: who is in another partition learns nothing of a port,
// its groups and its services; those whom the server trusts learn all.
func TestPartitionsAreClosed(t *testing.T) {
	subnet := subnetOf(t, "single:hosts=3", 0)
	keys := [][]ib.PKey{{0x8001}, {0x8001}, {0x8002}}
	for i, at := 0, 0; i < len(subnet.Nodes); i++ {
		n := &subnet.Nodes[i]
		if n.IsSwitch() {
			n.Ports[0].PKeys = []ib.PKey{0x8001, 0x8002}
			continue
		}
		if at == 0 {
			subnet.Managers[0].LID = n.Ports[1].Info.LID
		}
		n.Ports[1].PKeys = keys[at]
		at++
	}
	s := serverOf(t, subnet, admin.Config{})
	a, b, c := s.hosts()[0], s.hosts()[1], s.hosts()[2]
	q := join(a, mad.MethodSet, mad.JoinFull)
	record := q.data.(mad.MCMemberRecord)
	record.PKey, record.MemberCount = 0x8001, 2
	q.data, q.mask = record, q.mask|mad.MCMemberRecordMemberCount
	offer := service(a)
	offer.ServicePKey = 0x8001
	for _, q := range []question{q, subscribe(a, everything), {from: a.Info.LID, method: mad.MethodSet, attr: mad.AttrServiceRecord, mask: serviceMask, data: offer}} {
		if r := s.ask(t, q); r.status != mad.StatusOK {
			t.Fatalf("%s: status %v", q.attr.Name(mad.ClassSA), r.status)
		}
	}
	for _, test := range []struct {
		q                      question
		inside, other, trusted int
	}{
		{question{attr: mad.AttrNodeRecord}, 3, 2, 4},
		{question{attr: mad.AttrNodeRecord, mask: mad.NodeRecordLID, data: mad.NodeRecord{LID: a.Info.LID}}, 1, 0, 1},
		{question{attr: mad.AttrLinkRecord}, 4, 2, 6},
		{question{attr: mad.AttrSMInfoRecord}, 1, 0, 1},
		{question{attr: mad.AttrMCMemberRecord}, 1, 0, 1},
		{question{attr: mad.AttrMCMemberRecord, mask: mad.MCMemberRecordMGID, data: record}, 1, 0, 1},
		{question{attr: mad.AttrServiceRecord}, 1, 0, 1},
		{question{attr: mad.AttrInformInfoRecord}, 1, 0, 1},
		{question{attr: mad.AttrPathRecord, mask: bothGIDs, data: mad.PathRecord{SGID: gid(a), DGID: gid(b)}}, 1, 0, 1},
		{question{attr: mad.AttrPathRecord, mask: mad.PathRecordDGID, data: mad.PathRecord{DGID: gid(a)}}, 3, 0, 3},
	} {
		for i, want := range []int{test.inside, test.other, test.trusted} {
			test.q.from, test.q.key = b.Info.LID, 0
			if i > 0 {
				test.q.from, test.q.key = c.Info.LID, mad.SMKey(i-1)
			}
			if n := s.count(t, test.q); n != want {
				t.Errorf("%s %v, requester %d: %d records, want %d", test.q.attr.Name(mad.ClassSA), test.q.mask, i, n, want)
			}
		}
	}
	state := question{from: c.Info.LID, attr: mad.AttrMCGStateRecord, mask: mad.MCGStateRecordMGID, data: mad.MCGStateRecord{MGID: mgid}}
	if _, status := get(t, s, state, mad.ParseMCGStateRecord); status != mad.StatusSANoRecords {
		t.Errorf("state of the group: status %v", status)
	}
}

// TestStatuses: what is wrong with a request is told by the standard's status.
func TestStatuses(t *testing.T) {
	s := tree(t)
	a, b := gid(s.ends[0]), gid(s.ends[1])
	foreign := ib.NewGID(0x1234_0000_0000_0000, s.ends[1].GUID)
	for _, test := range []struct {
		name string
		q    question
		want mad.Status
	}{
		{"none", question{method: mad.MethodGet, attr: mad.AttrNodeRecord, mask: mad.NodeRecordLID, data: mad.NodeRecord{LID: 999}}, mad.StatusSANoRecords},
		{"several", question{method: mad.MethodGet, attr: mad.AttrNodeRecord}, mad.StatusSATooManyRecords},
		{"unknown attribute", question{method: mad.MethodGet, attr: 0x1234}, mad.StatusBadAttribute},
		{"attribute of another class", question{method: mad.MethodGet, attr: mad.AttrNodeDescription}, mad.StatusBadAttribute},
		{"Get of InformInfo", question{method: mad.MethodGet, attr: mad.AttrInformInfo}, mad.StatusBadAttribute},
		{"GetTable of ClassPortInfo", question{method: mad.MethodGetTable, attr: mad.AttrClassPortInfo}, mad.StatusBadAttribute},
		{"GetTable of MCGStateRecord", question{method: mad.MethodGetTable, attr: mad.AttrMCGStateRecord}, mad.StatusBadAttribute},
		{"Set of NodeRecord", question{method: mad.MethodSet, attr: mad.AttrNodeRecord}, mad.StatusBadAttribute},
		{"Delete of NodeRecord", question{method: mad.MethodDelete, attr: mad.AttrNodeRecord}, mad.StatusBadAttribute},
		{"GetMulti of PathRecord", question{method: mad.MethodGetMulti, attr: mad.AttrPathRecord}, mad.StatusBadAttribute},
		{"GetTraceTable", question{method: mad.MethodGetTraceTable, attr: mad.AttrTraceRecord}, mad.StatusBadMethod},
		{"unknown method", question{method: 0x44, attr: mad.AttrNodeRecord}, mad.StatusBadMethod},
		{"wrong key", question{method: mad.MethodGet, attr: mad.AttrClassPortInfo, key: 2}, mad.StatusSADenied},
		{"unknown requester", question{method: mad.MethodGet, attr: mad.AttrClassPortInfo, from: 4000}, mad.StatusBusy},
		{"path from nowhere", question{method: mad.MethodGet, attr: mad.AttrPathRecord, mask: mad.PathRecordDGID, data: mad.PathRecord{DGID: b}}, mad.StatusSAInsufficientFields},
		{"path to an unknown GID", question{method: mad.MethodGet, attr: mad.AttrPathRecord, mask: mad.PathRecordDGID | mad.PathRecordSGID, data: mad.PathRecord{SGID: a, DGID: ib.NewGID(ib.DefaultPrefix, 5)}}, mad.StatusSAInvalidGID},
		{"path to another subnet", question{method: mad.MethodGet, attr: mad.AttrPathRecord, mask: mad.PathRecordDGID | mad.PathRecordSGID, data: mad.PathRecord{SGID: a, DGID: foreign}}, mad.StatusSAInvalidGID},
		{"path to an unknown LID", question{method: mad.MethodGet, attr: mad.AttrPathRecord, mask: mad.PathRecordDLID | mad.PathRecordSGID, data: mad.PathRecord{SGID: a, DLID: 999}}, mad.StatusSANoRecords},
		{"path to another port's LID", question{method: mad.MethodGet, attr: mad.AttrPathRecord, mask: mad.PathRecordDLID | mad.PathRecordDGID | mad.PathRecordSGID, data: mad.PathRecord{SGID: a, DGID: b, DLID: s.ends[2].Info.LID}}, mad.StatusSANoRecords},
		{"path by raw packets", question{method: mad.MethodGet, attr: mad.AttrPathRecord, mask: mad.PathRecordDGID | mad.PathRecordSGID | mad.PathRecordRawTraffic, data: mad.PathRecord{SGID: a, DGID: b, RawTraffic: true}}, mad.StatusSANoRecords},
		{"path to a group that is not there (M7)", question{method: mad.MethodGet, attr: mad.AttrPathRecord, mask: mad.PathRecordDGID | mad.PathRecordSGID, data: mad.PathRecord{SGID: a, DGID: ib.MustParseGID("ff12::1")}}, mad.StatusSARequestInvalid},
		{"path to an MLID without an MGID (M7)", question{method: mad.MethodGet, attr: mad.AttrPathRecord, mask: mad.PathRecordDLID | mad.PathRecordSGID, data: mad.PathRecord{SGID: a, DLID: 0xC000}}, mad.StatusSARequestInvalid},
		{"join without components", question{method: mad.MethodSet, attr: mad.AttrMCMemberRecord}, mad.StatusSAInsufficientFields},
		{"leave of no group", question{method: mad.MethodDelete, attr: mad.AttrMCMemberRecord, mask: joinMask, data: mad.MCMemberRecord{MGID: ib.MustParseMGID("ff12::1"), PortGID: a, JoinState: mad.JoinFull}}, mad.StatusSARequestInvalid},
		{"state without MGID", question{method: mad.MethodGet, attr: mad.AttrMCGStateRecord}, mad.StatusSAInsufficientFields},
		{"state of no group", question{method: mad.MethodGet, attr: mad.AttrMCGStateRecord, mask: mad.MCGStateRecordMGID, data: mad.MCGStateRecord{MGID: ib.MustParseMGID("ff12::1")}}, mad.StatusSANoRecords},
		{"subscription to LID 0", question{method: mad.MethodSet, attr: mad.AttrInformInfo, data: mad.InformInfo{Subscribe: true}}, mad.StatusSARequestInvalid},
		{"end of no subscription", question{method: mad.MethodSet, attr: mad.AttrInformInfo, data: mad.InformInfo{LIDRangeBegin: 0xFFFF}}, mad.StatusSARequestInvalid},
		{"service without components", question{method: mad.MethodSet, attr: mad.AttrServiceRecord}, mad.StatusSAInsufficientFields},
		{"end of no service", question{method: mad.MethodDelete, attr: mad.AttrServiceRecord, mask: 7, data: mad.ServiceRecord{ServicePKey: 0xFFFF}}, mad.StatusSANoRecords},
		{"longer than a datagram", question{method: mad.MethodGet, attr: mad.AttrNodeRecord, data: raw(make([]byte, 300))}, mad.StatusSARequestInvalid},
		{"paths of no pairs", question{method: mad.MethodGetMulti, attr: mad.AttrMultiPathRecord}, mad.StatusSAInsufficientFields},
	} {
		t.Run(test.name, func(t *testing.T) {
			if r := s.ask(t, test.q); r.status != test.want {
				t.Errorf("status %v, want %v", r.status, test.want)
			}
		})
	}
}

// TestSilence: what is no request, or comes before the first sweep, has no
// answer.
func TestSilence(t *testing.T) {
	s := tree(t)
	from := admin.Requester{LID: s.ends[0].Info.LID}
	good := question{method: mad.MethodGet, attr: mad.AttrClassPortInfo}.message(1)
	change := func(at int, v byte) []byte {
		b := slices.Clone(good)
		b[at] = v
		return b
	}
	for name, message := range map[string][]byte{
		"nothing": nil, "short": good[:55], "another class": change(1, 4), "another base version": change(0, 2),
		"an answer": change(3, 0x81), "a trap": change(3, 5), "TrapRepress": change(3, 7),
	} {
		if b, ok := s.Request(s.now, from, message); ok || len(b) > 0 {
			t.Errorf("%s: answer of %d bytes", name, len(b))
		}
	}
	if r, ok := s.Request(s.now, from, change(2, 1)); !ok || r[5] != byte(mad.StatusBadVersion) {
		t.Error("class version 1 is not refused")
	}
	s.Server.Silence()
	if _, ok := s.Request(s.now, from, good); ok {
		t.Error("a server that is not master answers")
	}
	table, err := group.New(group.Config{})
	if err != nil {
		t.Fatal(err)
	}
	early, err := admin.New(admin.Config{Groups: table})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := early.Request(s.now, from, good); ok {
		t.Error("a server without a sweep answers")
	}
}

// TestBusy: the shell may turn requests away.
func TestBusy(t *testing.T) {
	c := admin.Config{Busy: func(from admin.Requester, h mad.Header) bool { return from.QPN == 1 && h.Attr == mad.AttrNodeRecord }}
	s := serverOf(t, subnetOf(t, "single:hosts=4", 0), c)
	for attr, want := range map[mad.AttrID]mad.Status{mad.AttrNodeRecord: mad.StatusBusy, mad.AttrSMInfoRecord: mad.StatusOK} {
		if r := s.ask(t, question{method: mad.MethodGetTable, attr: attr}); r.status != want {
			t.Errorf("%s: status %v, want %v", attr.Name(mad.ClassSA), r.status, want)
		}
	}
	table, err := group.New(group.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := admin.New(admin.Config{Groups: table, Limits: admin.Limits{Burst: -1}}); err == nil {
		t.Error("a burst below 0 is taken")
	}
}

func TestNewNeedsGroups(t *testing.T) {
	if s, err := admin.New(admin.Config{}); err == nil || s != nil {
		t.Error("made without groups")
	}
}

// TestLimits: an answer that is too long, and a port that asks for too much.
func TestLimits(t *testing.T) {
	s := serverOf(t, subnetOf(t, "fat-tree:k=4", 0), admin.Config{Limits: admin.Limits{Answer: 2000, Rate: 1000, Burst: 10}})
	all := question{method: mad.MethodGetTable, attr: mad.AttrNodeRecord}
	if r := s.ask(t, all); r.status != mad.StatusSANoResources {
		t.Errorf("status %v, want no resources", r.status)
	}
	if r := s.ask(t, question{method: mad.MethodGetTable, attr: mad.AttrPathRecord}); r.status != mad.StatusSANoResources {
		t.Errorf("all paths: status %v, want no resources", r.status)
	}
	busy := 0
	for range 50 {
		if s.ask(t, question{method: mad.MethodGet, attr: mad.AttrClassPortInfo}).status == mad.StatusBusy {
			busy++
		}
	}
	if busy == 0 || busy == 50 {
		t.Errorf("busy %d times of 50", busy)
	}
	if r := s.ask(t, question{method: mad.MethodGet, attr: mad.AttrClassPortInfo, from: s.ends[1].Info.LID}); r.status != mad.StatusOK {
		t.Errorf("another port: status %v", r.status)
	}
	s.now = s.now.Add(1e9)
	if r := s.ask(t, question{method: mad.MethodGet, attr: mad.AttrClassPortInfo}); r.status != mad.StatusOK {
		t.Errorf("a second later: status %v", r.status)
	}
	if st := s.Stats(); st.Busy != uint64(busy) || st.Answered == 0 || st.Refused < st.Busy {
		t.Errorf("stats %+v", st)
	}
}

// TestContradictions: a subnet that contradicts itself is served as far as it
// does not.
func TestContradictions(t *testing.T) {
	subnet := subnetOf(t, "single:hosts=4", 0)
	hosts := 0
	for i := range subnet.Nodes {
		if subnet.Nodes[i].IsSwitch() {
			continue
		}
		p := &subnet.Nodes[i].Ports[1]
		switch hosts++; hosts {
		case 2:
			p.Info.LID = subnet.Managers[0].LID
		case 3:
			p.GUID = subnet.Managers[0].Info.GUID
		case 4:
			p.Peer = 77
		}
	}
	snapshot, faults := admin.NewSnapshot(subnet)
	if len(faults) != 3 {
		t.Errorf("faults %v, want 3", faults)
	}
	s := serverOf(t, subnetOf(t, "single:hosts=4", 0), admin.Config{})
	s.Update(s.now, snapshot)
	if n := s.count(t, question{attr: mad.AttrNodeRecord, from: s.ends[3].Info.LID}); n != 3 {
		t.Errorf("%d nodes, want 3", n)
	}
}
