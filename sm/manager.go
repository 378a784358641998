package sm

import (
	"context"
	"errors"
	"fmt"

	"heddle/ib"
	"heddle/mad"
	"heddle/route"
	"heddle/sm/plan"
	"heddle/sm/subnet"
	"heddle/umad"
)

// Manager is a subnet manager at a port. Its methods are for one goroutine, but
// for Resweep.
type Manager struct {
	port   *umad.Port
	cfg    Config
	wanted chan string // holds one: why a sweep is wanted
	held   *plan.Held
	view   *subnet.View
	lids   plan.LIDs
}

// New makes the manager of a port's subnet, which stays the caller's to close.
func New(port *umad.Port, cfg Config) (*Manager, error) {
	cfg = cfg.filled()
	if len(cfg.Unicast) == 0 {
		return nil, errors.New("subnet manager: no unicast routing engine")
	}
	return &Manager{port: port, cfg: cfg, wanted: make(chan string, 1), held: plan.NewHeld()}, nil
}

// View is what the last sweep saw; nil before the first.
func (m *Manager) View() *subnet.View { return m.view }

// Report is what a sweep did.
type Report struct {
	Nodes, Switches int
	// Asked are the requests of the sweep itself, Sent the SMPs of its stages,
	// Failed those of them that were not answered well.
	Asked, Sent, Failed int
	// Engine is the unicast engine that routed.
	Engine string
	// Again says that links were taken down to come up with new settings, so
	// that another sweep has to follow.
	Again bool
}

// Sweep brings the subnet up: it looks at all of it and puts right what differs
// from the plan. Nodes that do not answer are named in the log, and left out.
func (m *Manager) Sweep(ctx context.Context) (*Report, error) {
	view, err := subnet.Sweep(ctx, m.port, m.cfg.Ask)
	if err != nil {
		return nil, err
	}
	r := &Report{Asked: view.Requests}
	m.observe(view)
	r.Nodes, r.Switches = len(view.Nodes), len(view.Fabric.Switches())
	if err := m.address(ctx, r); err != nil {
		return r, err
	}
	if err := m.unicast(ctx, r); err != nil {
		return r, err
	}
	stages, again := plan.Links(view, m.cfg.Ports)
	r.Again = again
	if err := m.run(ctx, r, stages...); err != nil {
		return r, err
	}
	m.cfg.Log.Info("subnet up", "nodes", r.Nodes, "switches", r.Switches, "engine", r.Engine, "sent", r.Sent, "failed", r.Failed)
	return r, nil
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
		if !before[n.GUID()] || n.IsSwitch() && n.Switch.LinearFDBTop == 0 {
			m.held.Forget(n.GUID())
		}
	}
	for _, f := range view.Faults {
		m.cfg.Log.Warn("sweep", "fault", f.String())
	}
	m.view = view
}

// address gives the ports their LIDs, the manager's own first of all.
func (m *Manager) address(ctx context.Context, r *Report) (err error) {
	if m.lids, err = plan.AssignLIDs(m.view, m.cfg.LIDs); err != nil {
		return fmt.Errorf("LIDs: %w", err)
	}
	own := plan.PortRef{Node: m.view.Nodes[m.view.Own.Node], Port: uint8(m.view.Own.Port)}
	m.cfg.Ports.Manager = m.lids[own].First
	if err := m.run(ctx, r, plan.Addresses(m.view, m.lids, m.cfg.Ports)); err != nil {
		return err
	}
	m.view.Rebuild()
	return nil
}

// unicast routes and writes the forwarding tables.
func (m *Manager) unicast(ctx context.Context, r *Report) error {
	g := route.NewGraph(m.view.Fabric, route.Selection{})
	h, err := route.NewHops(g, m.cfg.Workers)
	if err != nil {
		return fmt.Errorf("hops: %w", err)
	}
	lids, err := route.LIDsOf(m.view.Fabric)
	if err != nil {
		return fmt.Errorf("LIDs: %w", err)
	}
	tables, err := m.route(g, h, lids, r)
	if err != nil {
		return err
	}
	return m.run(ctx, r, plan.Unicast(m.view, tables, m.held)...)
}

// route tries the engines until one makes tables.
func (m *Manager) route(g *route.Graph, h *route.Hops, lids *route.LIDs, r *Report) (*route.LFTs, error) {
	var failed error
	for _, e := range m.cfg.Unicast {
		tables, err := guarded(func() (*route.LFTs, error) { return e.Route(g, h, lids, m.cfg.Workers) })
		if err == nil {
			r.Engine = e.Name
			return tables, nil
		}
		failed = fmt.Errorf("unicast engine %s: %w", e.Name, err)
		m.cfg.Log.Warn("routing", "engine", e.Name, "error", err)
	}
	return nil, failed
}

// guarded turns a panic of an engine into an error.
func guarded[T any](f func() (T, error)) (v T, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return f()
}

// run sends stages, one after the other.
func (m *Manager) run(ctx context.Context, r *Report, stages ...plan.Stage) error {
	for i := range stages {
		failed, err := m.send(ctx, &stages[i])
		r.Sent += len(stages[i].SMPs)
		r.Failed += failed
		if err != nil {
			return fmt.Errorf("stage %s: %w", stages[i].Name, err)
		}
	}
	return nil
}

// send sends a stage. What is not answered, or refused, is named in the log and
// counted.
func (m *Manager) send(ctx context.Context, s *plan.Stage) (failed int, err error) {
	next := 0
	take := func() (*plan.SMP, bool) {
		for next < len(s.SMPs) {
			next++
			if q := &s.SMPs[next-1]; q.Node.Stale == 0 {
				return q, true
			}
			failed++ // the silent are not asked: when they answer again, a sweep follows
		}
		return nil, false
	}
	done := func(q *plan.SMP, d *mad.Datagram, err error) error {
		if err == nil && d.Status() != mad.StatusOK {
			err = fmt.Errorf("status %v", d.Status())
		}
		if err != nil {
			failed++
			m.cfg.Log.Warn("set", "stage", s.Name, "node", q.Node.Label(), "attribute", q.Attr.Name(mad.ClassDirected), "modifier", q.Modifier, "error", err)
			return nil
		}
		m.held.Answered(q.Node.GUID(), q.Attr, q.Modifier, d.Data())
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
