package channel

import (
	"context"
	"runtime"
	"time"
)

// pause is how one waits for what nobody tells of: first not at all, then by
// letting others run, then asleep, longer and longer.
type pause struct {
	turns int
	brief bool // asleep soon: who waits has what is waited for come later
	timer *time.Timer
}

const (
	turnsBrief   = 8
	turnsAtOnce  = 64
	turnsYielded = 64
	shortestNap  = 10 * time.Microsecond
	longestNap   = 320 * time.Microsecond
)

func (p *pause) reset() { p.turns, p.brief = 0, false }

// spins tells whether the next wait does not wait at all.
func (p *pause) spins() bool { return p.turns < turnsAtOnce }

// wait waits once; it ends with the context, and with ErrClosed when done is
// closed.
func (p *pause) wait(ctx context.Context, done <-chan struct{}) error {
	p.turns++
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-done:
		return ErrClosed
	default:
	}
	if p.brief && p.turns > turnsBrief {
		p.turns = max(p.turns, turnsAtOnce+turnsYielded+1)
	}
	switch {
	case p.turns <= turnsAtOnce:
		return nil
	case p.turns <= turnsAtOnce+turnsYielded:
		runtime.Gosched()
		return nil
	}
	nap := min(shortestNap<<min(8, (p.turns-turnsAtOnce-turnsYielded)/16), longestNap)
	if p.timer == nil {
		p.timer = time.NewTimer(nap)
	} else {
		p.timer.Reset(nap)
	}
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-done:
		return ErrClosed
	case <-p.timer.C:
		return nil
	}
}
