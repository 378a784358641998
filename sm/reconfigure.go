package sm

import (
	"time"

	"heddle/sm/election"
)

// Reconfigure has the manager work by another Config from its next sweep on,
// which it asks for; the priority and SMKey count at once. What is made once
// stays as it was: the keepers of state, Log, Groups and Window, Multicast,
// SAKey, Poll and Polls, Workers, Traps, the M_Key and the subnet's prefix. It
// may be called by any goroutine.
func (m *Manager) Reconfigure(c Config) {
	c = c.filled()
	m.next.Store(&c)
	m.vote.do(func(e *election.Machine) { e.Configure(time.Now(), c.Priority, c.SMKey) })
	m.Resweep("configuration")
}

// reconfigured takes over what Reconfigure gave.
func (m *Manager) reconfigured() {
	c := m.next.Swap(nil)
	if c == nil {
		return
	}
	old := &m.cfg
	c.LIDs.Keep = old.LIDs.Keep
	c.Ports.Manager, c.Ports.Prefix, c.Ports.Reregister = old.Ports.Manager, old.Ports.Prefix, old.Ports.Reregister
	c.Ports.MKey, c.Ask.MKey, c.Ask.Progress = old.Ports.MKey, old.Ask.MKey, old.Ask.Progress
	m.cfg.Unicast, m.cfg.LIDs, m.cfg.Ports, m.cfg.PKeys, m.cfg.Ask = c.Unicast, c.LIDs, c.Ports, c.PKeys, c.Ask
	m.engines, m.cfg.RouteLimit = newEngines(c.Unicast), c.RouteLimit
	m.cfg.Interval, m.cfg.Settle, m.cfg.Retry, m.cfg.Patience = c.Interval, c.Settle, c.Retry, c.Patience
	m.cfg.LIDsAfterStandby = c.LIDsAfterStandby
	m.cfg.NoReregister, m.cfg.Swept, m.cfg.QoS = c.NoReregister, c.Swept, c.QoS
	m.cfg.Log.Info("configured anew")
}
