package election

import (
	"fmt"
	"slices"
	"time"

	"heddle/mad"
)

// Refused is the status of the answer to a Set that the manager's state, or the
// sender's, does not allow: the one that OpenSM has for it.
const Refused mad.Status = 0x0700

// strangers is how many managers that no sweep found may make themselves known.
const strangers = 256

// Request is a Get or a Set of SMInfo that arrived.
type Request struct {
	Set     bool
	Control mad.SMControl // the attribute modifier of a Set
	Info    mad.SMInfo    // that of a Set
	// Path is the way back to the sender of a Set, where it is known: the
	// return path of a directed route, backwards.
	Path []uint8
}

// Request takes a request, and gives the status and the SMInfo of the answer,
// which goes out before the actions are done: it tells the state that the
// request came to.
func (m *Machine) Request(now time.Time, r Request) (mad.Status, mad.SMInfo) {
	if !r.Set {
		return mad.StatusOK, m.info
	}
	m.at(now)
	info := m.info
	p := m.sender(&r)
	if p == nil {
		return Refused, info
	}
	return m.control(p, r.Control), info
}

// sender is who sent a Set; nil is one that is not trusted.
func (m *Machine) sender(r *Request) *peer {
	port := r.Info.GUID
	p := m.peers[port]
	switch {
	case port == 0 || port == m.info.GUID || p == nil && len(m.peers) >= strangers:
		return nil
	case p == nil:
		p = &peer{Peer: Peer{Port: port}}
	}
	if !m.learn(p, r.Info) {
		return nil
	}
	if len(p.Path) == 0 {
		p.Path = slices.Clone(r.Path)
	}
	m.peers[port] = p
	return p
}

// control does what another manager tells to do, where the states allow that
// (IBTA 1, 14.4.1).
func (m *Machine) control(p *peer, c mad.SMControl) mad.Status {
	if c == mad.SMControlAcknowledge {
		return m.acknowledged(p)
	}
	if !isMaster(p) {
		return Refused
	}
	switch c {
	case mad.SMControlHandover:
		return m.takeOver(p)
	case mad.SMControlDisable:
		return m.disable(p)
	case mad.SMControlStandby:
		return m.standBy(p)
	case mad.SMControlDiscover:
		return m.rediscover(p)
	case mad.SMControlAcknowledge:
	}
	return mad.StatusBadField
}

// takeOver takes a HANDOVER: the other is master no more.
func (m *Machine) takeOver(p *peer) mad.Status {
	if m.info.SMState == mad.SMNotActive || m.stopping || m.shy() {
		return Refused
	}
	again := m.info.SMState == mad.SMMaster && !p.handed.IsZero() && m.now.Sub(p.handed) < m.cfg.AnswerLimit
	p.Info.SMState, p.heard = mad.SMNotActive, false // until it is asked
	if again {
		return mad.StatusOK // the same request once more, whose answer was lost
	}
	p.handed = m.now
	info := m.info
	info.SMState = mad.SMStandby // what OpenSM wants of who acknowledges
	m.tell(p, mad.SMControlAcknowledge, info, "")
	if m.info.SMState == mad.SMMaster {
		m.do(Action{Kind: Resweep, Reason: fmt.Sprintf("subnet manager %v, a master too, hands over its part", p.Port)})
		return mad.StatusOK
	}
	m.lead(fmt.Sprintf("subnet manager %v hands over", p.Port))
	return mad.StatusOK
}

// acknowledged takes an ACKNOWLEDGE, which may come before the answer to the
// HANDOVER, or instead of it.
func (m *Machine) acknowledged(p *peer) mad.Status {
	switch o := m.ops[p.asked]; {
	case m.isWatched(p):
		return mad.StatusOK
	case o.control == mad.SMControlHandover && m.info.SMState == mad.SMMaster:
		m.finish(p.asked)
		m.handedOver(p, mad.StatusOK)
		return mad.StatusOK
	default:
		return Refused
	}
}

func (m *Machine) disable(p *peer) mad.Status {
	if m.info.SMState != mad.SMStandby {
		return Refused
	}
	m.leave(fmt.Sprintf("disabled by subnet manager %v", p.Port))
	return mad.StatusOK
}

// standBy wakes a manager that was disabled. Whoever stands by already is fine:
// it may be the same request once more.
func (m *Machine) standBy(p *peer) mad.Status {
	switch {
	case m.info.SMState == mad.SMStandby:
		return mad.StatusOK
	case m.info.SMState != mad.SMNotActive || m.stopped:
		return Refused
	}
	m.follow(p, "is the master, and enables us")
	return mad.StatusOK
}

func (m *Machine) rediscover(p *peer) mad.Status {
	switch m.info.SMState {
	case mad.SMDiscovering:
		return mad.StatusOK
	case mad.SMStandby:
		m.discover(fmt.Sprintf("subnet manager %v wants it", p.Port))
		return mad.StatusOK
	case mad.SMMaster, mad.SMNotActive:
	}
	return Refused
}
