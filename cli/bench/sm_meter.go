package bench

import (
	"context"
	"fmt"
	"time"

	"heddle/mad"
	"heddle/umad"
)

// quiet is how long a manager must have written no multicast table to be taken
// for done.
const quiet = time.Second

// count is how many Sets of multicast tables there were, and when the last one
// was.
type count struct {
	sets int
	last time.Time // zero where there was none
}

// meter counts Sets since it began. Of the emulated subnet that is exact. On
// ibsim, heddle's own log tells, and for OpenSM the count of SMPs that SMInfo
// has: it sends no others meanwhile, but the answers to that question.
type meter struct {
	read  func(ctx context.Context) (count, error)
	close func()
}

func (s *smStage) meter(ctx context.Context, g *ground, sm *managing) (*meter, error) {
	switch {
	case g.live != nil:
		return emulatedMeter(g), nil
	case sm.ours:
		return logMeter(sm)
	default:
		return s.actMeter(ctx, g)
	}
}

func emulatedMeter(g *ground) *meter {
	before, then := g.stats()
	start := time.Now()
	return &meter{close: func() {}, read: func(context.Context) (c count, err error) {
		stats, _ := g.stats()
		c.sets = int(stats.MFTSets - before.MFTSets)
		if c.sets > 0 {
			c.last = start.Add(stats.LastMFTSet - then)
		}
		return c, nil
	}}
}

func logMeter(sm *managing) (*meter, error) {
	before, err := writes(sm.Output())
	if err != nil {
		return nil, err
	}
	return &meter{close: func() {}, read: func(context.Context) (c count, err error) {
		list, err := writes(sm.Output())
		if err != nil {
			return c, err
		}
		for _, w := range list[min(len(before), len(list)):] {
			c.sets += w.sets
			if w.sets > 0 {
				c.last = w.at
			}
		}
		return c, nil
	}}, nil
}

// act asks, again and again, for a manager's count of SMPs. An answer may or
// may not be counted when the next is written: what is above the highest count
// so far is more.
type act struct {
	port     *umad.Port
	to       umad.Address
	each     int // what a question adds to the count
	asked    int
	low, top int // counts without the questions: at the beginning, and the highest
	last     time.Time
}

// ask is the count, without what the questions added.
func (a *act) ask(ctx context.Context) (int, error) {
	answer, err := a.port.Call(ctx, get(a.to, mad.ClassLID, mad.AttrSMInfo), umad.CallOptions{})
	if err != nil {
		return 0, fmt.Errorf("SMInfo: %w", err)
	}
	info, err := mad.ParseSMInfo(answer.Datagram().Data())
	n := int(info.ActCount) - a.asked*a.each
	a.asked++
	return n, err
}

// calibrate finds what a question adds, and where the count stands.
func (a *act) calibrate(ctx context.Context) error {
	const questions = 16
	first, err := a.ask(ctx)
	for range questions {
		if err != nil {
			return err
		}
		a.top, err = a.ask(ctx)
	}
	a.each = (a.top - first + questions/2) / questions
	a.top -= (a.asked - 1) * a.each
	for range questions {
		if err != nil {
			return err
		}
		var n int
		n, err = a.ask(ctx)
		a.top = max(a.top, n)
	}
	a.low = a.top
	return err
}

func (a *act) read(ctx context.Context) (count, error) {
	n, err := a.ask(ctx)
	if n > a.top {
		a.top, a.last = n, time.Now()
	}
	return count{a.top - a.low, a.last}, err
}

func (s *smStage) actMeter(ctx context.Context, g *ground) (*meter, error) {
	port, err := s.port(g, 2)
	if err != nil {
		return nil, err
	}
	stop := func() { port.Close() } //nolint:errcheck // all is said
	info, err := port.Info()
	if err == nil {
		a := &act{port: port, to: umad.ToSMA(info.SMLID)}
		if err = a.calibrate(ctx); err == nil {
			return &meter{read: a.read, close: stop}, nil
		}
	}
	stop()
	return nil, err
}

// watched reads a meter every few milliseconds while work runs, and then until
// the manager is quiet.
func (m *meter) watched(ctx context.Context, work func() error) (c count, ended time.Time, err error) {
	done := make(chan error, 1)
	go func() { done <- work() }()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case err := <-done:
			ended, done = time.Now(), nil
			if err != nil {
				return c, ended, err
			}
		case <-tick.C:
			if c, err = m.read(ctx); err != nil {
				return c, ended, err
			}
			if done == nil && time.Since(later(ended, c.last)) > quiet {
				return c, ended, nil
			}
		case <-ctx.Done():
			return c, ended, context.Cause(ctx)
		}
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
