package bench

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"heddle/emu"
	"heddle/fabric"
	"heddle/ib"
	"heddle/umad"
)

// clients is how many programs ask for paths at once.
const clients = 64

// asking is one run of Paths.
type asking struct {
	rate, sweeping float64 // paths a second, alone and while the manager sweeps
	lost           uint64  // queries that had to be asked again, of both
	failed         uint64
	cpu            time.Duration // of the manager, for a path
}

func askingMetrics() []metric[asking] {
	return []metric[asking]{
		{"paths a second", "1/s", func(a asking) float64 { return a.rate }},
		{"paths a second while it sweeps", "1/s", func(a asking) float64 { return a.sweeping }},
		{"manager's processor time a path", "us", func(a asking) float64 { return float64(a.cpu.Nanoseconds()) / 1e3 }},
		{"queries lost", "", func(a asking) float64 { return float64(a.lost) }},
		{"queries failed", "", func(a asking) float64 { return float64(a.failed) }},
	}
}

// Paths has many clients ask each manager in turn for paths, each client for
// one at a time, and then once more while an adapter's link comes and goes, so
// that the manager has to sweep. ibsim takes too few clients: the emulated
// subnet simulates, and the clients are in its process, so that the manager has
// the sockets for itself.
func (m *SM) Paths(ctx context.Context, spec string) ([]Figure, error) {
	s, err := m.stage(ctx, spec, true)
	if err != nil {
		return nil, err
	}
	defer s.close()
	results := make([][]asking, len(s.managers))
	for run := range m.Runs {
		for i, v := range s.managers {
			s.watch("%s: paths from %s, run %d of %d", spec, v.name, run+1, m.Runs)
			err := s.manage(ctx, v, func(ctx context.Context, g *ground, sm *managing) error {
				a, err := s.ask(ctx, g, sm, m.Queries)
				results[i] = append(results[i], a)
				return err
			})
			if err != nil {
				return nil, err
			}
		}
	}
	return figures(s.stage, fmt.Sprintf("paths, %d clients", clients), results, askingMetrics()), nil
}

// ask opens the clients and lets them ask.
func (s *smStage) ask(ctx context.Context, g *ground, sm *managing, queries int) (a asking, err error) {
	var ports []*umad.Port
	defer func() {
		for _, p := range ports {
			p.Close() //nolint:errcheck // all is said
		}
	}()
	others := len(s.fabric.Adapters()) - 2 // without the manager's, and the last, whose link goes
	for i := range clients {
		port, err := s.port(g, 1+i%others)
		if err != nil {
			return a, err
		}
		ports = append(ports, port)
	}
	// As many processors as they have are left to the manager.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(max(1, runtime.NumCPU()/2)))
	q := &questions{fabric: s.fabric, ports: ports}
	before, err := usageOf(sm.PID())
	if err != nil {
		return a, err
	}
	if a.rate, err = q.run(ctx, queries); err != nil {
		return a, err
	}
	after, err := usageOf(sm.PID())
	if err != nil {
		return a, err
	}
	a.cpu = (after.cpu - before.cpu) / time.Duration(queries)
	flap := s.flap(ctx, g)
	a.sweeping, err = q.run(ctx, queries)
	flap()
	a.failed = q.failed.Load()
	for _, p := range ports {
		a.lost += p.Stats().Resent
	}
	return a, err
}

// flap has the link of the last adapter come and go until stop is called.
func (s *smStage) flap(ctx context.Context, g *ground) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	adapters := s.fabric.Adapters()
	link := s.fabric.Port(fabric.End{Node: adapters[len(adapters)-1], Port: 1}).Link
	var done sync.WaitGroup
	done.Go(func() {
		tick := time.NewTicker(250 * time.Millisecond)
		defer tick.Stop()
		for up := false; ctx.Err() == nil; up = !up {
			g.live.Do(func(s *emu.Subnet) error { //nolint:errcheck // it returns nil
				if up {
					s.RestoreLink(link)
				} else {
					s.CutLink(link)
				}
				return nil
			})
			select {
			case <-tick.C:
			case <-ctx.Done():
			}
		}
	})
	return func() { cancel(); done.Wait() }
}

// questions are what clients ask: paths between two adapters.
type questions struct {
	fabric *fabric.Fabric
	ports  []*umad.Port
	failed atomic.Uint64
}

// run asks so many, from all ports at once, and returns how many a second were
// answered.
func (q *questions) run(ctx context.Context, n int) (rate float64, err error) {
	ends := make(chan error, len(q.ports))
	gids := q.gids()
	start := time.Now()
	for i, port := range q.ports {
		share := n / len(q.ports)
		if i < n%len(q.ports) {
			share++
		}
		a, err := newAsker(ctx, port, gids, uint64(i))
		if err != nil {
			return 0, err
		}
		a.left, a.failed, a.ends = share, &q.failed, ends
		a.next()
	}
	for range q.ports {
		select {
		case e := <-ends:
			err = errors.Join(err, e)
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
	}
	return float64(n) / time.Since(start).Seconds(), err
}

// gids are those of the adapters that are asked for: all but the last.
func (q *questions) gids() (list []ib.GID) {
	adapters := q.fabric.Adapters()
	for _, id := range adapters[:len(adapters)-1] {
		list = append(list, ib.NewGID(0xFE80<<48, q.fabric.Port(fabric.End{Node: id, Port: 1}).GUID))
	}
	return list
}
