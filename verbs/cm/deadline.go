package cm

import (
	"sync"
	"time"
)

// deadline is that of a net.Conn, which can be changed while it is waited for.
type deadline struct {
	mu    sync.Mutex
	timer *time.Timer   // guarded by mu
	over  chan struct{} // closed when it is; guarded by mu
}

func newDeadline() *deadline { return &deadline{over: make(chan struct{})} }

// wait gives what is closed when the time is over.
func (d *deadline) wait() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.over
}

// set is the new time; zero is none.
func (d *deadline) set(t time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.timer != nil {
		d.timer.Stop()
		d.timer = nil
	}
	if isClosed(d.over) {
		d.over = make(chan struct{})
	}
	over := d.over
	switch left := time.Until(t); {
	case t.IsZero():
	case left <= 0:
		close(over)
	default:
		d.start(left, over)
	}
}

// start has the time be over after a while, unless it is set anew before.
func (d *deadline) start(left time.Duration, over chan struct{}) {
	var timer *time.Timer
	timer = time.AfterFunc(left, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.timer == timer {
			close(over)
			d.timer = nil
		}
	})
	d.timer = timer
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
