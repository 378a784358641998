//go:build !race

package shm

// raceEnabled is for stores that the race detector has to know of.
const raceEnabled = false
