//go:build race

package admin_test

// raceEnabled is true under the race detector, which costs ten times the
// memory and the time.
const raceEnabled = true
