package admin

import (
	"sync/atomic"
	"time"

	"heddle/ib"
)

// limiter bounds what each port asks for: it keeps by LID the time at which the
// port has paid for all that it got, which may be ahead by a burst. It needs no
// lock.
type limiter struct {
	each  time.Duration // the time that one unit pays for; 0 for no limit
	ahead time.Duration
	paid  [ib.NumUnicastLIDs + 1]atomic.Int64
}

func newLimiter(l Limits) *limiter {
	if l.Rate < 0 {
		return &limiter{}
	}
	each := max(time.Second/time.Duration(l.Rate), 1)
	return &limiter{each: each, ahead: each * time.Duration(l.Burst)}
}

// admits tells whether a port may ask.
func (l *limiter) admits(now time.Time, lid ib.LID) bool {
	return l.each == 0 || l.paid[lid].Load()-now.UnixNano() <= int64(l.ahead)
}

// charge takes what a request cost.
func (l *limiter) charge(now time.Time, lid ib.LID, units int) {
	if l.each == 0 {
		return
	}
	paid := &l.paid[lid]
	for {
		before := paid.Load()
		if paid.CompareAndSwap(before, max(before, now.UnixNano())+int64(units)*int64(l.each)) {
			return
		}
	}
}
