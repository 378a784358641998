package election

import (
	"fmt"
	"time"

	"heddle/ib"
	"heddle/mad"
)

// Machine is a manager's part in the election. Its methods are for one
// goroutine at a time; after each of them Take gives what is to be done. The
// times given never go back.
type Machine struct {
	cfg  Config
	info mad.SMInfo // our own
	now  time.Time
	next time.Time // of the next tick

	peers map[ib.GUID]*peer
	past  map[ib.GUID]*past
	ops   map[uint64]op
	id    uint64
	out   []Action

	watch    watch     // of a standby
	retry    bool      // the discovery failed, and is tried again
	waited   bool      // for a better one, in vain
	stopped  bool      // by Stop: no other may wake it
	writing  bool      // the first sweep as the master is not over
	since    time.Time // when it began
	stopping bool      // a handover before the end is under way
	tried    map[ib.GUID]bool

	shyUntil time.Time // see Resign
	resigned int       // times in a row
}

// op is an Ask or a Tell that is under way.
type op struct {
	to      ib.GUID
	control mad.SMControl // 0 of an Ask
	until   time.Time
}

// New makes a machine that is not active.
func New(cfg Config) *Machine {
	cfg = cfg.filled()
	return &Machine{
		cfg:   cfg,
		info:  mad.SMInfo{GUID: cfg.GUID, SMKey: cfg.Key, Priority: cfg.Priority},
		peers: map[ib.GUID]*peer{}, past: map[ib.GUID]*past{}, ops: map[uint64]op{},
	}
}

// State is the manager's state.
func (m *Machine) State() mad.SMState { return m.info.SMState }

// Info is the manager's SMInfo.
func (m *Machine) Info() mad.SMInfo { return m.info }

// Peers are the other managers, in the order of their GUIDs, as they were heard
// of last.
func (m *Machine) Peers() []Peer {
	var list []Peer
	for _, p := range m.sortedPeers() {
		list = append(list, p.Peer)
	}
	return list
}

// Take is what is to be done since the last Take, in order.
func (m *Machine) Take() []Action {
	out := m.out
	m.out = nil
	return out
}

// NextDeadline is when Advance is due; ok is false where it is not.
func (m *Machine) NextDeadline() (at time.Time, ok bool) {
	return m.next, m.info.SMState != mad.SMNotActive
}

// Active says that the manager did something, such as to send an SMP, so that
// ActCount grows. Advance says so too. To be asked for SMInfo is no sign of
// life, as it may be answered by a part of the manager that is alive while the
// rest is not.
func (m *Machine) Active() { m.info.ActCount++ }

// Start begins with the discovery of the subnet. It does nothing to a manager
// that is active.
func (m *Machine) Start(now time.Time) {
	m.at(now)
	if m.info.SMState != mad.SMNotActive {
		return
	}
	m.stopped, m.next = false, m.now.Add(m.cfg.Poll)
	m.discover("started")
}

// Stop ends the manager's part. A master hands the subnet to the best standby
// first; Leave is among the actions when all is done, which takes no longer
// than the time limit of a Tell for each standby.
func (m *Machine) Stop(now time.Time) {
	m.at(now)
	m.stopped = true
	if m.info.SMState == mad.SMNotActive || m.stopping {
		return
	}
	if m.info.SMState != mad.SMMaster {
		m.leave("stopped")
		return
	}
	m.stopping, m.tried = true, map[ib.GUID]bool{}
	m.bequeath()
}

// Configure changes the manager's priority and key. A master then looks whether
// another is better; a standby that is better than the master tells it so.
func (m *Machine) Configure(now time.Time, priority uint8, key mad.SMKey) {
	m.at(now)
	priority &= 0xF
	raised, rekeyed := priority > m.info.Priority, key != m.info.SMKey
	m.info.Priority, m.info.SMKey = priority, key
	if rekeyed {
		for _, h := range m.past {
			h.noted = false
		}
	}
	switch m.info.SMState {
	case mad.SMMaster:
		m.considerAll()
	case mad.SMStandby:
		m.reconsider(raised)
	case mad.SMDiscovering, mad.SMNotActive:
	}
}

// Advance does what is due.
func (m *Machine) Advance(now time.Time) {
	m.at(now)
	if m.info.SMState == mad.SMNotActive || now.Before(m.next) {
		return
	}
	m.next = m.now.Add(m.cfg.Poll)
	for _, id := range m.overdue() {
		m.lost(id)
	}
	switch m.info.SMState {
	case mad.SMDiscovering:
		if m.retry {
			m.discover("the discovery failed; again")
		}
	case mad.SMStandby:
		m.pollWatched()
	case mad.SMMaster:
		m.pollRivals()
	case mad.SMNotActive:
	}
}

// at moves the time on.
func (m *Machine) at(now time.Time) {
	if now.After(m.now) {
		m.now = now
	}
	m.info.ActCount++
}

func (m *Machine) do(a Action) { m.out = append(m.out, a) }

// note puts something about a peer into the log.
func (m *Machine) note(p *peer, what string) {
	m.do(Action{Kind: Note, Peer: p.Peer, Reason: fmt.Sprintf("subnet manager %v %s", p.Port, what)})
}

// discover enters the state Discovering, or stays in it for another try.
func (m *Machine) discover(reason string) {
	m.info.SMState, m.retry, m.watch = mad.SMDiscovering, false, watch{}
	m.do(Action{Kind: Discover, Reason: reason})
}

// lead enters the state Master.
func (m *Machine) lead(reason string) {
	m.info.SMState, m.watch, m.waited = mad.SMMaster, watch{}, false
	m.writing, m.since = true, m.now
	m.do(Action{Kind: Lead, Reason: reason})
}

// leave enters the state NotActive.
func (m *Machine) leave(reason string) {
	m.info.SMState, m.watch, m.stopping, m.waited = mad.SMNotActive, watch{}, false, false
	clear(m.ops)
	for _, p := range m.peers {
		p.asked = 0
	}
	m.do(Action{Kind: Leave, Reason: reason})
}
