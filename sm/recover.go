package sm

import (
	"context"
	"errors"
	"fmt"
	"time"

	"heddle/mad"
	"heddle/sm/election"
	"heddle/sm/group"
	"heddle/sm/replica"
	"heddle/sm/store"
)

// maxRetry is the longest time after which a memory that failed is tried again.
const maxRetry = time.Minute

// takeUp makes a manager that is master the one that writes, with the state that
// is kept. One that cannot do so leaves the subnet to a standby, if there is
// one; else it tries again. Until then it answers BUSY to whoever wants something
// to be kept, and does for the subnet what can be done without: a subnet without
// links would be worse.
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
	m.makeDo(reason)
	wait := min(m.cfg.Retry<<min(m.retries, 10), maxRetry)
	m.retries++
	time.AfterFunc(wait, func() { wake(m.keeper.broken) })
}

// makeDo has a manager lead that cannot write its state, with what can be read of
// it. Where nothing can, multicast tables stay as they are: they may be those of
// groups that it does not know.
func (m *Manager) makeDo(reason string) {
	if m.leading {
		return
	}
	err := m.recall()
	if err == nil {
		m.server().Groups(func(t *group.Table) { err = t.Resume(time.Now(), t.Epoch()+1) })
	}
	m.begins()
	if m.blind = err != nil; m.blind {
		m.cfg.Log.Error("the state cannot be read either: multicast tables stay as they are", "error", err)
	}
	m.Resweep("master: " + reason)
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
