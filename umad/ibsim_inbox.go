package umad

import (
	"sync"
	"sync/atomic"

	"heddle/ibsim"
)

// simQueue is how many datagrams are read, beyond those that came together,
// before Receive takes some; more are dropped.
const simQueue = 4096

// simInbox holds datagrams between the reading of the socket and Receive, which
// takes all that are there at once. Reading is mostly done by Receive itself:
// to be woken up by another goroutine costs more than what is done with a
// datagram.
type simInbox struct {
	lost atomic.Uint64 // because too many waited

	mu      sync.Mutex
	change  sync.Cond      // on mu, of what follows
	full    []ibsim.Packet // guarded by mu, as what follows
	reading bool           // somebody reads the socket
	err     error          // why nobody does any more

	// These belong to Receive.
	taken []ibsim.Packet
	at    int // in taken, the next one
}

// put takes copies of packets that are for one of the agents; mu is held.
func (b *simInbox) put(packets []ibsim.Packet, agents *simAgents) {
	for i := range packets {
		switch {
		case !agents.want(&packets[i]):
		case len(b.full) >= simQueue:
			b.lost.Add(1)
		default:
			b.full = append(b.full, packets[i])
		}
	}
}

// waiting tells whether there is a next packet.
func (b *simInbox) waiting() bool {
	if b.at < len(b.taken) {
		return true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.full) > 0
}

// next is the next packet, valid until the next call, or nil.
func (b *simInbox) next() *ibsim.Packet {
	if b.at == len(b.taken) {
		b.mu.Lock()
		b.full, b.taken, b.at = b.taken[:0], b.full, 0
		b.mu.Unlock()
	}
	if len(b.taken) == 0 {
		return nil
	}
	b.at++
	return &b.taken[b.at-1]
}
