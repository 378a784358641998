package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"heddle/ib"
	"heddle/mad"
	"heddle/sa"
	"heddle/umad"
)

// getReady is what it took to get collected groups ready.
type getReady struct {
	load
	spent                                // what the manager's log tells
	joins, sets, total     time.Duration // from the first join to the last answer, the last Set, and until all were seen to be Ready
	written, cells         int
	resweep                time.Duration // of the whole subnet, with the groups present
	resweepSMPs            int
	manager, here          usage // the manager's processor time is that of the groups
	groups, members, ports int
}

func getReadyMetrics() []metric[getReady] {
	seconds := func(name string, f func(g getReady) time.Duration) metric[getReady] {
		return metric[getReady]{name, "s", func(g getReady) float64 { return f(g).Seconds() }}
	}
	return []metric[getReady]{
		seconds("first join to all Ready", func(g getReady) time.Duration { return g.total }),
		seconds("first join to last answer", func(g getReady) time.Duration { return g.joins }),
		seconds("first join to last Set", func(g getReady) time.Duration { return g.sets }),
		seconds("routing", func(g getReady) time.Duration { return g.routing }),
		{"routing, of the whole", "%", func(g getReady) float64 { return 100 * g.routing.Seconds() / g.total.Seconds() }},
		seconds("planning", func(g getReady) time.Duration { return g.planning }),
		seconds("reading", func(g getReady) time.Duration { return g.reading }),
		seconds("writing", func(g getReady) time.Duration { return g.writing }),
		{"batches", "", func(g getReady) float64 { return float64(g.batches) }},
		{"MFT blocks read", "", func(g getReady) float64 { return float64(g.read) }},
		{"MFT Sets", "", func(g getReady) float64 { return float64(g.written) }},
		{"cells changed", "", func(g getReady) float64 { return float64(g.cells) }},
		{"maximum EFI", "", func(g getReady) float64 { return float64(g.max) }},
		{"links used", "", func(g getReady) float64 { return float64(g.links) }},
		seconds("sweep with all present", func(g getReady) time.Duration { return g.resweep }),
		{"SMPs of that sweep", "", func(g getReady) float64 { return float64(g.resweepSMPs) }},
		{"manager's processor time", "s", func(g getReady) float64 { return g.manager.cpu.Seconds() }},
		{"manager's peak memory", "MB", func(g getReady) float64 { return float64(g.manager.peak) / 1e6 }},
		{"peak memory of subnet and clients", "MB", func(g getReady) float64 { return float64(g.here.peak) / 1e6 }},
	}
}

// readyClients are the ports from which a run of Ready joins, each for its
// share of the groups, as many jobs would.
const readyClients = 16

// Ready has clients join collected groups, for all their members, and ask for
// the state of each until all are Ready, and returns figures of what took how
// long. heddle alone has such groups. The emulated subnet simulates: it and the
// clients are in this process, the manager is in one of its own and has the
// sockets for itself.
func (m *SM) Ready(ctx context.Context, spec string, l Load) ([]Figure, error) {
	alone := *m
	alone.Peer = false
	s, err := alone.stage(ctx, spec, true)
	if err != nil {
		return nil, err
	}
	defer s.close()
	s.mlids = 0 // all
	var results []getReady
	for run := range m.Runs {
		s.watch("%s: groups %s until all are Ready, run %d of %d", spec, l, run+1, m.Runs)
		err := s.manage(ctx, s.managers[0], func(ctx context.Context, g *ground, sm *managing) error {
			got, err := s.getReady(ctx, g, sm, l)
			results = append(results, got)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	r := results[0]
	name := fmt.Sprintf("collected groups %s (%d with %d members, joined from %d ports)", l, r.groups, r.members, r.ports)
	return figures(s.stage, name, [][]getReady{results}, getReadyMetrics()), nil
}

// getReady opens the clients' ports and has the groups be joined.
func (s *smStage) getReady(ctx context.Context, g *ground, sm *managing, l Load) (got getReady, err error) {
	var ports []*umad.Port
	defer func() {
		for _, p := range ports {
			p.Close() //nolint:errcheck // all is said
		}
	}()
	for i := range min(readyClients, len(s.fabric.Adapters())-1) {
		port, err := s.port(g, 1+i)
		if err != nil {
			return got, err
		}
		ports = append(ports, port)
	}
	j := joiner{port: ports[0], collected: true, together: true}
	if j.view, err = s.look(ctx, ports[0]); err != nil {
		return got, err
	}
	if j.groups, err = l.generate(j.view.Fabric); err != nil {
		return got, err
	}
	r := readier{joiner: &j, clients: ports}
	return r.run(ctx, g, sm)
}

// readier joins the groups from several ports.
type readier struct {
	*joiner
	clients []*umad.Port
	joined  time.Time // when the last join was answered
}

func (r *readier) run(ctx context.Context, g *ground, sm *managing) (got getReady, err error) {
	before, err := usageOf(sm.PID())
	if err != nil {
		return got, err
	}
	logged := len(sm.Output())
	meter := emulatedMeter(g)
	start := time.Now()
	c, ended, err := meter.watched(ctx, func() error { return r.getReady(ctx) })
	if err != nil {
		return got, err
	}
	got.joins, got.sets, got.total, got.written = r.joined.Sub(start), c.last.Sub(start), ended.Sub(start), c.sets
	got.groups, got.members, got.ports = len(r.groups), r.got.members, len(r.clients)
	if got.spent, err = spentOn(sm.Output()[logged:]); err != nil {
		return got, err
	}
	after, err := usageOf(sm.PID())
	if err != nil {
		return got, err
	}
	if err := r.judge(ctx); err != nil {
		return got, err
	}
	got.cells, got.load = r.got.cells, r.got.load
	if err := got.sweep(ctx, g, sm); err != nil {
		return got, err
	}
	if got.manager, err = usageOf(sm.PID()); err != nil {
		return got, err
	}
	got.manager.cpu = after.cpu - before.cpu
	got.here, err = usageOf(os.Getpid())
	return got, err
}

// sweep has the manager look at the whole subnet again.
func (got *getReady) sweep(ctx context.Context, g *ground, sm *managing) error {
	p, err := os.FindProcess(sm.PID())
	if err != nil {
		return err
	}
	before, _ := g.stats()
	start := time.Now()
	if err := p.Signal(syscall.SIGHUP); err != nil {
		return err
	}
	if err := sm.sweeps(ctx); err != nil {
		return err
	}
	got.resweep = time.Since(start)
	after, _ := g.stats()
	got.resweepSMPs = int(after.SMPs - before.SMPs)
	return nil
}

// getReady has each client join for its share, and then ask until all of that is
// Ready.
func (r *readier) getReady(ctx context.Context) error {
	all, groupOf := r.order()
	r.got.members = len(all)
	r.mlids = make([]ib.MLID, len(r.groups))
	joins, polls := make([]error, len(r.clients)), make([]error, len(r.clients))
	r.each(func(i int, c *sa.Client) { joins[i] = r.share(ctx, c, i, all, groupOf) })
	r.joined = time.Now()
	if err := errors.Join(joins...); err != nil {
		return err
	}
	r.each(func(i int, c *sa.Client) { polls[i] = r.poll(ctx, c, i) })
	return errors.Join(polls...)
}

// each calls f for each client, all at once, and waits.
func (r *readier) each(f func(i int, c *sa.Client)) {
	var wait sync.WaitGroup
	for i, port := range r.clients {
		wait.Go(func() { f(i, sa.New(port, sa.Options{})) })
	}
	wait.Wait()
}

// share joins for the groups of a client: every so many-th.
func (r *readier) share(ctx context.Context, c *sa.Client, client int, all []mad.MCMemberRecord, groupOf []int) error {
	var mine []mad.MCMemberRecord
	var groups []int
	for i := range all {
		if groupOf[i]%len(r.clients) == client {
			mine, groups = append(mine, all[i]), append(groups, groupOf[i])
		}
	}
	var failed error
	err := c.JoinAll(ctx, mine, sa.MCMemberCreate|mad.MCMemberRecordMemberCount, func(i int, record mad.MCMemberRecord, err error) {
		if err != nil && failed == nil {
			failed = fmt.Errorf("join of group %d: %w", groups[i], err)
		}
		r.mlids[groups[i]] = record.MLID
	})
	if err != nil {
		return err
	}
	return failed
}

// poll asks for the states of a client's groups until all are Ready.
func (r *readier) poll(ctx context.Context, c *sa.Client, client int) error {
	const pause = 10 * time.Millisecond
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for group := client; group < len(r.groups); group += len(r.clients) {
		for {
			state, err := sa.Get(ctx, c, mad.MCGStateRecord{MGID: r.mgid(group)}, mad.MCGStateRecordMGID)
			if err != nil {
				return fmt.Errorf("state of group %d: %w", group, err)
			}
			if state.State == mad.MCGReady {
				break
			}
			if state.State > mad.MCGReady {
				return fmt.Errorf("group %d is %v before it was seen to be Ready", group, state.State)
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
	}
	return nil
}

// spent is what a manager says that it spent on groups.
type spent struct {
	batches, read                       int
	routing, planning, reading, writing time.Duration
}

// spentOn reads it from a piece of heddle's log.
func spentOn(log string) (s spent, err error) {
	for _, m := range writtenLine.FindAllStringSubmatch(log, -1) {
		s.batches++
		s.read += logged(m[0], "read")
		for key, sum := range map[string]*time.Duration{
			"routing": &s.routing, "planning": &s.planning, "reading": &s.reading, "writing": &s.writing,
		} {
			d, err := loggedTime(m[0], key)
			if err != nil {
				return s, err
			}
			*sum += d
		}
	}
	return s, nil
}

// loggedTime is a time of a line of heddle's log.
func loggedTime(line, key string) (time.Duration, error) {
	_, rest, _ := strings.Cut(line, " "+key+"=")
	text, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, fmt.Errorf("log of heddle, %s: %w", key, err)
	}
	return d, nil
}
