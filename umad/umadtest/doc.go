// Package umadtest is the double of a umad.Device: two ports joined by a link
// in memory that loses, repeats, delays and reorders what it is told to, always
// in the same way for the same seed; and Run, which tests that a Device keeps
// its contract.
package umadtest
