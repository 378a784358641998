package channel

import (
	"context"
	"os"
	"sync"
	"time"
)

// deadline is that of a net.Conn, which can be changed while it is waited for.
type deadline struct {
	mu    sync.Mutex
	timer *time.Timer
	next  *moment // guarded by mu
}

// moment is a context that ends with a deadline. One that has ended stays so; the
// deadline then has another one.
type moment struct{ done chan struct{} }

func newDeadline() *deadline { return &deadline{next: newMoment()} }

func newMoment() *moment { return &moment{make(chan struct{})} }

// moment is what waits for the deadline wait for.
func (d *deadline) moment() *moment {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.next
}

// set is the new time; zero is none.
func (d *deadline) set(t time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.timer != nil {
		d.timer.Stop()
		d.timer = nil
	}
	left := time.Until(t)
	if d.next.Err() != nil {
		if !t.IsZero() && left <= 0 {
			return
		}
		d.next = newMoment()
	}
	switch {
	case t.IsZero():
	case left <= 0:
		close(d.next.done)
	default:
		d.start(left)
	}
}

// start has the time be over after a while, unless it is set anew before.
func (d *deadline) start(left time.Duration) {
	var timer *time.Timer
	timer = time.AfterFunc(left, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.timer == timer && d.next.Err() == nil {
			close(d.next.done)
		}
	})
	d.timer = timer
}

// Deadline implements context.Context. It says nothing, as the time may be changed.
func (m *moment) Deadline() (time.Time, bool) { return time.Time{}, false }

// Done implements context.Context.
func (m *moment) Done() <-chan struct{} { return m.done }

// Err implements context.Context.
func (m *moment) Err() error {
	select {
	case <-m.done:
		return os.ErrDeadlineExceeded
	default:
		return nil
	}
}

// Value implements context.Context.
func (m *moment) Value(any) any { return nil }

var _ context.Context = (*moment)(nil)
