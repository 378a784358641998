package emu

import (
	"fmt"
	"net"
	"sync"
	"time"

	"heddle/fabric"
)

// Live runs a Subnet in the time of package time: the real one, or that of a
// testing/synctest bubble. All of its methods are safe for use by several
// goroutines.
type Live struct {
	start time.Time

	mu     sync.Mutex
	subnet *Subnet     // guarded by mu, as what follows
	timer  *time.Timer // nil while no event waits
	due    time.Duration
	closed bool
	// outboxes are those that something was put into, for flush.
	outboxes []*outbox
}

// Start makes a subnet and lets its time run. Close ends it.
func Start(f *fabric.Fabric, cfg Config) (*Live, error) {
	s, err := New(f, cfg)
	if err != nil {
		return nil, err
	}
	return &Live{start: time.Now(), subnet: s}, nil
}

// Do lets a function use the subnet, at the time that it is now. Nothing else
// happens to the subnet meanwhile.
func (l *Live) Do(f func(s *Subnet) error) error {
	l.mu.Lock()
	defer l.flush()
	if l.closed {
		return fmt.Errorf("emulated subnet: %w", net.ErrClosed)
	}
	l.subnet.Advance(time.Since(l.start))
	err := f(l.subnet)
	l.arm()
	return err
}

// flush unlocks l.mu, which is held, and sends to clients of servers what is
// for them, while others use the subnet.
func (l *Live) flush() {
	var few [4]*outbox
	list := append(few[:0], l.outboxes...)
	l.outboxes = l.outboxes[:0]
	l.mu.Unlock()
	for _, o := range list {
		o.flush()
	}
}

// arm sets the timer to the next event. l.mu is held.
func (l *Live) arm() {
	at, ok := l.subnet.Next()
	switch {
	case !ok || l.timer != nil && l.due == at:
	case l.timer == nil:
		l.due, l.timer = at, time.AfterFunc(at-time.Since(l.start), l.tick)
	default:
		l.due = at
		l.timer.Reset(at - time.Since(l.start))
	}
}

// tick lets happen what is due.
func (l *Live) tick() {
	l.mu.Lock()
	defer l.flush()
	if l.closed {
		return
	}
	l.due = -1
	l.subnet.Advance(time.Since(l.start))
	l.arm()
}

// Close ends the subnet; devices that are open on it fail from then on.
func (l *Live) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	l.closed = true
	if l.timer != nil {
		l.timer.Stop()
	}
	for _, c := range l.subnet.byID {
		if c != nil && c.opts.Closed != nil {
			c.opts.Closed()
		}
	}
	return nil
}
