package election

import (
	"fmt"
	"time"

	"heddle/ib"
	"heddle/mad"
)

// watch is what a standby knows of the one that it polls.
type watch struct {
	port    ib.GUID
	misses  int       // polls in a row without an answer that counts
	idle    int       // polls in a row that say that it is not the master
	given   bool      // it was handed the subnet by us
	reigned bool      // it was seen as master
	since   time.Time // when it was so first, or when the watch began
}

// idleLimit is after how many polls a master that is none any more is given up:
// at the first it may be that the HANDOVER to the next is on its way.
const idleLimit = 2

func (m *Machine) isWatched(p *peer) bool {
	return m.info.SMState == mad.SMStandby && m.watch.port == p.Port
}

// follow enters the state Standby, to watch a peer.
func (m *Machine) follow(p *peer, reason string) {
	m.info.SMState, m.writing, m.stopping = mad.SMStandby, false, false
	m.watch = watch{port: p.Port, reigned: isMaster(p), since: m.now}
	p.still, p.misses = 0, 0
	m.next = m.now.Add(m.cfg.Poll)
	if m.watch.reigned {
		m.waited = false
	}
	m.do(Action{Kind: Follow, Peer: p.Peer, Reason: fmt.Sprintf("subnet manager %v %s", p.Port, reason)})
}

// pollWatched asks the one that is watched.
func (m *Machine) pollWatched() {
	p := m.peers[m.watch.port]
	if p == nil || len(p.Path) == 0 {
		m.discover("the way to the master is not known")
		return
	}
	m.ask(p)
}

// watched takes the answer of the one that is watched.
func (m *Machine) watched(p *peer) {
	w := &m.watch
	w.misses = 0
	switch {
	case isMaster(p):
		m.reigns(p)
	case p.Info.SMState == mad.SMDiscovering && m.outranks(p) && m.now.Sub(w.since) < m.cfg.Settle:
		w.idle = 0 // it will be master soon
	default:
		m.idles(p)
		return
	}
	if p.still >= m.patience(p) {
		m.wedged(p)
	}
}

// reigns takes that the one that is watched is master.
func (m *Machine) reigns(p *peer) {
	w := &m.watch
	w.idle = 0
	switch h := m.past[p.Port]; {
	case !w.reigned:
		w.reigned, w.since, m.waited = true, m.now, false
		m.note(p, "is the master now")
	case h != nil && m.now.Sub(w.since) >= m.cfg.Settle:
		h.flaps = 0
	}
}

// idles takes that the one that is watched is not master.
func (m *Machine) idles(p *peer) {
	w := &m.watch
	w.idle++
	limit := m.cfg.Count
	if w.reigned {
		limit = min(idleLimit, limit)
	}
	if w.idle >= limit {
		m.giveUp(p, fmt.Sprintf("is %v, and not the master, %d polls in a row", p.Info.SMState, w.idle))
	}
}

// watchMissed takes that the one that is watched did not give an answer that
// counts. A master that dies soon after it came into office flaps.
func (m *Machine) watchMissed(p *peer, why string) {
	w := &m.watch
	if w.misses++; w.misses < m.cfg.Count {
		return
	}
	why = fmt.Sprintf("%s, %d polls in a row", why, w.misses)
	if w.reigned && m.now.Sub(w.since) < m.cfg.Settle {
		why += m.holdOff(p)
	}
	m.giveUp(p, why)
}

// patience is the number of polls for which a peer's ActCount may stand still:
// more for one that stood still before and came alive again.
func (m *Machine) patience(p *peer) int {
	h := m.past[p.Port]
	if h == nil {
		return m.cfg.Still
	}
	return m.cfg.Still << min(h.flaps, 3)
}

// wedged takes that the one that is watched answers, but does nothing.
func (m *Machine) wedged(p *peer) {
	h := m.recall(p.Port)
	h.wedged, h.act = true, p.Info.ActCount
	why := fmt.Sprintf("answers, but its ActCount stands still at %d, %d polls in a row", h.act, p.still)
	m.giveUp(p, why+m.holdOff(p))
}

// giveUp looks for another master.
func (m *Machine) giveUp(p *peer, why string) {
	w := m.watch
	if w.given && !w.reigned {
		why += m.holdOff(p)
	}
	m.waited = m.waited || !w.reigned
	m.discover(fmt.Sprintf("subnet manager %v %s", p.Port, why))
}

// holdOff keeps a peer from being handed the subnet for a while, and says so.
func (m *Machine) holdOff(p *peer) string {
	return fmt.Sprintf("; it is not handed the subnet for %v", m.hold(p.Port))
}

// reconsider takes new settings of our own.
func (m *Machine) reconsider(raised bool) {
	p := m.peers[m.watch.port]
	switch {
	case p == nil:
	case p.Info.SMKey != m.info.SMKey:
		m.discover(fmt.Sprintf("subnet manager %v has another SM_Key than ours now is", p.Port))
	case raised && isMaster(p) && !m.outranks(p):
		m.do(Action{Kind: Announce, Peer: p.Peer, Reason: fmt.Sprintf("our priority is %d now, better than the master's", m.info.Priority)})
	}
}
