package group

import "time"

// Window coalesces work: it is taken when nothing has changed for Quiet, and at
// the latest Bound after the first change. With either zero it is taken at once.
//
// With Least, a short burst of changes counts as over sooner: after an eighth of
// the time that it lasted, though not before Least, nor later than after half of Quiet.
// However the changes come, work that goes on is then taken in few rounds, each
// much longer than the one before.
//
// Collected groups that are complete wait for others that still collect members,
// as long as those get some: until none of them got any for Quiet, and no longer
// than Bound. Where no group collects members they wait for Least.
type Window struct {
	Quiet, Bound, Least time.Duration
}

// pause is how long nothing must have changed.
func (w Window) pause(q Waiting) time.Duration {
	switch {
	case w.Least == 0 || q.Open:
		return w.Quiet
	case q.Final:
		return min(w.Quiet, w.Least)
	default:
		return min(w.Quiet/2, max(w.Least, q.Last.Sub(q.First)/8))
	}
}

// Soonest is how soon after a change its work can be due, unless earlier changes
// wait too.
func (w Window) Soonest() time.Duration {
	if w.Least == 0 {
		return min(w.Quiet, w.Bound)
	}
	return min(w.Quiet, w.Bound, w.Least)
}

// Due tells when work that waits is to be taken; false where none waits.
func (w Window) Due(q Waiting) (time.Time, bool) {
	if q.MLIDs == 0 {
		return time.Time{}, false
	}
	quiet, bound := q.Last.Add(w.pause(q)), q.First.Add(w.Bound)
	if bound.Before(quiet) {
		return bound, true
	}
	return quiet, true
}
