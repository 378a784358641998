package sm

import (
	"context"

	"heddle/mad"
	"heddle/sm/group"
	"heddle/sm/plan"
	"heddle/sm/subnet"
)

// lanes has service levels go by the lanes that links have, where that matters.
func (m *Manager) lanes(ctx context.Context, r *Report) error {
	m.cfg.Ports.QoS = nil
	if !m.cfg.QoS.Always && !m.usesLevels() {
		return nil
	}
	m.cfg.Ports.QoS = m.cfg.QoS
	asked, err := m.readTables(ctx, m.tables.unknownLanes(m.view, m.cfg.Ports))
	r.Asked += asked
	if err != nil {
		return err
	}
	return m.run(ctx, r, m.tables.laneStage(m.view, m.cfg.Ports))
}

// usesLevels tells whether any service level but 0 is in use.
func (m *Manager) usesLevels() (uses bool) {
	if m.cfg.Ports.SL != 0 {
		return true
	}
	for _, p := range m.cfg.PKeys.Config().Partitions() {
		uses = uses || p.SL != 0
	}
	m.server().Groups(func(t *group.Table) {
		for g := range t.Groups() {
			uses = uses || g.SL != 0
		}
	})
	return uses
}

// readTables asks for tables of ports, and remembers what they told. It may be
// called by any goroutine.
func (m *Manager) readTables(ctx context.Context, list []plan.SMP) (asked int, err error) {
	next := 0
	take := func() (q *plan.SMP, ok bool) {
		for next < len(list) && list[next].Node.Stale > 0 {
			next++
		}
		if next == len(list) {
			return nil, false
		}
		next++
		return &list[next-1], true
	}
	request := func(q *plan.SMP) subnet.Request {
		return subnet.Request{Node: q.Node, Path: q.Path(), Method: mad.MethodGet, Attr: q.Attr, Modifier: q.Modifier}
	}
	done := func(q *plan.SMP, d *mad.Datagram, err error) error {
		if err == nil {
			m.tables.told(q, d)
		}
		return nil
	}
	return subnet.Exchange(ctx, m.port, m.cfg.Ask, take, request, done)
}
