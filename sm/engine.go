package sm

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"heddle/route"
)

// engine is a unicast engine that is not trusted: it may fail, panic, or never
// return.
type engine struct {
	Unicast
	since atomic.Pointer[time.Time] // when the run began that goes on; nil for none
}

func newEngines(list []Unicast) (engines []*engine) {
	for _, u := range list {
		engines = append(engines, &engine{Unicast: u})
	}
	return engines
}

// route tries the engines until one makes tables.
func (m *Manager) route(ctx context.Context, g *route.Graph, h *route.Hops, lids *route.LIDs, r *Report) (*route.LFTs, error) {
	failed := errors.New("the fabric has no ranks, and no unicast engine does without")
	ranked := m.ranked(g, r)
	for _, e := range m.engines {
		if e.Ranked && !ranked {
			continue
		}
		tables, err := e.run(ctx, m.cfg.RouteLimit, func() (*route.LFTs, error) { return e.Route(g, h, lids, m.cfg.Workers) })
		if err == nil {
			r.Engine = e.Name
			return tables, nil
		}
		failed = fmt.Errorf("unicast engine %s: %w", e.Name, err)
		m.warn(r, EngineFailed, failed.Error())
		if ctx.Err() != nil {
			break
		}
	}
	return nil, failed
}

// run lets the engine work for a limited time. What takes longer is left alone,
// and not begun again before it ends: Go cannot end it.
func (e *engine) run(ctx context.Context, limit time.Duration, f func() (*route.LFTs, error)) (*route.LFTs, error) {
	now := time.Now()
	if before := e.since.Load(); before != nil {
		return nil, fmt.Errorf("it did not return since %v ago", now.Sub(*before).Round(time.Second))
	}
	e.since.Store(&now)
	type result struct {
		tables *route.LFTs
		err    error
	}
	came := make(chan result, 1)
	go func() {
		tables, err := guarded(f)
		if err == nil && tables == nil {
			err = errors.New("no tables")
		}
		e.since.Store(nil)
		came <- result{tables, err}
	}()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case r := <-came:
		return r.tables, r.err
	case <-timer.C:
		return nil, fmt.Errorf("it did not return within %v", limit)
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// guarded turns a panic of an engine into an error.
func guarded[T any](f func() (T, error)) (v T, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return f()
}
