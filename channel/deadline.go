package channel

import (
	"context"
	"os"
	"sync"
	"time"
)

// deadline is a context that can be given another deadline while it is waited
// for, as those of a net.Conn can.
type deadline struct {
	mu    sync.Mutex
	timer *time.Timer
	done  chan struct{} // closed when the time is over; guarded by mu
	over  bool
	at    time.Time
}

func newDeadline() *deadline { return &deadline{done: make(chan struct{})} }

// set is the new time; zero is none.
func (d *deadline) set(t time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.timer != nil {
		d.timer.Stop()
		d.timer = nil
	}
	d.at = t
	if d.over && (t.IsZero() || time.Until(t) > 0) {
		d.over, d.done = false, make(chan struct{})
	}
	switch left := time.Until(t); {
	case t.IsZero() || d.over:
	case left <= 0:
		d.end()
	default:
		var timer *time.Timer
		timer = time.AfterFunc(left, func() {
			d.mu.Lock()
			defer d.mu.Unlock()
			if d.timer == timer && !d.over {
				d.end()
			}
		})
		d.timer = timer
	}
}

// end has the time be over; mu is held.
func (d *deadline) end() {
	d.over = true
	close(d.done)
}

// Deadline implements context.Context. It says nothing, as it may be another one
// at any time.
func (d *deadline) Deadline() (time.Time, bool) { return time.Time{}, false }

// Done implements context.Context.
func (d *deadline) Done() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.done
}

// Err implements context.Context.
func (d *deadline) Err() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.over {
		return os.ErrDeadlineExceeded
	}
	return nil
}

// Value implements context.Context.
func (d *deadline) Value(any) any { return nil }

var _ context.Context = (*deadline)(nil)
