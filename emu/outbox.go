package emu

import (
	"errors"
	"net"
	"os"
	"runtime"
	"sync"
	"time"

	"heddle/ibsim"
)

// outbox sends packets to a client. Nobody waits for a client that does not
// read: what finds no room in its queue stays here until there is some, or is
// lost where too much waits already.
type outbox struct {
	conn    net.Conn
	sender  *ibsim.Sender   // belongs to whoever set busy
	lost    func()          // called when the client is found to be gone
	running *sync.WaitGroup // has sendLate

	mu   sync.Mutex
	full []ibsim.Packet // guarded by mu, as what follows
	busy bool           // packets are being sent: all others go behind them
	gone bool           // so is the client
	// empty takes turns with full, so that nothing is allocated. It belongs to
	// whoever set busy.
	empty []ibsim.Packet
}

func newOutbox(conn socket, running *sync.WaitGroup, lost func()) (*outbox, error) {
	sender, err := ibsim.NewSender(conn)
	return &outbox{conn: conn, sender: sender, lost: lost, running: running}, err
}

// put takes a copy of a packet, for flush to send. It tells whether it is the
// first, of which flush has to be told.
func (o *outbox) put(p *ibsim.Packet) (first bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.gone || len(o.full) >= inboxLimit {
		return false
	}
	o.full = append(o.full, *p)
	return len(o.full) == 1 && !o.busy
}

// flush sends what was put, with as few system calls as can be. Where somebody
// does that already, he sends what came meanwhile too. Goroutines that are ready
// to run go first, as one answer to many clients wakes many that ask again.
func (o *outbox) flush() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.busy {
		return
	}
	o.busy = true
	o.mu.Unlock()
	runtime.Gosched()
	o.mu.Lock()
	for len(o.full) > 0 {
		packets := o.swap()
		o.mu.Unlock()
		sent, err := o.sender.SendAll(packets)
		o.mu.Lock()
		if errors.Is(err, ibsim.ErrNoRoom) {
			late := append([]ibsim.Packet(nil), packets[sent:]...)
			o.running.Go(func() { o.sendLate(late) })
			return
		}
		if err != nil && isGone(err) {
			o.gone, o.full = true, nil
			o.lost()
		}
	}
	o.busy = false
}

// outboxKeep is how many packets the memory is kept for.
const outboxKeep = 256

// swap takes what was put. The lock is held.
func (o *outbox) swap() []ibsim.Packet {
	packets := o.full
	o.full, o.empty = o.empty[:0], packets
	if cap(packets) > outboxKeep {
		o.empty = nil
	}
	return packets
}

// sendLate sends what waits, as fast as the client reads, until nothing does or
// the socket is closed.
func (o *outbox) sendLate(late []ibsim.Packet) {
	for len(late) > 0 {
		for i := range late {
			if !o.wait(&late[i]) {
				return
			}
		}
		o.mu.Lock()
		late = o.swap()
		if o.busy = len(late) > 0; !o.busy {
			o.conn.SetWriteDeadline(time.Time{}) //nolint:errcheck // else no packet would go any more; a closed socket takes none anyway
		}
		o.mu.Unlock()
	}
}

// outboxTry is how long one try to send takes at most: the poller may miss that
// there is room, where the client has not connected its socket yet.
const outboxTry = 50 * time.Millisecond

// wait sends a packet when there is room; false means that the socket is
// closed. A client that is gone is found by those who look for it.
func (o *outbox) wait(p *ibsim.Packet) bool {
	for {
		if err := o.conn.SetWriteDeadline(time.Now().Add(outboxTry)); err != nil {
			return false
		}
		_, err := o.conn.Write(p[:])
		switch {
		case errors.Is(err, net.ErrClosed):
			return false
		case !errors.Is(err, os.ErrDeadlineExceeded):
			return true
		}
	}
}
