package election

import (
	"fmt"
	"time"

	"heddle/mad"
)

// Programmed tells that the first sweep as the master is complete. Until then
// the subnet is handed over only to another master, or after Config.Settle.
func (m *Machine) Programmed(now time.Time) {
	m.at(now)
	if m.info.SMState == mad.SMMaster {
		m.writing = false
		m.considerAll()
	}
}

// considerAll looks whether another manager should be master in our place.
func (m *Machine) considerAll() {
	if m.stopping {
		return
	}
	rivals := m.ranked(m.outranks)
	for _, p := range rivals {
		if isMaster(p) {
			m.yield(p)
			return
		}
	}
	for _, p := range rivals {
		if p.Info.SMState == mad.SMStandby && m.ready(p) {
			m.handOver(p)
			return
		}
	}
}

// ready tells whether a better standby may be handed the subnet now.
func (m *Machine) ready(p *peer) bool {
	return !m.held(p) && (!m.writing || m.now.Sub(m.since) >= m.cfg.Settle)
}

// yield leaves the subnet to another master. That it hears of this is not
// waited for: it is master, whatever becomes of the HANDOVER.
func (m *Machine) yield(p *peer) {
	m.tell(p, mad.SMControlHandover, m.info, "two masters, and the other is better")
	m.follow(p, "is master too, and better")
}

// handOver asks a better standby to be the master. Until it says that it will,
// we are. One HANDOVER is under way at a time.
func (m *Machine) handOver(p *peer) {
	for _, o := range m.ops {
		if o.control == mad.SMControlHandover {
			return
		}
	}
	if p.asked == 0 {
		m.tell(p, mad.SMControlHandover, m.info, "a standby is better")
	}
}

// handedOver takes the answer to a HANDOVER; p is nil where the other is not
// known any more.
func (m *Machine) handedOver(p *peer, status mad.Status) {
	switch {
	case m.stopping && status == mad.StatusOK:
		m.leave("stopped, and the subnet is handed over")
	case m.stopping:
		m.bequeath()
	case p == nil:
	case status != mad.StatusOK:
		m.note(p, fmt.Sprintf("refuses the HANDOVER (status %v)%s", status, m.holdOff(p)))
	default:
		m.follow(p, "takes over")
		m.watch.given = true
	}
}

// pollRivals asks the managers that matter to a master: other masters, better
// ones, those that were wedged, and those that were master before.
func (m *Machine) pollRivals() {
	for _, p := range m.sortedPeers() {
		h := m.past[p.Port]
		wedged := h != nil && h.wedged
		if wedged || !p.heard || m.counts(p) && (isMaster(p) || m.outranks(p) && m.ready(p)) {
			m.ask(p)
		}
	}
}

// bequeath hands the subnet to the best standby that was not tried, and ends
// where there is none. After the standbys come the managers that say that they
// are master too, and those that handed over to us and were not heard of since.
func (m *Machine) bequeath() {
	heirs := m.ranked(func(p *peer) bool { return p.Info.SMState == mad.SMStandby })
	for _, p := range m.sortedPeers() {
		if !p.heard || m.counts(p) && isMaster(p) {
			heirs = append(heirs, p)
		}
	}
	for _, p := range heirs {
		if !m.tried[p.Port] && len(p.Path) > 0 {
			m.tried[p.Port] = true
			m.tell(p, mad.SMControlHandover, m.info, "we are to stop")
			return
		}
	}
	m.leave("stopped")
}
