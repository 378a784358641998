package election

import (
	"time"

	"heddle/mad"
)

// Resign ends a mastership that cannot go on, such as one that cannot keep the
// state. With handOver the best standby is asked to take the subnet, if there is
// one; else, and where another manager leads already, that is looked for. The
// manager does not lead again for Config.Hold, doubled each time up to HoldMax,
// unless no other manager is there or becomes master: HANDOVERs are refused
// meanwhile. It does nothing to a manager that is not master.
func (m *Machine) Resign(now time.Time, reason string, handOver bool) {
	m.at(now)
	if m.info.SMState != mad.SMMaster || m.stopping {
		return
	}
	if m.now.Sub(m.since) >= m.cfg.Settle {
		m.resigned = 0
	}
	m.shyUntil = m.now.Add(min(m.cfg.Hold<<min(m.resigned, 16), m.cfg.HoldMax))
	m.resigned++
	if heir := m.heir(); handOver && heir != nil {
		m.tell(heir, mad.SMControlHandover, m.info, reason)
		m.follow(heir, "is to take over: "+reason)
		return
	}
	m.discover(reason)
}

// heir is the best standby.
func (m *Machine) heir() *peer {
	for _, p := range m.ranked(func(p *peer) bool { return p.Info.SMState == mad.SMStandby && len(p.Path) > 0 }) {
		return p
	}
	return nil
}

// HasHeir tells whether a standby could take the subnet.
func (m *Machine) HasHeir() bool { return m.heir() != nil }

// shy tells whether the manager resigned not long ago.
func (m *Machine) shy() bool { return m.now.Before(m.shyUntil) }

// concludeShy ends the discovery of a manager that should not lead: it waits for
// the best of the others to do so, once, or else until its time is over.
func (m *Machine) concludeShy() {
	others := m.ranked(func(p *peer) bool { return !m.held(p) })
	if len(others) > 0 && !m.waited {
		m.follow(others[0], "should be the master, as we resigned")
		return
	}
	if len(others) > 0 {
		m.lead("we resigned, but no other manager becomes the master")
		return
	}
	m.retry, m.next = true, m.shyUntil
}
