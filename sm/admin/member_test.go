package admin_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"heddle/ib"
	"heddle/mad"
	"heddle/sm/admin"
	"heddle/sm/group"
)

const (
	joinMask   = mad.ComponentMask(group.JoinComponents)
	createMask = mad.ComponentMask(group.CreateComponents)
)

var mgid = ib.MustParseMGID("ff12:a::1")

// join is a request of a port for itself.
func join(p admin.Port, method mad.Method, state mad.JoinState) question {
	return question{
		from: p.Info.LID, method: method, attr: mad.AttrMCMemberRecord, mask: createMask,
		data: mad.MCMemberRecord{MGID: mgid, PortGID: gid(p), PKey: ib.DefaultPKey, QKey: 5, JoinState: state},
	}
}

func TestJoin(t *testing.T) {
	s := tree(t)
	h := s.hosts()
	r := s.ask(t, join(h[0], mad.MethodSet, mad.JoinFull))
	got, err := mad.ParseMCMemberRecord(r.data)
	if err != nil {
		t.Fatal(err)
	}
	want := mad.MCMemberRecord{
		MGID: mgid, PortGID: gid(h[0]), QKey: 5, MLID: 0xC000, PKey: ib.DefaultPKey, JoinState: mad.JoinFull, Scope: ib.ScopeLinkLocal,
		MTUSelector: mad.SelectExactly, MTU: ib.MTU4096, RateSelector: mad.SelectExactly, Rate: ib.Rate200,
		LifetimeSelector: mad.SelectExactly, Lifetime: 18,
	}
	if diff := cmp.Diff(want, got); diff != "" || r.status != mad.StatusOK {
		t.Fatalf("status %v (-want +got):\n%s", r.status, diff)
	}
	again := s.ask(t, join(h[0], mad.MethodSet, mad.JoinFull))
	if diff := cmp.Diff(r.data, again.data); diff != "" {
		t.Errorf("the same join again:\n%s", diff)
	}
	other := join(h[1], mad.MethodSet, mad.JoinFull)
	other.mask = joinMask
	if r := s.ask(t, other); r.status != mad.StatusOK {
		t.Errorf("second member: status %v", r.status)
	}
	bad := join(h[2], mad.MethodSet, mad.JoinFull)
	bad.data = mad.MCMemberRecord{MGID: mgid, PortGID: gid(h[2]), PKey: ib.DefaultPKey, QKey: 6, JoinState: mad.JoinFull}
	if r := s.ask(t, bad); r.status != mad.StatusSARequestInvalid {
		t.Errorf("another Q_Key: status %v", r.status)
	}
}

// TestJoinOfASlowPort is case M2: the link's MTU counts, not what the port could.
func TestJoinOfASlowPort(t *testing.T) {
	subnet := subnetOf(t, "single:hosts=4", 0)
	s := serverOf(t, subnet, admin.Config{})
	fast, slow := s.hosts()[0], s.hosts()[1]
	for i := range subnet.Nodes {
		if p := &subnet.Nodes[i].Ports[1]; p.GUID == slow.GUID {
			p.Info.NeighborMTU = ib.MTU2048
		}
	}
	s.Update(s.now, snapshotOf(t, subnet))
	for _, test := range []struct {
		port admin.Port
		want mad.Status
	}{{fast, mad.StatusOK}, {slow, mad.StatusSARequestInvalid}} {
		q := join(test.port, mad.MethodSet, mad.JoinFull)
		q.mask |= mad.MCMemberRecordMTUSelector | mad.MCMemberRecordMTU
		record := q.data.(mad.MCMemberRecord)
		record.MTUSelector, record.MTU = mad.SelectExactly, ib.MTU4096
		q.data = record
		if r := s.ask(t, q); r.status != test.want {
			t.Errorf("port %v: status %v, want %v", test.port.GUID, r.status, test.want)
		}
	}
	unknown := join(fast, mad.MethodSet, mad.JoinFull)
	record := unknown.data.(mad.MCMemberRecord)
	record.PortGID = ib.NewGID(ib.DefaultPrefix, 99)
	unknown.data = record
	if r := s.ask(t, unknown); r.status != mad.StatusSARequestInvalid {
		t.Errorf("unknown port: status %v", r.status)
	}
}

// TestMembership: whom the server trusts sees the members, others the group and
// themselves.
func TestMembership(t *testing.T) {
	s := tree(t)
	h := s.hosts()
	for _, p := range h[:3] {
		s.ask(t, join(p, mad.MethodSet, mad.JoinFull))
	}
	byGroup := question{attr: mad.AttrMCMemberRecord, mask: mad.MCMemberRecordMGID, data: mad.MCMemberRecord{MGID: mgid}}
	one, status := get(t, s, byGroup, mad.ParseMCMemberRecord)
	if status != mad.StatusOK || one.PortGID.IsValid() || one.JoinState != 0 || one.MLID != 0xC000 {
		t.Errorf("untrusted: status %v, %+v", status, one)
	}
	byGroup.key = 1
	if all := table(t, s, byGroup, mad.ParseMCMemberRecord); len(all) != 3 || all[0].JoinState != mad.JoinFull || all[0].PortGID != gid(h[0]) {
		t.Errorf("trusted: %+v", all)
	}
	if _, status := get(t, s, byGroup, mad.ParseMCMemberRecord); status != mad.StatusSATooManyRecords {
		t.Errorf("trusted Get: status %v", status)
	}
	byPort := func(from, of admin.Port, key mad.SMKey) int {
		return s.count(t, question{from: from.Info.LID, key: key, attr: mad.AttrMCMemberRecord, mask: mad.MCMemberRecordPortGID, data: mad.MCMemberRecord{PortGID: gid(of)}})
	}
	if own, others, trusted := byPort(h[1], h[1], 0), byPort(h[1], h[2], 0), byPort(h[1], h[2], 1); own != 1 || others != 0 || trusted != 1 {
		t.Errorf("records by port: %d of its own, %d of others, %d trusted", own, others, trusted)
	}
	byMLID := question{attr: mad.AttrMCMemberRecord, mask: mad.MCMemberRecordMLID, data: mad.MCMemberRecord{MLID: 0xC000}}
	if n := s.count(t, byMLID); n != 1 {
		t.Errorf("%d groups by MLID, want 1", n)
	}
	path := question{attr: mad.AttrPathRecord, mask: bothGIDs, data: mad.PathRecord{SGID: gid(h[9]), DGID: mgid.GID()}}
	if p, status := get(t, s, path, mad.ParsePathRecord); status != mad.StatusOK || p.DLID != 0xC000 || p.SLID != h[9].Info.LID || p.PKey != ib.DefaultPKey {
		t.Errorf("path to the group: status %v, %+v", status, p)
	}
}

// TestLeaveAgain: the answer to a leave may get lost; the same request again is
// answered the same, another leave is not.
func TestLeaveAgain(t *testing.T) {
	s := tree(t)
	p := s.hosts()[0]
	s.ask(t, join(p, mad.MethodSet, mad.JoinFull))
	leave := join(p, mad.MethodDelete, mad.JoinFull)
	first := s.send(t, leave, 99)
	again := s.send(t, leave, 99)
	if first.status != mad.StatusOK || again.status != mad.StatusOK || !cmp.Equal(first.data, again.data) {
		t.Errorf("status %v, again %v", first.status, again.status)
	}
	if r := s.send(t, join(p, mad.MethodDelete, mad.JoinNon), 99); r.status != mad.StatusSARequestInvalid {
		t.Errorf("another leave with the same number: status %v", r.status)
	}
	if r := s.send(t, leave, 100); r.status != mad.StatusSARequestInvalid {
		t.Errorf("another leave: status %v", r.status)
	}
	s.ask(t, join(p, mad.MethodSet, mad.JoinFull))
	if r := s.send(t, leave, 99); r.status != mad.StatusOK {
		t.Errorf("a leave with an old number: status %v", r.status)
	}
	s.Groups(func(g *group.Table) {
		if st := g.Stats(); st.Members != 0 || st.Groups != 0 {
			t.Errorf("left over: %+v", st)
		}
	})
	s.now = s.now.Add(time.Hour)
	if r := s.send(t, leave, 99); r.status != mad.StatusSARequestInvalid {
		t.Errorf("an hour later: status %v", r.status)
	}
}

// TestCollected: the states of a group whose members said how many they are.
func TestCollected(t *testing.T) {
	s := tree(t)
	h := s.hosts()
	state := func() mad.MCGStateRecord {
		got, status := get(t, s, question{attr: mad.AttrMCGStateRecord, mask: mad.MCGStateRecordMGID, data: mad.MCGStateRecord{MGID: mgid}}, mad.ParseMCGStateRecord)
		if status != mad.StatusOK {
			t.Fatalf("status %v", status)
		}
		return got
	}
	for i, p := range h[:2] {
		q := join(p, mad.MethodSet, mad.JoinFull)
		q.mask |= mad.MCMemberRecordMemberCount
		record := q.data.(mad.MCMemberRecord)
		record.MemberCount = 2
		q.data = record
		if r := s.ask(t, q); r.status != mad.StatusOK {
			t.Fatalf("status %v", r.status)
		}
		want := mad.MCGStateRecord{MGID: mgid, State: mad.MCGReceivingJoinReq + mad.MCGState(i), MemberCount: 2, Joined: uint16(i + 1)}
		if diff := cmp.Diff(want, state()); diff != "" {
			t.Error(diff)
		}
	}
	s.Groups(func(t *group.Table) { t.Programmed(s.now, t.Take(s.now, group.Everything).ID) })
	if got := state(); got.State != mad.MCGReady {
		t.Errorf("state %v, want Ready", got.State)
	}
}

// TestPortsGo: what is gone with a sweep leaves its groups, services and
// subscriptions; traps are due for it.
func TestPortsGo(t *testing.T) {
	subnet := subnetOf(t, "fat-tree:k=4", 0)
	s := serverOf(t, subnet, admin.Config{})
	p := s.hosts()[3]
	s.ask(t, join(p, mad.MethodSet, mad.JoinFull))
	s.ask(t, question{from: p.Info.LID, method: mad.MethodSet, attr: mad.AttrInformInfo, data: everything})
	s.ask(t, question{from: p.Info.LID, method: mad.MethodSet, attr: mad.AttrServiceRecord, mask: serviceMask, data: service(p)})
	count := func() [3]int {
		return [3]int{
			s.count(t, question{attr: mad.AttrMCMemberRecord}), s.count(t, question{attr: mad.AttrInformInfoRecord}),
			s.count(t, question{attr: mad.AttrServiceRecord}),
		}
	}
	if n := count(); n != [3]int{1, 1, 1} {
		t.Fatalf("groups, subscriptions, services: %v", n)
	}
	for i := range subnet.Nodes {
		n := &subnet.Nodes[i]
		if !n.IsSwitch() && n.Ports[1].GUID == p.GUID {
			n.Ports = append([]admin.Port(nil), n.Ports...)
			n.Ports[1].Info.LID = 0
		}
	}
	changes := s.Update(s.now, snapshotOf(t, subnet))
	if diff := cmp.Diff(admin.Changes{Gone: []ib.GID{gid(p)}}, changes); diff != "" {
		t.Error(diff)
	}
	if n := count(); n != [3]int{} {
		t.Errorf("left over: groups, subscriptions, services: %v", n)
	}
	changes = s.Update(s.now, snapshotOf(t, s.subnetAgain(t)))
	if diff := cmp.Diff(admin.Changes{Came: []ib.GID{gid(p)}}, changes); diff != "" {
		t.Error(diff)
	}
	if n := count(); n != [3]int{} {
		t.Errorf("back with the port: groups, subscriptions, services: %v", n)
	}
}

// TestPortGoesMeanwhile: a sweep finds that a port is gone while what it asked
// for is being looked at.
func TestPortGoesMeanwhile(t *testing.T) {
	var s *server
	without := snapshotOf(t, withoutLast(t))
	goes := false
	s = serverOf(t, subnetOf(t, "fat-tree:k=4", 0), admin.Config{Busy: func(admin.Requester, mad.Header) bool {
		if goes {
			s.Update(epoch, without)
		}
		return false
	}})
	whole := snapshotOf(t, s.subnet)
	p := s.hosts()[15]
	for _, q := range []question{
		join(p, mad.MethodSet, mad.JoinFull), subscribe(p, everything),
		{from: p.Info.LID, method: mad.MethodSet, attr: mad.AttrServiceRecord, mask: serviceMask, data: service(p)},
	} {
		goes = true
		if r := s.ask(t, q); r.status != mad.StatusBusy {
			t.Errorf("%s: status %v, want busy", q.attr.Name(mad.ClassSA), r.status)
		}
		goes = false
		s.Update(epoch, whole)
		for _, attr := range []mad.AttrID{mad.AttrMCMemberRecord, mad.AttrInformInfoRecord, mad.AttrServiceRecord} {
			if n := s.count(t, question{attr: attr, key: 1}); n != 0 {
				t.Errorf("%s: %d records left over", attr.Name(mad.ClassSA), n)
			}
		}
	}
}

func (s *server) subnetAgain(t testing.TB) admin.Subnet { return subnetOf(t, "fat-tree:k=4", 0) }

// TestFirstSnapshot: a restored table may have members that did not come back.
func TestFirstSnapshot(t *testing.T) {
	before := tree(t)
	for _, p := range before.hosts()[:3] {
		before.ask(t, join(p, mad.MethodSet, mad.JoinFull))
	}
	var image []byte
	before.Groups(func(g *group.Table) { image = g.AppendSnapshot(nil) })
	restored, err := group.Restore(group.Config{}, image)
	if err != nil {
		t.Fatal(err)
	}
	srv, err := admin.New(admin.Config{Groups: restored})
	if err != nil {
		t.Fatal(err)
	}
	subnet := before.subnet
	for i := range subnet.Nodes {
		if p := &subnet.Nodes[i].Ports[1]; p.GUID == before.hosts()[1].GUID {
			p.Info.LID = 0
		}
	}
	if c := srv.Update(epoch, snapshotOf(t, subnet)); c.Came != nil || c.Gone != nil {
		t.Errorf("changes of a first snapshot: %v", c)
	}
	srv.Groups(func(g *group.Table) {
		if n := g.Stats().Members; n != 2 {
			t.Errorf("%d members, want 2", n)
		}
	})
}

// TestRefusals: each way in which the table of groups refuses has its status.
func TestRefusals(t *testing.T) {
	subnet := subnetOf(t, "single:hosts=4", 0)
	table, err := group.New(group.Config{Cap: 1, Limits: group.Limits{Groups: 1}})
	if err != nil {
		t.Fatal(err)
	}
	s := serverOf(t, subnet, admin.Config{Groups: table})
	a, b := s.hosts()[0], s.hosts()[1]
	of := func(p admin.Port, mgid ib.MGID, method mad.Method, member admin.Port) question {
		q := join(p, method, mad.JoinFull)
		record := q.data.(mad.MCMemberRecord)
		record.MGID, record.PortGID = mgid, gid(member)
		q.data = record
		return q
	}
	other := ib.MustParseMGID("ff12:a::2")
	for i, test := range []struct {
		q    question
		want mad.Status
	}{
		{of(a, mgid, mad.MethodSet, a), mad.StatusOK},
		{of(a, other, mad.MethodSet, a), mad.StatusSANoResources}, // a client's limit
		{of(b, other, mad.MethodSet, b), mad.StatusSANoResources}, // no MLID is left
		{of(b, mgid, mad.MethodDelete, a), mad.StatusSADenied},    // another's member
		{of(b, mgid, mad.MethodSet, s.hosts()[2]), mad.StatusOK},  // a proxy
		{of(s.hosts()[3], mgid, mad.MethodDelete, s.hosts()[2]), mad.StatusOK},
	} {
		if r := s.ask(t, test.q); r.status != test.want {
			t.Errorf("%d: status %v, want %v", i, r.status, test.want)
		}
	}
}

// TestBusyGroup: a collected group that is being left is there again later.
func TestBusyGroup(t *testing.T) {
	s := tree(t)
	h := s.hosts()
	for i, test := range []struct {
		port   int
		method mad.Method
		want   mad.Status
	}{
		{0, mad.MethodSet, mad.StatusOK},
		{1, mad.MethodSet, mad.StatusOK},
		{0, mad.MethodDelete, mad.StatusOK},
		{2, mad.MethodSet, mad.StatusBusy},
	} {
		q := join(h[test.port], test.method, mad.JoinFull)
		q.mask |= mad.MCMemberRecordMemberCount
		record := q.data.(mad.MCMemberRecord)
		record.MemberCount = 2
		q.data = record
		if r := s.ask(t, q); r.status != test.want {
			t.Errorf("%d: status %v, want %v", i, r.status, test.want)
		}
	}
}
