package sm

import (
	"fmt"

	"heddle/route"
)

// Warning is something about a sweep that an administrator should know though
// it is no failure.
type Warning struct {
	// Name is for programs.
	Name WarningName
	// Text says what and where, for people.
	Text string
}

// WarningName says what a Warning is of.
type WarningName string

// The names.
const (
	// UnrankedFabric: the fabric is not layered as a tree is, so that an engine
	// with ranks was passed over, or had to choose roots.
	UnrankedFabric WarningName = "unranked-fabric"
	// Deadlock: packets could wait for each other in a ring, for ever.
	Deadlock WarningName = "deadlock"
	// EngineFailed: an engine did not route, and another one had to.
	EngineFailed WarningName = "engine-failed"
	// NotKept: what the manager must know after its death is not kept, so that
	// joins and the like are answered BUSY.
	NotKept WarningName = "state-not-kept"
)

// WarningNames lists the names.
func WarningNames() []WarningName {
	return []WarningName{UnrankedFabric, Deadlock, EngineFailed, NotKept}
}

// warn puts a warning into a report and into the log.
func (m *Manager) warn(r *Report, name WarningName, text string) {
	r.Warnings = append(r.Warnings, Warning{name, text})
	m.cfg.Log.Warn("sweep", "warning", string(name), "text", text)
}

// warnNotKept warns where nothing is kept.
func (m *Manager) warnNotKept(r *Report) {
	if err := m.keeper.err(); err != nil {
		m.warn(r, NotKept, fmt.Sprintf("joins, leaves, subscriptions and services are answered BUSY: %v", err))
	}
}

// ranked tells whether a fabric has ranks, and warns where it has none.
func (m *Manager) ranked(g *route.Graph, r *Report) bool {
	if _, ok := route.Ranks(g); ok {
		return true
	}
	m.warn(r, UnrankedFabric, "the switches are not layered as those of a tree are: paths that only go up and then down are longer "+
		"than need be and meet at a few switches, and shortest paths may form a ring in which packets wait for each other")
	return false
}
