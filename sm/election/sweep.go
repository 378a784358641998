package election

import (
	"slices"
	"time"

	"heddle/ib"
	"heddle/mad"
)

// Swept tells which other managers a sweep found: those that answered a
// Get(SMInfo). It ends a discovery, and is told of each sweep of a master.
func (m *Machine) Swept(now time.Time, found []Peer) {
	m.at(now)
	m.meet(found)
	switch m.info.SMState {
	case mad.SMDiscovering:
		m.conclude()
	case mad.SMMaster:
		m.considerAll()
	case mad.SMStandby, mad.SMNotActive: // the result of a sweep that nobody waits for
	}
}

// SweepFailed tells that a discovery failed, such as for a port that is down.
// It is tried again after the polling interval.
func (m *Machine) SweepFailed(now time.Time, reason string) {
	m.at(now)
	if m.info.SMState == mad.SMDiscovering {
		m.retry, m.next = true, m.now.Add(m.cfg.Poll)
		m.do(Action{Kind: Note, Reason: "discovery: " + reason})
	}
}

// meet takes the managers that a sweep found for those that there are.
func (m *Machine) meet(found []Peer) {
	peers := map[ib.GUID]*peer{}
	for _, f := range found {
		if f.Port == 0 || f.Port == m.info.GUID {
			continue
		}
		p := m.peers[f.Port]
		if p == nil {
			p = &peer{Peer: Peer{Port: f.Port}}
		}
		p.Path = slices.Clone(f.Path)
		m.learn(p, f.Info)
		p.still = 0 // a sweep may come soon after a poll
		peers[f.Port] = p
	}
	if w := m.peers[m.watch.port]; w != nil && m.isWatched(w) {
		peers[w.Port] = w
	}
	m.peers = peers
}

// conclude ends the discovery.
func (m *Machine) conclude() {
	m.retry = false
	if masters := m.ranked(isMaster); len(masters) > 0 {
		m.follow(masters[0], "is the master")
		return
	}
	if m.shy() {
		m.concludeShy()
		return
	}
	hopeful := m.ranked(func(p *peer) bool { return m.outranks(p) && !m.held(p) })
	switch {
	case len(hopeful) == 0:
		m.lead("no other manager is master, and none is better")
	case m.waited:
		m.lead("no other manager is master, and the better ones do not become it")
	default:
		m.follow(hopeful[0], "is better, and should be the master soon")
	}
}

func isMaster(p *peer) bool { return p.Info.SMState == mad.SMMaster }
