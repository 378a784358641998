package replica

import (
	"time"

	"heddle/sm/store"
)

// Counts are of all that happened since the node was made.
type Counts struct {
	// States were sent as a whole, for want of a log; Refused are parts of
	// batches of who does not lead (any more); Drops are connections that this
	// node gave up; Late are batches that waited for followers in vain.
	States, Refused, Drops, Late uint64
}

// Status is what a node does at a moment, for metrics.
type Status struct {
	ID    uint16
	Role  Role
	Epoch uint64 // the highest that was seen; the node's own where it leads
	// Kept is the last batch that the store keeps for good, Last the last that it
	// accepted.
	Kept, Last store.Position
	// Waiting is how many batches are not acknowledged yet. Degraded says that
	// they do not wait for followers, since these were late.
	Waiting  int
	Degraded bool
	Counts   Counts
	Peers    []PeerStatus
}

// PeerStatus is one connection; a peer has up to two.
type PeerStatus struct {
	ID      uint16
	Dialled bool // by this node
	Role    Role
	Epoch   uint64
	Kept    store.Position // as the peer said last
	// Following says that this node follows the peer, Fed that the peer follows
	// this one. The lag is then how many batches the peer does not keep, and how
	// long the oldest of them is here.
	Following, Fed bool
	Lag            uint64
	LagTime        time.Duration
	Heard          time.Time // when it was heard of last
}

// Status gives what the node does.
func (n *Node) Status() Status {
	n.mu.Lock()
	defer n.mu.Unlock()
	c := n.core
	s := Status{
		ID: c.config.ID, Role: c.role, Epoch: c.epoch, Kept: c.durable, Last: c.last,
		Waiting: len(c.waiting), Degraded: c.degraded, Counts: c.counts,
	}
	for _, x := range c.sessions {
		s.Peers = append(s.Peers, c.peerStatus(time.Now(), x))
	}
	return s
}

func (c *core) peerStatus(now time.Time, s *session) PeerStatus {
	p := PeerStatus{
		ID: s.peer, Dialled: s.dialled, Role: s.said.role, Epoch: s.said.epoch, Kept: s.said.at,
		Following: s.follow.state == followFed, Fed: s.feed.on, Heard: s.heard,
	}
	if !p.Fed || s.feed.acked.Index >= c.last.Index {
		return p
	}
	p.Lag = c.last.Index - s.feed.acked.Index
	if b := c.log.after(s.feed.acked); b != nil {
		p.LagTime = now.Sub(b.when)
	}
	return p
}
