package umad

import "heddle/ib"

// share is what one peer has of what a Port carries by RMPP for others: the
// requests that the peer sends and the answers that it is sent. A peer is told
// by its LID, which a datagram may only pretend to be from.
type share struct {
	transfers int // that are not over
	receiving int // of them, requests of the peer
	held      int // bytes
}

const (
	// maxPeerTransfers, maxPeerStrangers and maxPeerHeld are the most of one
	// peer, so that one that never ends what it began leaves room for others.
	maxPeerTransfers = 256
	maxPeerStrangers = 8
	maxPeerHeld      = maxHeld / 4
)

// shareOf is the share of a peer. The lock is held.
func (p *Port) shareOf(lid ib.LID) *share {
	s := p.shares[lid]
	if s == nil {
		s = &share{}
		p.shares[lid] = s
	}
	return s
}

// enter counts a transfer with a peer. The lock is held.
func (p *Port) enter(x *transfer, receiving bool) {
	s := p.shareOf(x.key.lid)
	s.transfers++
	x.counted = true
	if receiving {
		s.receiving++
		x.strange = true
		p.strangers++
	}
}

// leave ends that. The lock is held.
func (p *Port) leave(x *transfer) {
	if !x.counted {
		return
	}
	x.counted = false
	s := p.shareOf(x.key.lid)
	s.transfers--
	if x.strange {
		x.strange = false
		s.receiving--
		p.strangers--
	}
	p.tidy(x.key.lid, s)
}

// holds counts the bytes that a transfer holds, n from now on. The lock is held.
func (p *Port) holds(x *transfer, n int) {
	more := n - x.held
	if more == 0 {
		return
	}
	p.held += more
	x.held = n
	if x.key.ours {
		return
	}
	s := p.shareOf(x.key.lid)
	s.held += more
	p.tidy(x.key.lid, s)
}

// tooMuch tells whether a transfer holds more than may be. The lock is held.
func (p *Port) tooMuch(x *transfer) bool {
	return p.held > maxHeld || !x.key.ours && x.held > 0 && p.shareOf(x.key.lid).held > maxPeerHeld
}

// roomFor tells whether a message of n bytes may be sent. The lock is held.
func (p *Port) roomFor(k transferKey, n int) bool {
	if p.held+n > maxHeld {
		return false
	}
	s := p.shares[k.lid]
	return k.ours || s == nil || s.transfers < maxPeerTransfers && (s.held == 0 || s.held+n <= maxPeerHeld)
}

func (p *Port) tidy(lid ib.LID, s *share) {
	if *s == (share{}) {
		delete(p.shares, lid)
	}
}
