package emu

import (
	"errors"
	"net"
	"os"
	"sync"
	"time"

	"heddle/ibsim"
)

// outbox sends packets to a client. Nobody waits for a client that does not
// read: what finds no room in its queue stays here until there is some, or is
// lost where too much waits already.
type outbox struct {
	conn    net.Conn
	sender  *ibsim.Sender
	running *sync.WaitGroup // has sendLate

	mu   sync.Mutex
	late []ibsim.Packet // guarded by mu, as what follows
	busy bool           // late packets are being sent: all others go behind them
}

func newOutbox(conn socket, running *sync.WaitGroup) (*outbox, error) {
	sender, err := ibsim.NewSender(conn)
	return &outbox{conn: conn, sender: sender, running: running}, err
}

// send takes a copy of a packet. An error says that the client is gone.
func (o *outbox) send(p *ibsim.Packet) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.busy {
		err := o.sender.Send(p[:])
		if !errors.Is(err, ibsim.ErrNoRoom) {
			return err
		}
		o.busy = true
		o.running.Go(o.sendLate)
	}
	if len(o.late) < inboxLimit {
		o.late = append(o.late, *p)
	}
	return nil
}

// sendLate sends what waits, as fast as the client reads, until nothing does or
// the socket is closed.
func (o *outbox) sendLate() {
	for {
		o.mu.Lock()
		batch := o.late
		o.late, o.busy = nil, len(batch) > 0
		if !o.busy {
			o.conn.SetWriteDeadline(time.Time{}) //nolint:errcheck // else no packet would go any more; a closed socket takes none anyway
		}
		o.mu.Unlock()
		if len(batch) == 0 {
			return
		}
		for i := range batch {
			if !o.wait(&batch[i]) {
				return
			}
		}
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
