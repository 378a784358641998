package sm

import (
	"context"
	"errors"
	"fmt"
	"time"

	"heddle/mad"
	"heddle/sm/election"
	"heddle/sm/replica"
	"heddle/sm/store"
)

// maxRetry is the longest time after which a memory that failed is tried again.
const maxRetry = time.Minute

// takeUp makes a manager that is master the one that writes, with the state that
// is kept. One that cannot do so leaves the subnet to a standby, if there is
// one; else it tries again. Until then it answers nobody who wants something to
// be kept; what it does already for the subnet it goes on doing.
func (m *Manager) takeUp(ctx context.Context, reason string) {
	err := m.reopen(ctx)
	if err == nil {
		err = m.remember(ctx)
	}
	if err == nil {
		m.retries = 0
		m.begins()
		m.Resweep("master: " + reason)
		return
	}
	m.cfg.Log.Error("cannot lead, as the state is not kept", "error", err)
	m.keeper.abandon(err)
	if m.resign(fmt.Sprintf("the state is not kept: %v", err), true) {
		return
	}
	wait := min(m.cfg.Retry<<min(m.retries, 10), maxRetry)
	m.retries++
	time.AfterFunc(wait, func() { wake(m.keeper.broken) })
}

// reopen opens the store again if it failed.
func (m *Manager) reopen(ctx context.Context) error {
	if m.keeper.memory == nil {
		return nil
	}
	return m.cfg.Store.Reopen(ctx)
}

// resign leaves the subnet to others: to a standby, where the manager cannot
// write, which is false if there is none; to the master that there is, where
// another one writes.
func (m *Manager) resign(reason string, toStandby bool) (resigned bool) {
	m.vote.do(func(e *election.Machine) {
		if resigned = !toStandby || e.HasHeir(); resigned {
			e.Resign(time.Now(), reason, toStandby)
		}
	})
	return resigned
}

// deposed tells that another manager writes.
func (m *Manager) deposed() <-chan error {
	if m.keeper.memory == nil {
		return nil
	}
	return m.keeper.memory.Deposed()
}

// unkept does what is to be done where nothing is kept any more: where another
// manager writes, this one is the master no longer; where the store failed, it is
// opened again.
func (m *Manager) unkept(ctx context.Context) {
	err := m.keeper.err()
	if err == nil || m.vote.info().SMState != mad.SMMaster {
		return
	}
	m.cfg.Log.Error("state is not kept", "error", err)
	if errors.Is(err, replica.ErrNotLeader) || errors.Is(err, store.ErrStale) {
		m.resign(fmt.Sprintf("another manager writes the state: %v", err), false)
		return
	}
	m.takeUp(ctx, "the state is kept again")
}
