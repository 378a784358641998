package group

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"heddle/ib"
)

// model is what a table should hold, told as simply as it can be.
type model struct {
	groups map[ib.MGID]*modelGroup
	// installed are the MLIDs that the switches have entries of, and the ports
	// that these reach.
	installed map[ib.MLID]Ports
}

type modelGroup struct {
	want    int
	members map[ib.GID]JoinState
	ended   bool // a collected group that is left or destroyed
	full    bool // a collected group that had all its members
}

func (m *model) join(mgid ib.MGID, gid ib.GID, want int, s JoinState) {
	g := m.groups[mgid]
	if g == nil {
		g = &modelGroup{want: want, members: map[ib.GID]JoinState{}}
		m.groups[mgid] = g
	}
	g.members[gid] |= s
	g.full = g.full || len(g.members) == want
}

func (m *model) leave(mgid ib.MGID, gid ib.GID, s JoinState) {
	g := m.groups[mgid]
	if g == nil || g.members[gid] == 0 {
		return
	}
	if g.members[gid] &^= s; g.members[gid] == 0 {
		delete(g.members, gid)
		g.ended = g.full
	}
	for _, s := range g.members {
		if s.KeepsGroup() || g.want != 0 {
			return
		}
	}
	delete(m.groups, mgid)
}

// history is a table under random requests, with what follows it.
type history struct {
	*rapid.T
	table    *Table
	follower *Table
	model    model
	entries  []Entry
	now      time.Time
	mgids    []ib.MGID
	ports    []*Port
	batches  []Batch
}

func newHistory(t *rapid.T) *history {
	h := &history{T: t, now: time.Unix(1000, 0), model: model{map[ib.MGID]*modelGroup{}, map[ib.MLID]Ports{}}}
	table, err := New(Config{
		Cap: rapid.IntRange(1, 6).Draw(t, "cap"), Share: rapid.Bool().Draw(t, "share"),
		ShareSolicitedNode: rapid.Bool().Draw(t, "solicited"), Journal: h.journal,
		JoinLimit: 10 * time.Second, LeaveLimit: 10 * time.Second,
	})
	follower, err2 := New(Config{})
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	h.table, h.follower = table, follower
	for i := range byte(8) {
		h.mgids = append(h.mgids, ib.MGID{0: 0xff, 1: 0x12, 15: i})
		h.ports = append(h.ports, &Port{
			GID: ib.NewGID(ib.DefaultPrefix, ib.GUID(i+1)), PKeys: []ib.PKey{ib.DefaultPKey, 0x8001}, MTU: ib.MTU4096, Rate: ib.Rate100,
		})
	}
	h.mgids = append(h.mgids, ib.MustParseMGID("ff12:601b:ffff::1:ff00:1"), ib.MustParseMGID("ff12:601b:ffff::1:ff00:2"),
		ib.MustParseMGID("ff12:401b:ffff::ffff:ffff"))
	return h
}

func (h *history) journal(e Entry) {
	h.entries = append(h.entries, e)
	if err := h.follower.Apply(e); err != nil {
		h.Fatalf("%+v: %v", e, err)
	}
	switch e.Kind {
	case EntryCreated:
		if _, there := h.model.installed[e.MLID]; there && len(h.table.slot(e.MLID).groups) == 1 {
			h.Fatalf("%v is given to %v while the switches have entries of it", e.MLID, e.MGID)
		}
	case EntryDeleted:
		delete(h.model.groups, e.MGID)
	case EntryState:
		if e.State == Destroying {
			g := h.model.groups[e.MGID]
			clear(g.members)
			g.ended = true
		}
	case EntryFreed:
		for mgid, g := range h.model.groups {
			if _, ok := h.table.Group(mgid); !ok && g.ended {
				delete(h.model.groups, mgid)
			}
		}
	default: // as the requests say
	}
}

func (h *history) request() *Request {
	member := rapid.SampledFrom(h.ports).Draw(h.T, "member")
	r := &Request{
		Has: CreateComponents, MGID: rapid.SampledFrom(h.mgids).Draw(h.T, "mgid"), PortGID: member.GID,
		JoinState: JoinState(rapid.IntRange(1, 15).Draw(h.T, "state")), Member: member, Requester: member,
		Params: Params{PKey: ib.DefaultPKey},
	}
	if !r.MGID.IsIPoIB() && rapid.Bool().Draw(h.T, "other partition") {
		r.PKey = 0x8001
	}
	if rapid.IntRange(0, 3).Draw(h.T, "proxied") == 0 {
		r.Requester = rapid.SampledFrom(h.ports).Draw(h.T, "requester")
	}
	return r
}

// Join asks for a membership, plain or, for every other MGID, collected.
func (h *history) Join(t *rapid.T) {
	h.T = t
	r := h.request()
	if r.MGID[15]%2 == 0 && !r.MGID.IsIPoIB() {
		r.MemberCount = uint32(r.MGID[15]/2 + 1)
	}
	h.checkAllowed(r)
	joined, err := h.table.Join(h.now, r)
	if err != nil {
		return
	}
	h.model.join(r.MGID, r.PortGID, int(r.MemberCount), r.JoinState)
	if joined.Member.JoinState != h.model.groups[r.MGID].members[r.PortGID] {
		t.Fatalf("joined %v, want %v", joined.Member.JoinState, h.model.groups[r.MGID].members[r.PortGID])
	}
}

// checkAllowed holds that a port that asks for itself, to a group that waits for
// members, is never refused; nor a duplicate.
func (h *history) checkAllowed(r *Request) {
	g := h.model.groups[r.MGID]
	if g == nil || r.Requester != r.Member || h.table.groups[r.MGID].params.PKey.Base() != r.PKey.Base() {
		return
	}
	before := g.members[r.PortGID]
	if known := before&r.JoinState == r.JoinState; g.full && !known || g.ended && before == 0 {
		return
	}
	if refusal := h.table.checkJoin(h.table.groups[r.MGID], r, r.PortGID); refusal != nil {
		h.Fatalf("refused: %v", refusal)
	}
}

// Leave asks for the end of one.
func (h *history) Leave(t *rapid.T) {
	h.T = t
	r := h.request()
	g := h.model.groups[r.MGID]
	if g != nil {
		if rest := g.members[r.PortGID] &^ r.JoinState; rest == 0 || g.want != 0 {
			defer h.settle(r.MGID)
		}
	}
	if _, err := h.table.Leave(h.now, r); err == nil {
		h.model.leave(r.MGID, r.PortGID, r.JoinState)
	}
}

// settle takes a collected group without members out of the model, where the
// table has it no more.
func (h *history) settle(mgid ib.MGID) {
	if _, ok := h.table.Group(mgid); !ok {
		delete(h.model.groups, mgid)
	}
}

// Gone takes a port out of the subnet.
func (h *history) Gone(t *rapid.T) {
	h.T = t
	gid := rapid.SampledFrom(h.ports).Draw(t, "gone").GID
	h.table.PortGone(h.now, gid)
	for mgid := range h.model.groups {
		h.model.leave(mgid, gid, allJoinStates)
		h.settle(mgid)
	}
	if slices.Collect(h.table.GroupsOf(gid)) != nil {
		t.Fatalf("%v is still in groups", gid)
	}
}

// Advance lets time pass.
func (h *history) Advance(t *rapid.T) {
	h.T = t
	h.now = h.now.Add(time.Duration(rapid.IntRange(0, 6).Draw(t, "seconds")) * time.Second)
	h.table.Advance(h.now)
	if at, ok := h.table.NextDeadline(); ok && !at.After(h.now) {
		t.Fatalf("a deadline of %v is left at %v", at, h.now)
	}
}

// Take hands work out.
func (h *history) Take(t *rapid.T) {
	h.T = t
	b := h.table.Take(h.now, Kinds(rapid.IntRange(1, 7).Draw(t, "kinds")))
	if b.ID == 0 {
		return
	}
	h.batches = append(h.batches, b)
	for _, mlid := range b.Changed {
		h.model.installed[mlid] = h.union(mlid, ReceivingLeaveReq)
	}
}

// union gives the ports of an MLID in the slowest way, of groups up to a state.
func (h *history) union(mlid ib.MLID, last State) Ports {
	states := map[ib.GID]JoinState{}
	for g := range h.table.GroupsAt(mlid) {
		if g.State == ReceivingJoinReq || g.State > last {
			continue
		}
		for m := range h.table.Members(g.MGID) {
			states[m.Port] |= m.JoinState
		}
	}
	var p Ports
	for gid, s := range states {
		if s.Receives() {
			p.Receivers = append(p.Receivers, gid)
		} else {
			p.Senders = append(p.Senders, gid)
		}
	}
	return sortedPorts(p)
}

func sortedPorts(p Ports) Ports {
	slices.SortFunc(p.Receivers, ib.GID.Compare)
	slices.SortFunc(p.Senders, ib.GID.Compare)
	return p
}

// checkInstalled holds that whatever the switches should have is there or
// waits. What left a collected group is not rerouted, so that the switches may
// reach more for it; one that is left before it was routed is not routed at all.
func (h *history) checkInstalled() {
	for _, s := range h.table.slots {
		want := h.union(s.mlid, ReceivingLeaveReq)
		if got := sortedPorts(h.table.Ports(s.mlid, Ports{})); !equalPorts(got, want) {
			h.Fatalf("%v reaches %v, want %v", s.mlid, got, want)
		}
		if s.wants&(Changes|Completions) != 0 || s.retiring {
			continue
		}
		exact := !slices.ContainsFunc(s.groups, func(g *group) bool { return g.want != 0 })
		if got := h.model.installed[s.mlid]; exact && len(s.groups) > 0 && !equalPorts(got, want) || !covers(got, h.union(s.mlid, Ready)) {
			h.Fatalf("%v: the switches reach %v, want %v, and nothing waits", s.mlid, got, want)
		}
	}
}

func equalPorts(a, b Ports) bool {
	return slices.Equal(a.Receivers, b.Receivers) && slices.Equal(a.Senders, b.Senders)
}

// covers tells whether the first reaches all that the second does.
func covers(a, b Ports) bool {
	for _, gid := range b.Receivers {
		if !slices.Contains(a.Receivers, gid) {
			return false
		}
	}
	for _, gid := range b.Senders {
		if !slices.Contains(a.Senders, gid) && !slices.Contains(a.Receivers, gid) {
			return false
		}
	}
	return true
}

// Acknowledge ends a batch, in one of the ways.
func (h *history) Acknowledge(t *rapid.T) {
	h.T = t
	if len(h.batches) == 0 {
		t.Skip("no batch")
	}
	b := &h.batches[0]
	way := rapid.IntRange(0, 2).Draw(t, "way")
	if way > 0 {
		for _, mlid := range b.Vanished {
			delete(h.model.installed, mlid)
		}
		b.Vanished = nil // an acknowledgement that comes twice is none
		h.table.Removed(h.now, b.ID)
	}
	switch way {
	case 0:
		h.table.Failed(h.now, b.ID)
		h.batches = h.batches[1:]
	case 2:
		h.table.Programmed(h.now, b.ID)
		h.batches = h.batches[1:]
	}
}

// Failover goes on with the table that followed the journal.
func (h *history) Failover(t *rapid.T) {
	h.T = t
	config := h.table.config
	h.table = h.follower
	h.table.config = config
	follower, err := Restore(Config{}, h.table.AppendSnapshot(nil))
	if err != nil {
		t.Fatal(err)
	}
	h.follower, h.batches = follower, nil
	if err := h.table.Resume(h.now, h.table.Epoch()+1); err != nil {
		t.Fatal(err)
	}
}

// SetCap changes the number of MLIDs.
func (h *history) SetCap(t *rapid.T) {
	h.T = t
	h.table.SetCap(rapid.IntRange(1, 8).Draw(t, "cap"))
}

// Reserve keeps an MLID for a group.
func (h *history) Reserve(t *rapid.T) {
	h.T = t
	mlid := ib.FirstMLID + ib.MLID(rapid.IntRange(0, 8).Draw(t, "mlid"))
	h.table.reserve(h.now, []reservation{{rapid.SampledFrom(h.mgids).Draw(t, "mgid"), mlid}})
}

// Check holds after each step.
func (h *history) Check(t *rapid.T) {
	checkTable(t, h.table)
	checkTable(t, h.follower)
	if want, got := stateOf(h.table), stateOf(h.follower); !slices.Equal(want, got) {
		t.Fatalf("the journal gives another state (-want +got):\n%s", cmp.Diff(want, got))
	}
	h.checkInstalled()
	if len(h.table.groups) != len(h.model.groups) {
		t.Fatalf("%d groups, want %d", len(h.table.groups), len(h.model.groups))
	}
	for mgid, g := range h.model.groups {
		got := map[ib.GID]JoinState{}
		for m := range h.table.Members(mgid) {
			got[m.Port] = m.JoinState
		}
		if diff := cmp.Diff(g.members, got); diff != "" {
			t.Fatalf("members of %v (-want +got):\n%s", mgid, diff)
		}
	}
}

func TestHistories(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := newHistory(t)
		t.Repeat(rapid.StateMachineActions(h))
		restored, err := Restore(Config{}, h.table.AppendSnapshot(nil))
		if err != nil {
			t.Fatal(err)
		}
		checkTable(t, restored)
		if diff := cmp.Diff(stateOf(h.table), stateOf(restored)); diff != "" {
			t.Fatalf("the snapshot gives another state (-want +got):\n%s", diff)
		}
		h.checkCut()
	})
}

// checkCut holds that a journal that is cut off anywhere, as by a power failure,
// is one to resume from.
func (h *history) checkCut() {
	kept := rapid.IntRange(0, len(h.entries)).Draw(h.T, "kept")
	var journal []byte
	for _, e := range h.entries[:kept] {
		journal = e.AppendTo(journal)
	}
	table, err := New(Config{})
	if err != nil {
		h.Fatal(err)
	}
	for len(journal) > 0 {
		var e Entry
		if e, journal, err = ParseEntry(journal); err != nil {
			h.Fatal(err)
		}
		if err := table.Apply(e); err != nil {
			h.Fatal(err)
		}
	}
	if err := table.Resume(h.now, table.Epoch()+1); err != nil {
		h.Fatal(err)
	}
	checkTable(h, table)
}

// TestNothingLeaks ends with no trace of thousands of rounds of joins and
// leaves (M1), whether the work is taken or not.
func TestNothingLeaks(t *testing.T) {
	for _, work := range []bool{false, true} {
		table := newTable(t, Config{Cap: 4})
		r := plainJoin(1, 1)
		for range 1100 {
			r.JoinState = FullMember | SendOnlyFullMember
			mustJoin(t, table, r)
			if work {
				b := table.Take(start, Everything)
				table.Programmed(start, b.ID)
			}
			for _, bit := range []JoinState{FullMember, SendOnlyFullMember} {
				r.JoinState = bit
				if _, err := table.Leave(start, r); err != nil {
					t.Fatal(err)
				}
			}
			if work {
				b := table.Take(start, Everything)
				table.Removed(start, b.ID)
				table.Programmed(start, b.ID)
			}
			checkTable(t, table)
		}
		if diff := cmp.Diff(Stats{}, table.Stats()); diff != "" {
			t.Errorf("work taken %v: left over (-want +got):\n%s", work, diff)
		}
		if len(table.ports) != 0 || len(table.work.batches) != 0 || len(table.work.changed.slots) > 4 || len(table.slots) > 4 {
			t.Errorf("work taken %v: %d ports, %d batches, %d slots queued, %d slots", work, len(table.ports), len(table.work.batches), len(table.work.changed.slots), len(table.slots))
		}
	}
}
