package umad

import (
	"sync"
	"sync/atomic"

	"heddle/ibsim"
)

// simQueue is how many datagrams wait for a Receive; more are dropped, as
// ibsim stands still while a client does not read.
const simQueue = 4096

// simInbox holds datagrams between the goroutine that reads the socket and the
// one that calls Receive, which takes all that are there at once.
type simInbox struct {
	lost atomic.Uint64 // because too many waited

	mu     sync.Mutex
	filled sync.Cond
	full   []ibsim.Packet // guarded by mu, as what follows
	err    error          // why there will be no more

	taken []ibsim.Packet // these belong to Receive
	at    int            // in taken, the next one
}

// put takes copies of packets that are for one of the agents.
func (b *simInbox) put(packets []ibsim.Packet, agents *simAgents) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := range packets {
		switch {
		case !agents.want(&packets[i]):
		case len(b.full) >= simQueue:
			b.lost.Add(1)
		default:
			b.full = append(b.full, packets[i])
		}
	}
	b.filled.Signal()
}

// end says that no more will come.
func (b *simInbox) end(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.err = err
	b.filled.Signal()
}

// next waits for a packet, which is valid until the next call. Those that came
// before the end come before its error.
func (b *simInbox) next() (*ibsim.Packet, error) {
	if b.at == len(b.taken) {
		if err := b.take(); err != nil {
			return nil, err
		}
	}
	b.at++
	return &b.taken[b.at-1], nil
}

// waiting tells whether next would not wait. It belongs to who calls next.
func (b *simInbox) waiting() bool {
	if b.at < len(b.taken) {
		return true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.full) > 0
}

// take waits for packets and takes them all.
func (b *simInbox) take() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.full) == 0 && b.err == nil {
		b.filled.Wait()
	}
	if len(b.full) == 0 {
		return b.err
	}
	b.full, b.taken, b.at = b.taken[:0], b.full, 0
	return nil
}
