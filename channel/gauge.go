package channel

import "heddle/verbs"

// gauge is how a sender learns how far a receiver is that does nothing for it: it
// READs a sealed word of the receiver's.
type gauge struct {
	peer  *Peer
	from  remote // the word is its first
	salt  uint64
	at    *region // where the word comes to
	value uint64
	read  uint64 // the READ that is under way, 0 if none is
	wr    verbs.SendWR
	take  func() // looks at what has come
}

// newGauge makes one for a peer's word, which has to be at least where it started
// from: 0.
func (e *end) newGauge(p *Peer, from remote, salt uint64) (*gauge, error) {
	at, err := e.newRegion(8, false, verbs.LocalWrite)
	if err != nil {
		return nil, err
	}
	g := &gauge{peer: p, from: from, salt: salt, at: at}
	g.wr = verbs.SendWR{Op: verbs.OpRead, SGEs: []verbs.SGE{at.mr.SGE(0, 8)}, RemoteAddr: from.addr, RKey: from.rkey}
	g.take = g.word
	return g, nil
}

// ask has the word read, unless that is being done.
func (g *gauge) ask() error {
	if g.read != 0 {
		return nil
	}
	if err := g.peer.post(&g.wr, true); err != nil {
		return err
	}
	g.read = g.peer.posted
	g.peer.end.credits++
	return nil
}

// look takes the word if it has come. A torn one is read again.
func (g *gauge) look() error {
	if g.read == 0 {
		return nil
	}
	if err := g.peer.end.reap(); err != nil {
		return err
	}
	if g.peer.gone != nil {
		return g.peer.gone
	}
	if !g.peer.isDone(g.read) {
		return nil
	}
	g.read = 0
	g.take()
	return nil
}

// word takes in the word. One that is torn changes nothing.
func (g *gauge) word() {
	if low, ok := unseal(load(g.at.b, 0), g.salt); ok {
		g.value = ahead(g.value, low)
	}
}

func (g *gauge) free() error {
	if g == nil {
		return nil
	}
	return g.at.free()
}
