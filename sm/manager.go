package sm

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"heddle/ib"
	"heddle/mad"
	"heddle/route"
	"heddle/sm/group"
	"heddle/sm/multicast"
	"heddle/sm/plan"
	"heddle/sm/subnet"
	"heddle/umad"
)

// Manager is a subnet manager at a port. Its methods are for one goroutine, but
// for Resweep, Reroute and Status.
type Manager struct {
	port    *umad.Port
	cfg     Config
	wanted  chan string   // holds one: why a sweep is wanted
	joined  chan struct{} // holds one: the groups may have changed
	alarm   atomic.Int64  // when the loop looks at the groups anyway, in Unix nanoseconds; see changed
	asked   *asked
	slow    *asked          // those that may wait for what ports answer
	life    context.Context // of Run
	reports reports
	redo    redo
	serving atomic.Pointer[serving]
	keeper  keeper
	retries int // of taking up the state, in a row
	started time.Time
	rivals  atomic.Pointer[map[ib.GUID]ib.LID] // of other managers, by port; nil before the first sweep
	engines []*engine                          // of unicast
	watches watches                            // over those of multicast
	router  *multicast.Router
	reach   atomic.Pointer[multicast.Reach] // of the router, for joins; nil before it was asked for
	vote    *vote
	tables  *tables
	// leading says that the manager is the master, programmed that it has swept
	// once as such.
	leading, programmed bool
	blind               bool             // the groups that there are cannot be known, see makeDo
	known               map[ib.GUID]bool // ports that were set up as master
	discovered          *subnet.View     // before it led; nil once it swept, or follows
	view                *subnet.View
	lids                plan.LIDs
	mlids               int // of the first MLIDs, so many were in use since the manager leads
	// batches are those that the groups handed out and that are not all in the
	// switches.
	batches []group.Batch
	ahead   []plan.Block // to be read when nothing else is to be done, see readAhead
	// unsettled are the MLIDs whose tables are not all written.
	unsettled []ib.MLID
	stages    Stages      // of all that was done so far
	lfts      *route.LFTs // of the last sweep
	given     map[ib.GUID]plan.LIDRange
	mkey      mad.MKey               // for all goroutines
	next      atomic.Pointer[Config] // see Reconfigure
	status    atomic.Pointer[Status] // without what is counted elsewhere; nil before the first sweep
	reroutes  chan chan<- Rerouted
	traps     *trapLedger
	babbling  chan trapSource // whose links are to be disabled
	visits    chan visit

	entriesMu sync.Mutex
	entries   []group.Entry // of the groups' journal, not told yet; guarded by entriesMu
}

// New makes the manager of a port's subnet, which stays the caller's to close.
func New(port *umad.Port, cfg Config) (*Manager, error) {
	cfg = cfg.filled()
	if len(cfg.Unicast) == 0 {
		return nil, errors.New("subnet manager: no unicast routing engine")
	}
	m := &Manager{
		port: port, cfg: cfg, wanted: make(chan string, 1), joined: make(chan struct{}, 1),
		reroutes: make(chan chan<- Rerouted), engines: newEngines(cfg.Unicast), watches: newWatches(cfg.Multicast), traps: newTrapLedger(cfg.Traps), babbling: make(chan trapSource, 16),
		visits: make(chan visit), given: cfg.LIDs.Keep, mkey: cfg.Ports.MKey,
		asked: newAsked(serversOf(cfg)), slow: newAsked(1), life: context.Background(),
		tables: &tables{held: plan.NewHeld(), walked: map[ib.GUID]bool{}}, known: map[ib.GUID]bool{},
	}
	m.cfg.LIDs.Keep = maps.Clone(m.given)
	m.cfg.Ask.Progress = func(int) { m.vote.active() }
	m.cfg.Ports.Reregister = func(p plan.PortRef) bool { return m.reregister(p.At().GUID) }
	m.keeper.broken, m.started = make(chan struct{}, 1), time.Now()
	var err error
	if m.vote, err = m.newVote(); err != nil {
		return nil, err
	}
	switch {
	case cfg.Memory != nil:
		m.keeper.memory = cfg.Memory
	case cfg.Store != nil:
		m.keeper.memory = alone{cfg.Store}
	}
	if err := m.begin(group.New); err != nil {
		return nil, fmt.Errorf("subnet manager: %w", err)
	}
	return m, nil
}

// Report is what a sweep did.
type Report struct {
	Nodes, Switches int
	// Asked are the requests of the sweep itself, Sent the SMPs of its stages,
	// Failed those of them that were not answered well.
	Asked, Sent, Failed int
	// Engine is the unicast engine that routed.
	Engine string
	// Cycle names links on which packets could wait for each other for ever, of
	// unicast and multicast together; empty where there are none such.
	Cycle string
	// Warnings are about the routing, each name at most once but for
	// EngineFailed.
	Warnings []Warning
	// Again says that links were taken down to come up with new settings, so
	// that another sweep has to follow.
	Again bool
}

// Sweep brings the subnet up: it looks at all of it and puts right what differs
// from the plan. Nodes that do not answer are named in the log, and left out.
func (m *Manager) Sweep(ctx context.Context) (*Report, error) {
	view, err := m.see(ctx)
	if err != nil {
		return nil, err
	}
	r := &Report{Asked: view.Requests}
	r.Nodes, r.Switches = len(view.Nodes), len(view.Fabric.Switches())
	if err := m.address(ctx, r); err != nil {
		return r, err
	}
	lfts, err := m.unicast(ctx, r)
	if err != nil {
		return r, err
	}
	if err := m.lanes(ctx, r); err != nil {
		return r, err
	}
	if err := m.realias(ctx, r); err != nil {
		return r, err
	}
	if err := m.multicast(ctx, r); err != nil {
		return r, err
	}
	stages, again := plan.Links(view, m.cfg.Ports)
	r.Again = again
	if err := m.run(ctx, r, stages...); err != nil {
		return r, err
	}
	m.deadlock(lfts, r)
	m.warnNotKept(r)
	m.tellPorts(m.show(lfts))
	m.save(ctx)
	m.lfts = lfts
	m.tellSwept(r)
	m.cfg.Log.Info("subnet up", "nodes", r.Nodes, "switches", r.Switches, "engine", r.Engine,
		"asked", r.Asked, "sent", r.Sent, "failed", r.Failed, "again", r.Again)
	return r, nil
}

// see looks at the subnet, and at the other managers in it before anything is
// written: where one of them is a better master, the context ends. A manager that
// comes up asks those that the discovery found once more, for the one that did
// not answer then, and so clears no PortStateChange that is another's to see.
func (m *Manager) see(ctx context.Context) (*subnet.View, error) {
	if v := m.discovered; v != nil {
		m.discovered = nil
		m.met(ctx, v)
	}
	view, err := subnet.Sweep(ctx, m.port, m.cfg.Ask)
	if err != nil {
		return nil, err
	}
	m.observe(view)
	m.met(ctx, view)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return view, nil
}

// observe takes over a view: it keeps the nodes that are silent only for the
// moment, and forgets what those held that were gone or lost their power.
func (m *Manager) observe(view *subnet.View) {
	before := map[ib.GUID]bool{}
	if m.view != nil {
		for _, n := range view.Keep(m.view, m.cfg.Patience) {
			m.cfg.Log.Warn("node does not answer, and is kept", "node", n.Label(), "sweeps", n.Stale)
		}
		for _, n := range m.view.Nodes {
			before[n.GUID()] = true
		}
	}
	for _, n := range view.Nodes {
		switch {
		case n.IsSwitch() && n.Switch.LinearFDBTop == 0 && n.Switch != (mad.SwitchInfo{}):
			m.tables.reset(n.GUID())
		case !before[n.GUID()] || mayHaveRestarted(n):
			m.tables.forget(n.GUID())
		}
	}
	for _, f := range view.Faults {
		m.cfg.Log.Warn("sweep", "fault", f.String())
	}
	m.view = view
}

// mayHaveRestarted tells whether a node may have lost what it held: a switch
// that forwards nothing, an adapter with a link that came up.
func mayHaveRestarted(n *subnet.Node) bool {
	if n.IsSwitch() {
		return n.Switch.LinearFDBTop == 0
	}
	return slices.ContainsFunc(n.Ports, func(p subnet.Port) bool { return p.Answered && p.Info.PortState == mad.PortInit })
}

// address gives the ports their P_Keys and LIDs.
func (m *Manager) address(ctx context.Context, r *Report) (err error) {
	keys, short := plan.PKeys(m.view, m.cfg.PKeys)
	for _, err := range short {
		m.cfg.Log.Warn("partitions", "error", err)
	}
	if err := m.run(ctx, r, keys); err != nil {
		return err
	}
	if m.lids, err = plan.AssignLIDs(m.view, m.cfg.LIDs); err != nil {
		return fmt.Errorf("LIDs: %w", err)
	}
	m.cfg.Ports.Manager = m.lids[m.own()].First
	if err := m.run(ctx, r, plan.Addresses(m.view, m.lids, m.cfg.Ports)); err != nil {
		return err
	}
	m.keepLIDs(ctx)
	clear(m.known)
	for p := range m.lids {
		m.known[p.At().GUID] = true
	}
	m.meetPorts()
	m.view.Rebuild()
	return nil
}

// unicast routes and writes the forwarding tables.
func (m *Manager) unicast(ctx context.Context, r *Report) (*route.LFTs, error) {
	tables, err := m.routeUnicast(ctx, r)
	if err != nil {
		return nil, err
	}
	if err := m.ask(ctx, plan.Unread(m.view, tables, m.tables.held)); err != nil {
		return nil, err
	}
	return tables, m.run(ctx, r, plan.Unicast(m.view, tables, m.tables.held)...)
}

func (m *Manager) routeUnicast(ctx context.Context, r *Report) (*route.LFTs, error) {
	defer m.computing("unicast routing")()
	g := route.NewGraph(m.view.Fabric, route.Selection{})
	h, err := guarded(func() (*route.Hops, error) { return route.NewHops(g, m.cfg.Workers) })
	if err != nil {
		return nil, fmt.Errorf("hops: %w", err)
	}
	lids, err := route.LIDsOf(m.view.Fabric)
	if err != nil {
		return nil, fmt.Errorf("LIDs: %w", err)
	}
	return m.route(ctx, g, h, lids, r)
}

// multicast moves the groups' trees to what the sweep saw, and writes them.
func (m *Manager) multicast(ctx context.Context, r *Report) error {
	if m.blind {
		return nil
	}
	var kept []ib.MGID
	var err error
	m.server().Groups(func(t *group.Table) {
		t.SetCap(multicastCap(m.view))
		kept, err = t.Configure(time.Now(), configured(m.cfg.PKeys))
	})
	if err != nil {
		m.cfg.Log.Warn("configured groups", "error", err)
	}
	for _, mgid := range kept {
		m.cfg.Log.Warn("a group is not configured any more, and has members", "mgid", mgid)
	}
	report, err := m.rebase()
	if err != nil {
		m.cfg.Log.Error("multicast routing", "error", err)
		return nil // the old trees stay
	}
	m.told(report, r)
	if !m.programmed { // the trees that are there stay
		if err := m.read(ctx, m.router.Ahead(m.tables.held, m.seenMLIDs(), nil), &m.stages.Reading); err != nil {
			return err
		}
		m.router.Adopt(m.tables.held)
	}
	m.takeGroups(ctx, r)
	m.router.Adopt(nil)
	if err := m.readSeen(ctx); err != nil {
		return err
	}
	m.planAhead()
	return m.program(ctx, r)
}

func (m *Manager) rebase() (multicast.Report, error) {
	defer m.computing("multicast routing")()
	defer timed(&m.stages.Routing)()
	m.watches.begin()
	return m.router.Rebase(m.view)
}

// deadlock looks for packets that could wait for each other in a ring. Updown
// joins switches that it has no allowed path for, so that a damaged tree may
// have such a ring though no host's packets use it.
func (m *Manager) deadlock(lfts *route.LFTs, r *Report) {
	if m.blind {
		return
	}
	defer m.computing("the search for deadlocks")()
	cycle, err := m.router.Dependencies(lfts)
	switch {
	case err != nil:
		m.cfg.Log.Warn("channel dependencies not looked at", "error", err)
	case cycle.Cyclic():
		r.Cycle = cycle.Text(m.view.Fabric)
		m.warn(r, Deadlock, "packets could wait for each other in a ring: "+r.Cycle)
	}
}

// run sends stages, one after the other.
func (m *Manager) run(ctx context.Context, r *Report, stages ...plan.Stage) error {
	for i := range stages {
		failed, err := m.send(ctx, &stages[i])
		r.Sent += len(stages[i].SMPs)
		r.Failed += len(failed)
		if n := len(stages[i].SMPs); n > 0 {
			m.cfg.Log.Debug("stage", "name", stages[i].Name, "smps", n, "failed", failed)
		}
		if err != nil {
			return fmt.Errorf("stage %s: %w", stages[i].Name, err)
		}
	}
	return nil
}

// send sends a stage, and gives what is not answered, or refused, which is named
// in the log.
func (m *Manager) send(ctx context.Context, s *plan.Stage) (failed []*plan.SMP, err error) {
	next := 0
	take := func() (*plan.SMP, bool) {
		for next < len(s.SMPs) {
			next++
			q := &s.SMPs[next-1]
			if q.Node.Stale == 0 {
				return q, true
			}
			failed = append(failed, q) // the silent are not asked: when they answer again, a sweep follows
		}
		return nil, false
	}
	done := func(q *plan.SMP, d *mad.Datagram, err error) error {
		m.vote.active()
		if err != nil {
			m.tables.unsure(q.Node.GUID(), q.Attr, q.Modifier)
			m.tables.doubt(q)
		} else {
			m.tables.told(q, d)
		}
		if err == nil && d.Status() != mad.StatusOK {
			err = fmt.Errorf("status %v", d.Status())
		}
		if err != nil {
			failed = append(failed, q)
			m.cfg.Log.Warn("set", "stage", s.Name, "node", q.Node.Label(), "attribute", q.Attr.Name(mad.ClassDirected), "modifier", q.Modifier, "error", err)
			return nil
		}
		m.tables.answered(q.Node.GUID(), q.Attr, q.Modifier, d.Data())
		q.Node.Answered(q.Attr, q.Modifier, d.Data())
		return nil
	}
	_, err = subnet.Exchange(ctx, m.port, m.cfg.Ask, take, request, done)
	return failed, err
}

func request(q *plan.SMP) subnet.Request {
	return subnet.Request{
		Node: q.Node, Path: q.Path(), Method: mad.MethodSet, Attr: q.Attr, Modifier: q.Modifier, Data: q.Data[:],
	}
}
