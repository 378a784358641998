// Package sim is a network of RDMA devices in the process: seeded, reproducible,
// and as weak as a [Profile] says. A program that works on it relies on nothing
// that its profile does not promise, because the devices really use what freedom
// they have: they cut a WRITE into pieces and place them in any order while the
// program looks on, let messages overtake each other, and lose packets.
package sim
