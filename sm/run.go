package sm

import (
	"context"
	"fmt"
	"sync"
	"time"

	"heddle/mad"
	"heddle/sm/election"
	"heddle/sm/subnet"
	"heddle/umad"
)

// Run takes part in the election of the subnet's master, and as master brings
// the subnet up and keeps it up, until the context ends. It sweeps where a trap
// or a switch tells of a change, or where Resweep was called, and looks at each
// switch in an interval. In the end it hands the subnet over, if somebody is
// there to take it.
func (m *Manager) Run(ctx context.Context) error {
	if err := m.serve(); err != nil {
		return fmt.Errorf("subnet manager: %w", err)
	}
	if err := m.port.SetIsSM(true); err != nil {
		return fmt.Errorf("subnet manager: %w", err)
	}
	defer m.port.SetIsSM(false) //nolint:errcheck // the port ends, or somebody else has it
	working, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var workers sync.WaitGroup
	defer workers.Wait()
	defer cancel()
	m.life = working
	for _, q := range []*asked{m.asked, m.slow} {
		q.open()
		defer q.end()
	}
	for range serversOf(m.cfg) {
		workers.Go(func() { m.work(working, m.asked) })
	}
	workers.Go(func() { m.work(working, m.slow) })
	m.vote.do(func(e *election.Machine) { e.Start(time.Now()) })
	return m.loop(ctx, working)
}

// serversOf is how many goroutines answer for subnet administration.
func serversOf(c Config) int { return min(4, max(2, c.Workers)) }

// serve registers what the manager answers.
func (m *Manager) serve() error {
	traps := umad.Agent{Class: mad.ClassLID, Version: 1, Methods: []mad.Method{mad.MethodTrap}}
	if err := m.port.Handle(traps, m.trapped); err != nil {
		return err
	}
	if err := m.serveSMInfo(); err != nil {
		return err
	}
	return m.serveSA()
}

// loop runs until the machine leaves, which ctx's end makes it do.
func (m *Manager) loop(ctx, working context.Context) error {
	tick := time.NewTicker(m.cfg.Interval)
	defer tick.Stop()
	groups, deadline := time.NewTimer(time.Hour), time.NewTimer(time.Hour)
	defer groups.Stop()
	defer deadline.Stop()
	ended := ctx.Done()
	for {
		actions, _, next, ok := m.vote.take()
		for _, a := range actions {
			if m.act(working, a) {
				return nil
			}
		}
		if len(actions) > 0 {
			continue
		}
		if ok {
			deadline.Reset(time.Until(next))
		}
		m.watchGroups(groups)
		var err error
		select {
		case <-ended:
			ended = nil
			m.vote.do(func(e *election.Machine) { e.Stop(time.Now()) })
		case <-m.vote.acted:
		case <-deadline.C:
			m.vote.do(func(e *election.Machine) { e.Advance(time.Now()) })
		case why := <-m.wanted:
			err = m.asMaster(working, func(ctx context.Context) error { return m.settled(ctx, why) })
			tick.Reset(m.cfg.Interval)
		case <-tick.C:
			err = m.asMaster(working, m.look)
		case v := <-m.visits:
			m.visited(v)
		case done := <-m.reroutes:
			err = m.reroute(working, done)
		case source := <-m.babbling:
			err = m.asMaster(working, func(ctx context.Context) error { return m.silence(ctx, source) })
		case err := <-m.deposed():
			m.keeper.deposed(err)
		case <-m.keeper.broken:
			m.unkept(working)
		case <-m.joined:
		case <-groups.C:
			err = m.asMaster(working, m.serveGroups)
		case <-m.idle():
			err = m.asMaster(working, m.readAhead)
		}
		if err != nil {
			m.cfg.Log.Error("sweep", "error", err)
			m.again(working)
		}
	}
}

// asMaster does something that only the master may, if the manager is it. What
// is cut short since it is master no more is no error.
func (m *Manager) asMaster(ctx context.Context, f func(context.Context) error) error {
	if !m.leading {
		return nil
	}
	ctx, cancel := m.vote.writing(ctx)
	defer cancel()
	if err := f(ctx); err != nil && ctx.Err() == nil {
		return err
	}
	return nil
}

// Resweep asks for a sweep of the whole subnet, and says why. It may be called
// by any goroutine, and does not wait.
func (m *Manager) Resweep(why string) {
	select {
	case m.wanted <- why:
	default: // one is wanted already
	}
}

// again asks for another sweep after one that failed, but not at once.
func (m *Manager) again(ctx context.Context) {
	time.AfterFunc(m.cfg.Retry, func() {
		if ctx.Err() == nil {
			m.Resweep("the last sweep failed")
		}
	})
}

// wait lets time pass; false means that the context ended.
func (m *Manager) wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// settled sweeps after a moment, in which what belongs to the same event may
// come in: a switch that dies makes traps of all that were connected to it.
func (m *Manager) settled(ctx context.Context, why string) error {
	if m.view != nil && !m.wait(ctx, m.cfg.Settle) {
		return nil
	}
	select {
	case also := <-m.wanted:
		why += ", " + also
	default:
	}
	m.reconfigured()
	m.cfg.Log.Info("sweeping", "why", why)
	began := time.Now()
	r, err := m.Sweep(ctx)
	m.swept(began, why, r, err)
	if err != nil {
		return err
	}
	if r.Again {
		m.Resweep("links came up anew")
	}
	m.redo.after(time.Now(), r, m.view.Faults, m.cfg.Interval)
	m.managers(m.view) // may have got other LIDs
	if !m.programmed && ctx.Err() == nil {
		m.programmed = true
		m.vote.do(func(e *election.Machine) { e.Programmed(time.Now()) })
	}
	return nil
}

// look asks each switch whether a port of it changed, and sweeps if one did, or
// does not answer.
func (m *Manager) look(ctx context.Context) error {
	if m.view == nil {
		return nil
	}
	var switches []*subnet.Node
	for _, n := range m.view.Nodes {
		if n.IsSwitch() {
			switches = append(switches, n)
		}
	}
	why := ""
	if len(m.batches) > 0 {
		m.redo.begin(time.Now(), m.cfg.Interval)
	}
	if m.redo.due(time.Now(), m.cfg.Interval) {
		why = "something is left undone"
	}
	take := func() (n *subnet.Node, ok bool) {
		if len(switches) == 0 {
			return nil, false
		}
		n, switches = switches[0], switches[1:]
		return n, true
	}
	done := func(n *subnet.Node, d *mad.Datagram, err error) error {
		if err != nil {
			why = fmt.Sprintf("%s does not answer", n.Label())
			return nil
		}
		if info, err := mad.ParseSwitchInfo(d.Data()); err == nil && info.PortStateChange {
			why = fmt.Sprintf("a port of %s changed", n.Label())
		}
		return nil
	}
	request := func(n *subnet.Node) subnet.Request {
		return subnet.Request{Node: n, Path: n.Path, Method: mad.MethodGet, Attr: mad.AttrSwitchInfo}
	}
	if _, err := subnet.Exchange(ctx, m.port, m.cfg.Ask, take, request, done); err != nil {
		return err
	}
	if why != "" {
		m.Resweep(why)
		return nil
	}
	m.met(ctx, m.view) // who did not tell what it is when it came is asked again
	return nil
}
