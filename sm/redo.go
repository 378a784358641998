package sm

import (
	"time"

	"heddle/fabric"
)

// redo says when a sweep is to be repeated that left something undone: what a
// node did not take, or a node that did not answer though its link is up, of
// which no trap will tell when it does. The wait doubles with each sweep that
// was for nothing else and in vain, up to mostRedo intervals, so that one dead
// node does not have the subnet swept for ever.
type redo struct {
	wait  time.Duration // 0 where nothing is to be done again
	at    time.Time
	tried bool // the sweep at hand is for it
}

const mostRedo = 16

// after takes the result of a sweep.
func (d *redo) after(now time.Time, r *Report, faults []fabric.Fault, interval time.Duration) {
	undone := r.Failed > 0
	for i := range faults {
		undone = undone || faults[i].Kind == fabric.FaultUnreachable
	}
	switch {
	case !undone:
		*d = redo{}
	case d.wait == 0:
		*d = redo{wait: interval, at: now.Add(interval)}
	case d.tried:
		wait := min(2*d.wait, mostRedo*interval)
		*d = redo{wait: wait, at: now.Add(wait)}
	}
}

// begin takes note of something undone that no sweep left: the next look is for
// it, unless a sweep is to come anyway.
func (d *redo) begin(now time.Time, interval time.Duration) {
	if d.wait == 0 {
		*d = redo{wait: interval, at: now}
	}
}

// due tells whether the time has come. Looks come in an interval, and none is
// missed for being a little early.
func (d *redo) due(now time.Time, interval time.Duration) bool {
	d.tried = d.wait > 0 && !now.Before(d.at.Add(-interval/2))
	return d.tried
}
