package sm

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"heddle/route"
	"heddle/sm/multicast"
)

// engine is a unicast engine that is not trusted: it may fail, panic, or never
// return.
type engine struct {
	Unicast
	watch
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

// run lets the engine work for a limited time.
func (e *engine) run(ctx context.Context, limit time.Duration, f func() (*route.LFTs, error)) (*route.LFTs, error) {
	var result struct {
		tables *route.LFTs
		err    error
	}
	got := &result // the engine's until it returns
	if err := e.wait(ctx, limit, func() { got.tables, got.err = guarded(f) }); err != nil {
		return nil, err
	}
	if got.err == nil && got.tables == nil {
		return nil, errors.New("no tables")
	}
	return got.tables, got.err
}

// watch is over calls of an engine, one at a time.
type watch struct {
	since atomic.Pointer[time.Time] // when the call began that goes on; nil for none
}

// wait calls f, and waits for a limited time. What takes longer is left alone,
// and not begun again before it ends: Go cannot end it.
func (w *watch) wait(ctx context.Context, limit time.Duration, f func()) error {
	now := time.Now()
	if before := w.since.Load(); before != nil {
		return fmt.Errorf("it did not return since %v ago", now.Sub(*before).Round(time.Second))
	}
	w.since.Store(&now)
	over := make(chan struct{})
	go func() {
		defer close(over)
		f()
		w.since.Store(nil)
	}()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-over:
		return nil
	case <-timer.C:
		return fmt.Errorf("it did not return within %v", limit)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// watches are over the engines of trees, by name. An engine may take the limit
// for all trees of one pass together.
type watches map[string]*treeWatch

type treeWatch struct {
	watch
	took time.Duration // in this pass
}

func newWatches(list []multicast.Engine) watches {
	w := watches{}
	for i := range list {
		w[list[i].Name] = &treeWatch{}
	}
	return w
}

// begin begins a pass.
func (w watches) begin() {
	for _, t := range w {
		t.took = 0
	}
}

// runTrees calls an engine of trees, see multicast.Config.
func (m *Manager) runTrees(engine string, f func()) error {
	t, now, limit := m.watches[engine], time.Now(), m.cfg.RouteLimit
	if t.took >= limit {
		return fmt.Errorf("it took %v for the trees before", t.took)
	}
	err := t.wait(m.life, limit-t.took, f)
	t.took += time.Since(now)
	return err
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
