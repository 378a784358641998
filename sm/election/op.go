package election

import (
	"slices"
	"time"

	"heddle/mad"
)

// Answered tells the answer to an Ask or a Tell: its status, and its SMInfo.
// An answer that came too late, or to nothing, is passed over.
func (m *Machine) Answered(now time.Time, id uint64, status mad.Status, info mad.SMInfo) {
	m.at(now)
	o, p, ok := m.finish(id)
	switch {
	case !ok:
	case o.control == 0 && status != mad.StatusOK:
		m.missed(p)
	case p != nil && !m.learn(p, info):
		m.distrusted(o, p)
	case o.control == mad.SMControlHandover && m.info.SMState == mad.SMMaster:
		m.handedOver(p, status)
	case o.control != 0 || p == nil: // the answer decides nothing
	case m.isWatched(p):
		m.watched(p)
	case m.info.SMState == mad.SMMaster:
		m.considerAll()
	}
}

// Unanswered tells that an Ask or a Tell was not answered, after all retries.
func (m *Machine) Unanswered(now time.Time, id uint64) {
	m.at(now)
	m.lost(id)
}

// lost takes that nothing came of an Ask or a Tell.
func (m *Machine) lost(id uint64) {
	o, p, ok := m.finish(id)
	switch {
	case !ok:
	case o.control == 0:
		m.missed(p)
	case o.control == mad.SMControlHandover && m.stopping:
		m.bequeath()
	case o.control == mad.SMControlHandover && m.info.SMState == mad.SMMaster && p != nil:
		m.note(p, "did not answer a HANDOVER")
	}
}

// missed counts a poll without an answer; p is nil where the peer is forgotten
// already.
func (m *Machine) missed(p *peer) {
	if p == nil {
		return
	}
	p.misses++
	switch {
	case m.isWatched(p):
		m.watchMissed(p, "does not answer")
	case m.info.SMState == mad.SMMaster && p.misses >= m.cfg.Count:
		delete(m.peers, p.Port)
		m.note(p, "does not answer, and is forgotten")
	}
}

// distrusted takes that a peer answered with a foreign key.
func (m *Machine) distrusted(o op, p *peer) {
	switch {
	case m.isWatched(p):
		m.watchMissed(p, "has another SM_Key")
	case m.stopping && o.control == mad.SMControlHandover:
		m.bequeath()
	}
}

// ask sends Get(SMInfo) to a peer, unless something is under way to it.
func (m *Machine) ask(p *peer) {
	if p.asked == 0 {
		m.send(p, Action{Kind: Ask})
	}
}

// tell sends Set(SMInfo) to a peer.
func (m *Machine) tell(p *peer, c mad.SMControl, info mad.SMInfo, reason string) {
	m.send(p, Action{Kind: Tell, Control: c, Info: info, Reason: reason})
}

// send sends something to a peer, if the way to it is known: a stranger that
// made itself known may have to be found by a sweep first.
func (m *Machine) send(p *peer, a Action) {
	if len(p.Path) == 0 {
		return
	}
	m.id++
	a.ID, a.Peer = m.id, p.Peer
	delete(m.ops, p.asked)
	p.asked = m.id
	m.ops[m.id] = op{to: p.Port, control: a.Control, until: m.now.Add(m.cfg.AnswerLimit)}
	m.do(a)
}

// finish takes an operation off the list; ok is false where it is not on it,
// and p is nil where the peer is not known any more.
func (m *Machine) finish(id uint64) (o op, p *peer, ok bool) {
	if o, ok = m.ops[id]; !ok {
		return o, nil, false
	}
	delete(m.ops, id)
	if p = m.peers[o.to]; p != nil {
		p.asked = 0
	}
	return o, p, true
}

// overdue are the operations of which too long nothing was heard.
func (m *Machine) overdue() []uint64 {
	var ids []uint64
	for id, o := range m.ops {
		if !m.now.Before(o.until) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}
