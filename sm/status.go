package sm

import (
	"context"
	"errors"
	"fmt"
	"time"

	"heddle/ib"
	"heddle/mad"
	"heddle/sm/admin"
	"heddle/sm/group"
	"heddle/sm/multicast"
	"heddle/sm/replica"
)

// Status is how a Manager is. Nothing changes a Status that was given out.
type Status struct {
	// Info has the manager's state, priority and GUID, LID is that of its port,
	// 0 before the first sweep.
	Info mad.SMInfo
	LID  ib.LID
	// Nodes, Switches and Links are what the last sweep found.
	Nodes, Switches, Links int
	// Sweeps and Batches count the sweeps, and the batches of groups that were
	// routed between them; Failed are the sweeps that did not come to their end.
	Sweeps, Batches, Failed uint64
	// Last is the last sweep.
	Last SweepStatus
	// Asked, Sent and Refused count the SMPs of all of them: requests for what
	// there is, what was written, and what of that was not taken.
	Asked, Sent, Refused uint64
	// Unsettled are the MLIDs whose tables are not all written.
	Unsettled []ib.MLID
	// MaxEFI is how many trees the most loaded link between switches carries,
	// TreeLinks how many links all trees have together.
	MaxEFI, TreeLinks int
	// Stages is what groups took in all, Batch what the last batch of them took.
	Stages, Batch Stages

	// Groups counts the groups, ByState those that are collected, and 0 has the
	// others. SA counts requests. Both are of the moment.
	Groups  group.Stats
	ByState map[group.State]int
	// Sharing are the groups that share their MLID with others.
	Sharing int
	SA      admin.Stats
	// Started is when the manager was made.
	Started time.Time
	// Managers are the other subnet managers of the subnet, by GUID.
	Managers []OtherManager
	// Replica is how the state is shared with other managers; nil where it is
	// not.
	Replica *replica.Status
	// Silent are nodes that do not answer though a link to them is up, CutOff
	// members of groups that are not reached, as of the last sweep or batch.
	Silent []SilentNode
	CutOff []multicast.CutOff
	// NotKept is why joins and the like are not kept, and so answered BUSY; nil
	// where they are, or need not be.
	NotKept error
	// Ports told of errors on their links or of wrong keys, the unhealthy first.
	// Traps counts all traps by number, 0 for those of vendors. Both are of the
	// moment.
	Ports []PortTraps
	Traps map[mad.TrapNumber]uint64
}

// SweepStatus is a sweep that was.
type SweepStatus struct {
	Report
	Why  string
	At   time.Time // when it began; zero before the first
	Took time.Duration
	Err  error // why it did not come to its end
}

// Status tells how the manager is. It may be called by any goroutine; what the
// manager's own goroutine does is shown as after its last sweep or batch.
func (m *Manager) Status() Status {
	var s Status
	if known := m.status.Load(); known != nil {
		s = *known
	}
	s.Info = m.vote.info()
	s.SA = m.server().Stats()
	s.NotKept, s.Started = m.keeper.err(), m.started
	s.Managers, s.Replica = m.others(), m.shared()
	s.Ports, s.Traps = m.traps.ports(time.Now())
	s.ByState = map[group.State]int{}
	m.server().Groups(func(t *group.Table) {
		if s.Groups = t.Stats(); s.Groups.Shared > 0 {
			s.Sharing = sharing(t)
		}
		for g := range t.Groups() {
			s.ByState[g.State]++
		}
	})
	return s
}

// Groups lets a function look at the groups, which it must not change. It may
// be called by any goroutine; joins wait meanwhile.
func (m *Manager) Groups(f func(t *group.Table)) { m.server().Groups(f) }

// publish shows a status to others, changed as is asked for.
func (m *Manager) publish(change func(s *Status)) {
	var s Status
	if known := m.status.Load(); known != nil {
		s = *known
	}
	if m.view != nil {
		s.LID = m.cfg.Ports.Manager
		s.Nodes, s.Switches, s.Links = len(m.view.Nodes), len(m.view.Fabric.Switches()), m.view.Fabric.NumLinks()
	}
	s.MaxEFI, s.TreeLinks = m.router.Load()
	s.Silent, s.CutOff = m.silent(), m.router.CutOff()
	s.Unsettled = m.unsettled
	s.Stages = m.stages
	change(&s)
	m.status.Store(&s)
}

// swept publishes a sweep; its report may be nil.
func (m *Manager) swept(began time.Time, why string, r *Report, err error) {
	if r == nil {
		r = &Report{}
	}
	m.publish(func(s *Status) {
		s.Sweeps++
		if err != nil {
			s.Failed++
		}
		s.Last = SweepStatus{Report: *r, Why: why, At: began, Took: time.Since(began), Err: err}
		s.add(r)
	})
}

// routed publishes a batch of groups, which began when the stages were as
// before.
func (m *Manager) routed(r *Report, before Stages) {
	m.publish(func(s *Status) {
		s.Batches++
		s.Batch = m.stages.minus(before)
		s.add(r)
	})
}

func (s *Status) add(r *Report) {
	s.Asked += uint64(r.Asked)
	s.Sent += uint64(r.Sent)
	s.Refused += uint64(r.Failed)
}

// Rerouted is what Reroute did.
type Rerouted struct {
	// Before and After are the MaxEFI of the trees.
	Before, After int
	Sent, Failed  int // SMPs
	Took          time.Duration
	Err           error
}

// Reroute has Run lay the trees of all groups anew, and waits until they are in
// the switches. It may be called by any goroutine.
func (m *Manager) Reroute(ctx context.Context) (Rerouted, error) {
	done := make(chan Rerouted, 1)
	select {
	case m.reroutes <- done:
	case <-ctx.Done():
		return Rerouted{}, fmt.Errorf("reroute: %w", context.Cause(ctx))
	}
	select {
	case r := <-done:
		return r, r.Err
	case <-ctx.Done():
		return Rerouted{}, fmt.Errorf("reroute: %w", context.Cause(ctx))
	}
}

// reroute does what Reroute asks for.
func (m *Manager) reroute(ctx context.Context, done chan<- Rerouted) error {
	if !m.leading || m.view == nil || m.blind {
		done <- Rerouted{Err: errors.New("reroute: the manager is not the master, or its first sweep has not ended")}
		return nil
	}
	return m.asMaster(ctx, func(ctx context.Context) error {
		r := m.rerouted(ctx)
		done <- r
		return r.Err
	})
}

func (m *Manager) rerouted(ctx context.Context) (r Rerouted) {
	began, before := time.Now(), m.stages
	var report Report
	r.Before, _ = m.router.Load()
	m.told(m.relay(), &report)
	r.Err = m.program(ctx, &report)
	m.routed(&report, before)
	r.After, _ = m.router.Load()
	r.Sent, r.Failed, r.Took = report.Sent, report.Failed, time.Since(began)
	return r
}

func (m *Manager) relay() multicast.Report {
	defer m.computing("multicast routing")()
	defer timed(&m.stages.Routing)()
	m.watches.begin()
	return m.router.Reroute()
}
