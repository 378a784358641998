package group

import (
	"errors"
	"slices"
	"testing"
	"time"

	"heddle/ib"
)

var start = time.Unix(1_000_000, 0)

func newTable(t testing.TB, c Config) *Table {
	t.Helper()
	table, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// plainJoin is a full member's join of port n to group m, with all components.
func plainJoin(m, n int) *Request {
	p := testPort(n)
	return &Request{
		Has: CreateComponents, MGID: testMGID(m), PortGID: p.GID, JoinState: FullMember,
		Params: Params{PKey: ib.DefaultPKey}, Requester: p, Member: p,
	}
}

func testMGID(m int) ib.MGID {
	return ib.MGID{0: 0xff, 1: 0x12, 13: byte(m >> 16), 14: byte(m >> 8), 15: byte(m)}
}

func testPort(n int) *Port {
	return &Port{GID: ib.NewGID(ib.DefaultPrefix, ib.GUID(n)), PKeys: []ib.PKey{ib.DefaultPKey}, MTU: ib.MTU4096, Rate: ib.Rate100}
}

func mustJoin(t testing.TB, table *Table, r *Request) Joined {
	t.Helper()
	j, err := table.Join(start, r)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// refused gives the reason of an error, 0 where it is no refusal.
func refused(err error) Reason {
	refusal := (*Refusal)(nil)
	if errors.As(err, &refusal) {
		return refusal.Reason
	}
	return 0
}

func TestConfigRefuses(t *testing.T) {
	for _, c := range []Config{
		{Lifetime: 64},
		{Cap: -1},
		{JoinLimit: -1},
		{LeaveLimit: -1},
		{Limits: Limits{Pending: -1}},
	} {
		if table, err := New(c); err == nil || table != nil {
			t.Errorf("%+v is taken", c)
		}
	}
}

// TestShareCost chooses by what the caller says, and tells it of the right ones.
func TestShareCost(t *testing.T) {
	var table *Table
	cost := func(mgid ib.MGID, first ib.GID, with ib.MLID) int {
		if mgid != testMGID(9) || first != testPort(4).GID || len(table.Ports(with, Ports{}).Receivers) != 1 {
			t.Errorf("asked for %v, %v, %v", mgid, first, with)
		}
		return int(ib.LastMLID - with)
	}
	table = newTable(t, Config{Cap: 3, Share: true, ShareCost: cost})
	for n := 1; n <= 3; n++ {
		mustJoin(t, table, plainJoin(n, n))
	}
	if got := mustJoin(t, table, plainJoin(9, 4)).Group.MLID; got != ib.FirstMLID+2 {
		t.Errorf("shares %v", got)
	}
	var sharing []ib.MGID
	for g := range table.GroupsAt(ib.FirstMLID + 2) {
		sharing = append(sharing, g.MGID)
	}
	if !slices.Equal(sharing, []ib.MGID{testMGID(3), testMGID(9)}) {
		t.Errorf("sharing: %v", sharing)
	}
}

// TestSharingIsEven fills a small table with many groups of ports that have
// nothing in common: none is shared much more than another.
func TestSharingIsEven(t *testing.T) {
	table := newTable(t, Config{Cap: 50, Share: true})
	for m := range 1000 {
		mustJoin(t, table, plainJoin(m, m+1))
	}
	checkTable(t, table)
	for _, s := range table.slots {
		if n := len(s.groups); n < 15 || n > 25 {
			t.Errorf("%v has %d groups, want about 20", s.mlid, n)
		}
	}
}

// TestAllMLIDs uses every MLID that there is.
func TestAllMLIDs(t *testing.T) {
	table := newTable(t, Config{Limits: Limits{Groups: 1 << 20}})
	for m := range ib.NumMLIDs {
		if got := mustJoin(t, table, plainJoin(m, 1)).Group.MLID; got != ib.FirstMLID+ib.MLID(m) {
			t.Fatalf("group %d has %v", m, got)
		}
	}
	if _, err := table.Join(start, plainJoin(ib.NumMLIDs, 1)); refused(err) != NoMLID {
		t.Errorf("one more: %v", err)
	}
	table.PortGone(start, testPort(1).GID)
	checkTable(t, table)
	if s := table.Stats(); s != (Stats{}) {
		t.Errorf("left over: %+v", s)
	}
}

// TestManyMembers is M10 as far as it is the table's, and the group's index.
func TestManyMembers(t *testing.T) {
	table := newTable(t, Config{})
	const n = 3000
	for i := range n {
		mustJoin(t, table, plainJoin(i%2, i+1))
	}
	checkTable(t, table)
	for i := 0; i < n; i += 3 {
		if _, err := table.Leave(start, plainJoin(i%2, i+1)); err != nil {
			t.Fatal(err)
		}
	}
	checkTable(t, table)
	got := 0
	for m := range table.Members(testMGID(0)) {
		if i := int(m.Port.GUID()) - 1; i%2 != 0 || i%3 == 0 {
			t.Errorf("port %d is in the group", i)
		}
		got++
	}
	if got != n/3 {
		t.Errorf("%d members, want %d", got, n/3)
	}
}

// TestAliases has one port in a group by its GID and by an alias of it: two
// members, of whom neither is a proxy's.
func TestAliases(t *testing.T) {
	table := newTable(t, Config{Prefix: prefix})
	r := plainJoin(1, 1)
	r.PortGID = ib.NewGID(prefix, 77)
	if j := mustJoin(t, table, r); j.Member.Proxy || j.Member.Port != r.PortGID {
		t.Errorf("joined %+v", j.Member)
	}
	r.PortGID = ib.NewGID(ib.DefaultPrefix, 77)
	if j := mustJoin(t, table, r); j.Group.Members != 1 {
		t.Errorf("the default prefix makes %d members", j.Group.Members)
	}
	if _, ok := table.Member(testMGID(1), r.PortGID); !ok {
		t.Error("no member by the default prefix")
	}
	for _, gid := range []ib.GID{ib.NewGID(1, 77), ib.NewGID(prefix, 0), {}} {
		r.PortGID = gid
		if _, err := table.Join(start, r); refused(err) != UnknownPort {
			t.Errorf("%v: %v", gid, err)
		}
	}
}

// TestNothingThere asks for what the table does not have.
func TestNothingThere(t *testing.T) {
	table := newTable(t, Config{})
	mustJoin(t, table, plainJoin(1, 1))
	if g, ok := table.Group(testMGID(2)); ok {
		t.Errorf("group %+v", g)
	}
	for _, c := range [][2]int{{1, 2}, {2, 1}} {
		if m, ok := table.Member(testMGID(c[0]), testPort(c[1]).GID); ok {
			t.Errorf("member %+v", m)
		}
	}
	for m := range table.Members(testMGID(2)) {
		t.Errorf("member %+v", m)
	}
	for g := range table.GroupsOf(testPort(2).GID) {
		t.Errorf("group %+v", g)
	}
	for g := range table.GroupsAt(ib.LastMLID) {
		t.Errorf("group %+v", g)
	}
	if p := table.Ports(0, Ports{}); p.Receivers != nil || p.Senders != nil {
		t.Errorf("ports %+v", p)
	}
	table.PortGone(start, testPort(2).GID)
	table.Programmed(start, 5)
	table.Removed(start, 5)
	table.Failed(start, 5)
	if _, ok := table.NextDeadline(); ok {
		t.Error("there is a deadline")
	}
	if s := table.Stats(); s.Groups != 1 || s.Members != 1 {
		t.Errorf("%+v", s)
	}
}

// TestTimeDoesNotGoBack keeps deadlines where the clock is set back, and ends
// groups where it is set to the end of time.
func TestTimeDoesNotGoBack(t *testing.T) {
	table := newTable(t, Config{JoinLimit: time.Second})
	r := plainJoin(1, 1)
	r.MemberCount = 2
	mustJoin(t, table, r)
	r = plainJoin(2, 1)
	r.MemberCount = 2
	if _, err := table.Join(start.Add(-time.Hour), r); err != nil {
		t.Fatal(err)
	}
	if g, _ := table.Group(r.MGID); !g.Deadline.Equal(start.Add(time.Second)) {
		t.Errorf("deadline %v", g.Deadline)
	}
	table.Advance(time.Unix(0, 1<<63-1))
	r = plainJoin(3, 1)
	r.MemberCount = 2
	mustJoin(t, table, r)
	table.Advance(start)
	if s := table.Stats(); s.Groups != 0 {
		t.Errorf("%+v", s)
	}
}

func TestConfigureRefuses(t *testing.T) {
	table := newTable(t, Config{Cap: 1})
	good := Params{PKey: ib.DefaultPKey, MTU: ib.MTU2048, Rate: ib.Rate10}
	_, err := table.Configure(start, []Configured{
		{MGID: testMGID(1)},
		{Params: good},
		{MGID: testMGID(2), Params: good},
		{MGID: testMGID(3), Params: good},
	})
	var reasons []Reason
	for _, err := range err.(interface{ Unwrap() []error }).Unwrap() {
		reasons = append(reasons, refused(err))
	}
	if !slices.Equal(reasons, []Reason{BadValue, BadValue, NoMLID}) {
		t.Errorf("refused for %v", reasons)
	}
	if g, ok := table.Group(testMGID(2)); !ok || !g.Configured || g.Params != good {
		t.Errorf("%+v", g)
	}
}

func TestRefusal(t *testing.T) {
	for r := MissingComponents; r <= MLIDsRetiring; r++ {
		if r.Code() == 0 || r.Code() > Busy || r.String() == "" {
			t.Errorf("%d: %v, %v", uint8(r), r.Code(), r)
		}
	}
	_, err := newTable(t, Config{}).Join(start, &Request{Has: HasMGID, MGID: testMGID(1)})
	want := "group ff12::1, port ::: insufficient components: missing components: PortGID,JoinState"
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	for _, c := range []struct{ got, want string }{
		{Code(0).String(), "Code(0)"},
		{Code(99).String(), "Code(99)"},
		{Reason(0).String(), "Reason(0)"},
		{Reason(99).String(), "Reason(99)"},
		{State(9).String(), "State(9)"},
		{EntryKind(99).String(), "EntryKind(99)"},
		{JoinState(0x13).String(), "full|non|0x10"},
		{(HasMGID | 1<<20).String(), "MGID,0x100000"},
	} {
		if c.got != c.want {
			t.Errorf("got %s, want %s", c.got, c.want)
		}
	}
	if Reason(99).Code() != 0 {
		t.Error("an unknown reason has a code")
	}
}

func TestJoinStates(t *testing.T) {
	for s := range JoinState(32) {
		keeps, receives := s&9 != 0, s&3 != 0
		if s.IsValid() != (s > 0 && s < 16) || s.KeepsGroup() != keeps || s.Receives() != receives {
			t.Errorf("%v: valid %v, keeps %v, receives %v", s, s.IsValid(), s.KeepsGroup(), s.Receives())
		}
	}
}

// TestLateAcknowledgement has a batch acknowledged when its group is gone and
// the MGID belongs to another, and after another manager took over.
func TestLateAcknowledgement(t *testing.T) {
	table := newTable(t, Config{})
	r := plainJoin(1, 1)
	r.MemberCount = 1
	mustJoin(t, table, r)
	old := table.Take(start, Everything)
	if _, err := table.Leave(start, r); err != nil {
		t.Fatal(err)
	}
	table.Removed(start, table.Take(start, Everything).ID)
	mustJoin(t, table, r)
	check := func(when string, want State) {
		t.Helper()
		if g, _ := table.Group(r.MGID); g.State != want {
			t.Errorf("%s: %v, want %v", when, g.State, want)
		}
	}
	table.Programmed(start, old.ID)
	check("the old batch", ComputingRoutes)
	old = table.Take(start, Everything)
	if err := table.Resume(start, 1); err != nil {
		t.Fatal(err)
	}
	if n := len(table.work.batches); n != 0 {
		t.Errorf("%d batches are left", n)
	}
	table.Programmed(start, old.ID)
	check("the last manager's batch", ComputingRoutes)
	table.Programmed(start, table.Take(start, Everything).ID)
	check("the right batch", Ready)
}

// TestHopLimitIsOptional ignores the field where it is not among Has.
func TestHopLimitIsOptional(t *testing.T) {
	table := newTable(t, Config{})
	r := plainJoin(1, 1)
	r.HopLimit = 7
	if g := mustJoin(t, table, r).Group; g.HopLimit != 0 {
		t.Errorf("hop limit %d", g.HopLimit)
	}
	r.MGID, r.Has = testMGID(2), r.Has|HasHopLimit
	if g := mustJoin(t, table, r).Group; g.HopLimit != 7 {
		t.Errorf("hop limit %d", g.HopLimit)
	}
}
