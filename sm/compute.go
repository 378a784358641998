package sm

import (
	"time"
)

// What is computed on a large subnet takes seconds, in which no SMP is sent or
// answered. A standby must not take that for the end of the manager.
const (
	// beat is how often a computation counts as a sign of life.
	beat = 500 * time.Millisecond
	// computeLimit is for how long one does so: what takes longer may never end,
	// and whoever stands by is to have the subnet then.
	computeLimit = time.Minute
)

// computing begins a step of computation, which ends when done is called.
// Meanwhile the manager counts as active, but only for computeLimit.
func (m *Manager) computing(step string) (done func()) {
	m.vote.active()
	began, over, ended := time.Now(), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		m.beatUntil(over, began, step)
	}()
	return func() {
		close(over)
		<-ended
		m.vote.active()
	}
}

func (m *Manager) beatUntil(over <-chan struct{}, began time.Time, step string) {
	tick := time.NewTicker(beat)
	defer tick.Stop()
	for {
		select {
		case <-over:
			return
		case <-tick.C:
		}
		if time.Since(began) >= computeLimit {
			m.cfg.Log.Error("a computation takes too long, and counts as a sign of life no more", "step", step, "limit", computeLimit)
			return
		}
		m.vote.active()
	}
}
