package sm

import "heddle/route"

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
	// EngineFailed: a unicast engine did not route, and another one had to.
	EngineFailed WarningName = "engine-failed"
)

// WarningNames lists the names.
func WarningNames() []WarningName { return []WarningName{UnrankedFabric, Deadlock, EngineFailed} }

// warn puts a warning into a report and into the log.
func (m *Manager) warn(r *Report, name WarningName, text string) {
	r.Warnings = append(r.Warnings, Warning{name, text})
	m.cfg.Log.Warn("routing", "warning", string(name), "text", text)
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
