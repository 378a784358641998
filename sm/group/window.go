package group

import "time"

// Window coalesces work: it is taken when nothing has changed for Quiet, and at
// the latest Bound after the first change. With either zero it is taken at once.
type Window struct {
	Quiet, Bound time.Duration
}

// Due tells when work that waits is to be taken; false where none waits.
func (w Window) Due(q Waiting) (time.Time, bool) {
	if q.MLIDs == 0 {
		return time.Time{}, false
	}
	quiet, bound := q.Last.Add(w.Quiet), q.First.Add(w.Bound)
	if bound.Before(quiet) {
		return bound, true
	}
	return quiet, true
}
