package election

import (
	"cmp"
	"slices"
	"time"

	"heddle/ib"
	"heddle/mad"
)

// peer is what a machine knows of another manager.
type peer struct {
	Peer
	heard  bool      // whether Info is what it told of itself
	asked  uint64    // the ID of the operation under way to it; 0 for none
	misses int       // polls in a row without an answer
	still  int       // answers in a row with the same ActCount
	handed time.Time // when it sent a HANDOVER
}

// past is what is remembered of a manager also while it is away.
type past struct {
	flaps  int       // in a row
	until  time.Time // when it may be handed the subnet again
	wedged bool      // it answered, but act stood still
	act    uint32
	key    mad.SMKey // the foreign key that was noted
	noted  bool
}

// remembered is how many managers a machine remembers.
const remembered = 256

// better tells whether a manager is better than another.
func better(a, b mad.SMInfo, aPort, bPort ib.GUID) bool {
	if a.Priority != b.Priority {
		return a.Priority > b.Priority
	}
	return aPort < bPort
}

// outranks tells whether a peer is better than the machine.
func (m *Machine) outranks(p *peer) bool { return better(p.Info, m.info, p.Port, m.info.GUID) }

// counts tells whether a peer takes part: it is trusted, active, and not
// wedged.
func (m *Machine) counts(p *peer) bool {
	h := m.past[p.Port]
	return p.Info.SMKey == m.info.SMKey && p.Info.SMState != mad.SMNotActive && (h == nil || !h.wedged)
}

// held tells whether a peer is not to be handed the subnet now.
func (m *Machine) held(p *peer) bool {
	h := m.past[p.Port]
	return h != nil && m.now.Before(h.until)
}

// recall is what is remembered of a port.
func (m *Machine) recall(port ib.GUID) *past {
	h := m.past[port]
	if h == nil {
		m.forget()
		h = &past{}
		m.past[port] = h
	}
	return h
}

// forget makes room for one more memory, where there is none.
func (m *Machine) forget() {
	if len(m.past) < remembered {
		return
	}
	var oldest ib.GUID
	var at time.Time
	first := true
	for _, port := range m.sortedPast() {
		if h := m.past[port]; first || h.until.Before(at) {
			oldest, at, first = port, h.until, false
		}
	}
	delete(m.past, oldest)
}

// learn takes what a peer told of itself, and tells whether it is trusted.
func (m *Machine) learn(p *peer, info mad.SMInfo) bool {
	info.Priority &= 0xF
	grew := info.ActCount != p.Info.ActCount
	p.still++
	if grew || !p.heard {
		p.still = 0
	}
	if !p.heard || p.Info.SMState != info.SMState {
		p.Since = m.now
	}
	p.Info, p.heard, p.misses, p.Heard = info, true, 0, m.now
	if h := m.past[p.Port]; h != nil && h.wedged && h.act != info.ActCount {
		h.wedged = false
		m.note(p, "counts as alive again: its ActCount grows")
	}
	if info.SMKey == m.info.SMKey {
		return true
	}
	if h := m.recall(p.Port); !h.noted || h.key != info.SMKey {
		h.noted, h.key = true, info.SMKey
		m.note(p, "is not trusted, and passed over: it has another SM_Key")
	}
	return false
}

// hold keeps a peer from being handed the subnet for a while.
func (m *Machine) hold(port ib.GUID) time.Duration {
	h := m.recall(port)
	wait := m.cfg.HoldMax
	if h.flaps < 16 {
		wait = min(m.cfg.Hold<<h.flaps, m.cfg.HoldMax)
	}
	h.flaps++
	h.until = m.now.Add(wait)
	return wait
}

// ranked are the peers that count and that a condition holds for, the best
// first.
func (m *Machine) ranked(condition func(*peer) bool) []*peer {
	var list []*peer
	for _, p := range m.peers {
		if m.counts(p) && condition(p) {
			list = append(list, p)
		}
	}
	slices.SortFunc(list, func(a, b *peer) int {
		return cmp.Or(cmp.Compare(b.Info.Priority, a.Info.Priority), cmp.Compare(a.Port, b.Port))
	})
	return list
}

func (m *Machine) sortedPast() []ib.GUID {
	var list []ib.GUID
	for port := range m.past {
		list = append(list, port)
	}
	slices.Sort(list)
	return list
}

// sortedPeers are all peers in the order of their GUIDs.
func (m *Machine) sortedPeers() []*peer {
	var list []*peer
	for _, p := range m.peers {
		list = append(list, p)
	}
	slices.SortFunc(list, func(a, b *peer) int { return cmp.Compare(a.Port, b.Port) })
	return list
}
