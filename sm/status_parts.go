package sm

import (
	"time"

	"heddle/ib"
	"heddle/mad"
	"heddle/sm/election"
	"heddle/sm/replica"
)

// OtherManager is another subnet manager, as it was heard of last.
type OtherManager struct {
	Info mad.SMInfo // its GUID is that of the port
	LID  ib.LID     // 0 where it is not known
	// Since is when it was first heard to be in its state, Heard when it was
	// heard of last.
	Since, Heard time.Time
	// Trusted says that it has the same SM_Key. Who is not trusted is passed
	// over in the election: there may be two masters.
	Trusted bool
}

// others are the other managers.
func (m *Manager) others() (list []OtherManager) {
	var peers []election.Peer
	own := m.vote.info()
	m.vote.look(func(e *election.Machine) { peers = e.Peers() })
	lids := map[ib.GUID]ib.LID{}
	if known := m.rivals.Load(); known != nil {
		lids = *known
	}
	for _, p := range peers {
		p.Info.GUID = p.Port
		list = append(list, OtherManager{
			Info: p.Info, LID: lids[p.Port], Since: p.Since, Heard: p.Heard, Trusted: p.Info.SMKey == own.SMKey,
		})
	}
	return list
}

// look lets a function read the machine.
func (v *vote) look(f func(e *election.Machine)) {
	v.mu.Lock()
	defer v.mu.Unlock()
	f(v.machine)
}

// shared is how the state is shared; nil where it is not.
func (m *Manager) shared() *replica.Status {
	node, ok := m.keeper.memory.(interface{ Status() replica.Status })
	if !ok {
		return nil
	}
	s := node.Status()
	return &s
}

// SilentNode is a node that does not answer, though its link is up. What the
// last sweep that it answered saw of it is kept for so many sweeps, then it
// counts as gone.
type SilentNode struct {
	GUID   ib.GUID
	Node   string // its label
	Sweeps int    // in a row, without an answer
}

func (m *Manager) silent() (list []SilentNode) {
	if m.view == nil {
		return nil
	}
	for _, n := range m.view.Nodes {
		if n.Stale > 0 {
			list = append(list, SilentNode{n.GUID(), n.Label(), n.Stale})
		}
	}
	return list
}
