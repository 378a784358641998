package sm

import (
	"context"
	"fmt"
	"sync"
	"time"

	"heddle/mad"
	"heddle/sm/subnet"
	"heddle/umad"
)

// Run brings the subnet up and keeps it up, until the context ends. It sweeps
// where a trap or a switch tells of a change, or where Resweep was called, and
// looks at each switch in an interval.
func (m *Manager) Run(ctx context.Context) error {
	traps := umad.Agent{Class: mad.ClassLID, Version: 1, Methods: []mad.Method{mad.MethodTrap}}
	if err := m.port.Handle(traps, m.trapped); err != nil {
		return fmt.Errorf("subnet manager: %w", err)
	}
	if err := m.serveSA(); err != nil {
		return fmt.Errorf("subnet manager: %w", err)
	}
	if err := m.port.SetIsSM(true); err != nil {
		return fmt.Errorf("subnet manager: %w", err)
	}
	defer m.port.SetIsSM(false) //nolint:errcheck // the port ends, or somebody else has it
	ctx, cancel := context.WithCancel(ctx)
	var workers sync.WaitGroup
	defer workers.Wait()
	defer cancel()
	for range min(4, m.cfg.Workers) {
		workers.Go(func() { m.work(ctx) })
	}
	m.Resweep("start")
	tick := time.NewTicker(m.cfg.Interval)
	defer tick.Stop()
	groups := time.NewTimer(time.Hour)
	defer groups.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return nil
		case why := <-m.wanted:
			err = m.settled(ctx, why)
		case <-tick.C:
			err = m.look(ctx)
		case done := <-m.reroutes:
			err = m.reroute(ctx, done)
		case <-m.joined:
		case <-groups.C:
			err = m.serveGroups(ctx)
		}
		if at, ok := m.groupsDue(); ok && m.view != nil {
			groups.Reset(time.Until(at))
		}
		if err != nil && ctx.Err() == nil {
			m.cfg.Log.Error("sweep", "error", err)
			m.retry(ctx)
		}
	}
}

// Resweep asks for a sweep of the whole subnet, and says why. It may be called
// by any goroutine, and does not wait.
func (m *Manager) Resweep(why string) {
	select {
	case m.wanted <- why:
	default: // one is wanted already
	}
}

// retry asks for another sweep after one that failed, but not at once.
func (m *Manager) retry(ctx context.Context) {
	if m.wait(ctx, m.cfg.Retry) {
		m.Resweep("the last sweep failed")
	}
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
	m.cfg.Log.Info("sweeping", "why", why)
	began := time.Now()
	r, err := m.Sweep(ctx)
	m.swept(began, why, r, err)
	if err == nil && r.Again {
		m.Resweep("links came up anew")
	}
	return err
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
		why = "multicast tables are not all written"
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
	}
	return nil
}
