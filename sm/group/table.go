package group

import (
	"time"

	"heddle/ib"
)

// Table holds the groups of a subnet. It is for one goroutine at a time.
type Table struct {
	config Config
	epoch  uint64
	seq    uint64
	now    int64 // the latest time seen, in Unix nanoseconds

	groups    map[ib.MGID]*group
	list      []*group // all of groups
	ports     map[ib.GID]*port
	members   int // of all groups
	collected int // groups
	// collecting is how many of them wait for members, gathered when one of them
	// last got one.
	collecting int
	gathered   int64
	generated  uint32 // the number in the next MGID that the table makes up
	deadlines  deadlines

	mlids    allocator
	slots    []*slot // by MLID - FirstMLID, as far as they were ever used
	retiring int     // slots
	memory   map[ib.MGID]ib.MLID
	sharers  map[class][]*slot
	turn     uint64 // where the search for one to share goes on
	// solicited has the MLID of solicited-node groups, by solicitedKey.
	solicited map[ib.MGID]ib.MLID
	work      work
	stamp     uint64 // of the latest Ports
}

// New makes a table without groups.
func New(config Config) (*Table, error) {
	config, err := config.withDefaults()
	if err != nil {
		return nil, err
	}
	return &Table{
		config: config, groups: map[ib.MGID]*group{}, ports: map[ib.GID]*port{},
		memory: map[ib.MGID]ib.MLID{}, sharers: map[class][]*slot{},
		solicited: map[ib.MGID]ib.MLID{},
		work:      work{batches: map[uint64]*outstanding{}},
	}, nil
}

// lastTime is the end of time, in 2116, so that none overflows.
const lastTime = 1<<62 - 1

// see takes note of the time.
func (t *Table) see(now time.Time) { t.now = max(t.now, min(now.UnixNano(), lastTime)) }

// commit numbers a change, makes it, and tells the journal. Only changes that
// hold are committed, so that apply has nothing to object to.
func (t *Table) commit(e Entry) {
	e.Seq, e.Epoch, e.At = t.seq+1, max(e.Epoch, t.epoch), t.now
	if t.apply(&e) != nil {
		return
	}
	t.seq = e.Seq
	if t.config.Journal != nil {
		t.config.Journal(e)
	}
}

// canonical gives the GID with the subnet's prefix of a port that is addressed
// by the default prefix.
func (t *Table) canonical(gid ib.GID) ib.GID {
	if gid.Prefix() == ib.DefaultPrefix {
		return ib.NewGID(t.config.Prefix, gid.GUID())
	}
	return gid
}

// settle gives a group the state that its members make: the only place where
// it is decided, so that nothing but the members can keep a group.
func (t *Table) settle(g *group) {
	switch {
	case g.configured || g.state == Destroying:
	case g.want == 0:
		if !g.kept() {
			t.destroy(g)
		}
	case len(g.members) == 0:
		t.destroy(g)
	case g.state == ReceivingJoinReq:
		if len(g.members) >= int(g.want) {
			t.move(g, ComputingRoutes)
		}
	case g.state != ReceivingLeaveReq && len(g.members) < int(g.want):
		t.move(g, ReceivingLeaveReq)
	}
}

// move brings a collected group into a state, from now on.
func (t *Table) move(g *group, s State) {
	t.commit(Entry{Kind: EntryState, MGID: g.mgid, State: s, Deadline: t.limit(s)})
}

func (t *Table) limit(s State) int64 {
	switch s {
	case ReceivingJoinReq:
		return t.after(t.config.JoinLimit)
	case ReceivingLeaveReq:
		return t.after(t.config.LeaveLimit)
	default:
		return 0
	}
}

func (t *Table) after(d time.Duration) int64 { return t.now + min(int64(d), lastTime-t.now) }

// destroy ends a group. Where the switches may have entries of it that serve
// no other group, its MLID retires, and a collected group stays to be seen
// until they are gone.
func (t *Table) destroy(g *group) {
	s := t.slot(g.mlid)
	retires := s.handed && len(s.groups) == 1
	if retires && g.want != 0 {
		t.move(g, Destroying)
		return
	}
	t.commit(Entry{Kind: EntryDeleted, MGID: g.mgid, Retires: retires})
}

// NextDeadline tells when Advance has something to do; false where nothing
// waits for a time.
func (t *Table) NextDeadline() (time.Time, bool) {
	if len(t.deadlines) == 0 {
		return time.Time{}, false
	}
	return instant(t.deadlines[0].deadline), true
}

// Advance destroys the collected groups whose time is over.
func (t *Table) Advance(now time.Time) {
	t.see(now)
	for len(t.deadlines) > 0 && t.deadlines[0].deadline <= t.now {
		t.destroy(t.deadlines[0])
	}
}

// PortGone takes a port out of all its groups, as if it had left them: it has
// gone out of the subnet. An alias is a port of its own here.
func (t *Table) PortGone(now time.Time, gid ib.GID) {
	t.see(now)
	p := t.ports[t.canonical(gid)]
	if p == nil {
		return
	}
	for len(p.groups) > 0 {
		g := p.groups[len(p.groups)-1]
		t.commit(Entry{Kind: EntryLeft, MGID: g.mgid, Port: p.gid})
		t.settle(g)
	}
}
