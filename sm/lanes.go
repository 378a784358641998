package sm

import (
	"context"

	"heddle/sm/group"
)

// lanes has service levels go by the lanes that links have, where that matters.
func (m *Manager) lanes(ctx context.Context, r *Report) error {
	m.cfg.Ports.QoS = nil
	if !m.cfg.QoS.Always && !m.usesLevels() {
		return nil
	}
	m.cfg.Ports.QoS = m.cfg.QoS
	asked, err := m.tables.read(ctx, m.port, m.cfg.Ask, m.tables.unknownLanes(m.view, m.cfg.Ports))
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
