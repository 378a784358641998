package election

import "heddle/mad"

// Master is the master as far as a manager that stands by knows it; ok is false
// in other states, and where the one that it stands by for is not master yet.
func (m *Machine) Master() (p Peer, ok bool) {
	w := m.peers[m.watch.port]
	if m.info.SMState != mad.SMStandby || w == nil || w.Info.SMState != mad.SMMaster {
		return Peer{}, false
	}
	return w.Peer, true
}
