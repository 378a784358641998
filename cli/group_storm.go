package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"heddle/cli/text"
	"heddle/fabric"
	"heddle/fabric/pattern"
	"heddle/ib"
	"heddle/mad"
	"heddle/sm/subnet"
	"heddle/umad"

	"github.com/spf13/cobra"
)

// groupStorm is what heddle group storm does.
type groupStorm struct {
	sa      saFlags
	groups  string
	first   ib.MGID
	params  groupParams
	window  int
	collect bool
	leave   bool
	wait    time.Duration
	asJSON  bool
}

func (a *app) groupStormCommand() *cobra.Command {
	var f groupStorm
	cmd := &cobra.Command{
		Use: "storm --groups PATTERN", Short: "Join many groups for many hosts, and measure",
		Long: "Ask the subnet for its hosts, make groups of them by a pattern, and join all of\n" +
			"them from one port, for each host, with a window. It tells joins a second, how long\n" +
			"a join took, and what was refused. With --collect the groups are collected ones,\n" +
			"and it waits until all of them are Ready. The exit status is 1 where a join failed.\n\n" +
			portHelp + "\n\nPatterns:\n" + patternHelp(),
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if f.window < 1 || f.wait <= 0 {
				return usagef("--window %d --wait %v: want numbers above 0", f.window, f.wait)
			}
			spec, err := pattern.Parse(f.groups)
			if err != nil {
				return &usageError{err}
			}
			return f.sa.withSA(f.window, func(s saSession) error { return a.groupStorm(s, spec, f) })
		},
	}
	f.sa.flags(cmd)
	set := cmd.Flags()
	set.StringVarP(&f.groups, "groups", "g", "", "`PATTERN` of the groups, such as random:1000x8,seed=3")
	set.TextVar(&f.first, "mgid", ib.MustParseMGID("ff12:a01c:1::"), "`MGID` of the first group; those of the others follow it")
	set.IntVar(&f.window, "window", 64, "joins that wait for an answer at once")
	set.BoolVar(&f.collect, "collect", false, "say in each join how many members the group will have, and wait until all groups are Ready")
	set.DurationVar(&f.wait, "wait", time.Minute, "how long to wait for that")
	set.BoolVar(&f.leave, "leave", false, "leave the groups in the end")
	set.BoolVar(&f.asJSON, "json", false, "write one JSON object")
	set.TextVar(&f.params.qkey, "qkey", ib.QKey(0), "`Q_Key` of the groups")
	set.TextVar(&f.params.pkey, "pkey", ib.DefaultPKey, "`P_Key` of their partition")
	return cmd
}

func (a *app) groupStorm(s saSession, spec pattern.Spec, f groupStorm) error {
	view, err := subnet.Sweep(s.ctx, s.port, subnet.Options{Call: f.sa.port.call()})
	if err != nil {
		return err
	}
	a.warnMissing(view.Faults)
	groups, err := spec.Generate(view.Fabric)
	if err != nil {
		return err
	}
	storm, err := newStorm(s, view.Fabric, groups, f)
	if err != nil {
		return err
	}
	storm.join()
	if f.collect && s.ctx.Err() == nil {
		storm.untilReady(f.wait)
	}
	if f.leave && s.ctx.Err() == nil {
		storm.leave()
	}
	if err := errors.Join(storm.write(a, f.asJSON), context.Cause(s.ctx)); err != nil {
		return err
	}
	return storm.verdict(f)
}

// storm is many joins, and what came of them.
type storm struct {
	s       saSession
	mask    mad.ComponentMask
	window  int
	collect bool
	mgids   []ib.MGID
	joins   []mad.MCMemberRecord
	groupOf []int           // of each join
	granted []time.Duration // how long each took, 0 where it was refused

	start     time.Time
	took      time.Duration   // of all joins
	latencies []time.Duration // of those that were granted, ascending
	leaves    time.Duration
	ready     int
	readyIn   time.Duration // from the first join to the last Ready

	mu         sync.Mutex
	refused    map[string]int // guarded by mu: by what was said
	incomplete map[int]bool   // guarded by mu: groups of which a join was refused
}

func newStorm(s saSession, f *fabric.Fabric, groups []fabric.Group, flags groupStorm) (*storm, error) {
	t := &storm{s: s, window: flags.window, collect: flags.collect, refused: map[string]int{}, incomplete: map[int]bool{}}
	for i, g := range groups {
		mgid, ok := nextMGID(flags.first, uint64(i))
		if !ok || len(g.Members) > 1<<16-1 {
			return nil, fmt.Errorf("group %d of %d members: MGIDs or MemberCount do not reach so far", i, len(g.Members))
		}
		t.mgids = append(t.mgids, mgid)
		for _, end := range g.Members {
			r := mad.MCMemberRecord{MGID: mgid, PortGID: ib.NewGID(s.info.Prefix, f.Port(end).GUID), JoinState: mad.JoinFull}
			t.mask = flags.params.fill(&r)
			if flags.collect {
				r.MemberCount = uint16(len(g.Members))
			}
			t.joins, t.groupOf = append(t.joins, r), append(t.groupOf, i)
		}
	}
	if flags.collect {
		t.mask |= mad.MCMemberRecordMemberCount
	}
	return t, nil
}

// nextMGID is the nth after an MGID, as far as its last 64 bits can count.
func nextMGID(first ib.MGID, n uint64) (ib.MGID, bool) {
	next := first
	for i := 15; i >= 8; i-- {
		sum := uint64(next[i]) + n&0xff
		next[i] = byte(sum)
		n = n>>8 + sum>>8
	}
	return next, n == 0
}

// each calls f for every index, as many at once as the window has.
func (t *storm) each(n int, f func(i int)) {
	var next atomic.Int64
	var wait sync.WaitGroup
	for range min(t.window, n) {
		wait.Go(func() {
			for i := int(next.Add(1)) - 1; i < n && t.s.ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				f(i)
			}
		})
	}
	wait.Wait()
}

func (t *storm) join() {
	t.granted = make([]time.Duration, len(t.joins))
	t.start = time.Now()
	t.each(len(t.joins), func(i int) {
		began := time.Now()
		_, err := t.s.Join(t.s.ctx, t.joins[i], t.mask)
		if err != nil {
			t.refuse(err, t.groupOf[i])
			return
		}
		t.granted[i] = max(time.Since(began), 1)
	})
	t.took = time.Since(t.start)
	t.latencies = slices.DeleteFunc(slices.Clone(t.granted), func(d time.Duration) bool { return d == 0 })
	slices.Sort(t.latencies)
}

// refuse counts what was refused, by the status or by what else went wrong.
func (t *storm) refuse(err error, group int) {
	what := "other errors"
	var status *umad.StatusError
	switch {
	case errors.As(err, &status):
		what = status.Error()
	case errors.Is(err, umad.ErrTimeout):
		what = "not answered in time"
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.refused[what]++
	t.incomplete[group] = true
}

// stormPause is the longest pause between questions: what a storm measures is not
// finer.
const stormPause = 10 * time.Millisecond

// untilReady waits for all groups, but for those that will never be complete.
func (t *storm) untilReady(wait time.Duration) {
	ctx, cancel := context.WithTimeout(t.s.ctx, wait)
	defer cancel()
	var ready atomic.Int64
	t.each(len(t.mgids), func(i int) {
		if t.incomplete[i] { // nobody writes it now
			return
		}
		if _, err := t.s.AwaitReady(ctx, t.mgids[i], stormPause); err == nil {
			ready.Add(1)
		}
	})
	t.ready, t.readyIn = int(ready.Load()), time.Since(t.start)
}

// leave leaves what was joined.
func (t *storm) leave() {
	start := time.Now()
	t.each(len(t.joins), func(i int) {
		if t.granted[i] == 0 {
			return
		}
		if err := t.s.Leave(t.s.ctx, t.joins[i]); err != nil {
			t.refuse(err, t.groupOf[i])
		}
	})
	t.leaves = time.Since(start)
}

// verdict is the error of a storm that did not do all.
func (t *storm) verdict(f groupStorm) error {
	n := 0
	for _, count := range t.refused {
		n += count
	}
	switch {
	case n > 0:
		return fmt.Errorf("%s not granted", text.Count(n, "request"))
	case f.collect && t.ready < len(t.mgids):
		return fmt.Errorf("%d of %s not Ready after %v", len(t.mgids)-t.ready, text.Count(len(t.mgids), "group"), f.wait)
	default:
		return nil
	}
}

// percentile is the latency that p of 100 joins did not exceed.
func (t *storm) percentile(p int) time.Duration {
	if len(t.latencies) == 0 {
		return 0
	}
	return t.latencies[(len(t.latencies)-1)*p/100]
}

func (t *storm) rate() float64 { return float64(len(t.latencies)) / t.took.Seconds() }

func (t *storm) write(a *app, asJSON bool) error {
	if asJSON {
		return writeJSON(a.out, t.object())
	}
	round := func(d time.Duration) time.Duration { return d.Round(10 * time.Microsecond) }
	_, err := fmt.Fprintf(a.out, "%s of %s: %s joined in %v, %s a second; latency median %v, 90%% %v, 99%% %v, longest %v\n",
		text.Count(len(t.mgids), "group"), text.Count(len(t.joins), "member"), text.Thousands(len(t.latencies)), round(t.took),
		text.Thousands(int(t.rate())), round(t.percentile(50)), round(t.percentile(90)), round(t.percentile(99)), round(t.percentile(100)))
	if err == nil && t.collect {
		_, err = fmt.Fprintf(a.out, "%s of %s Ready %v after the first join\n", text.Thousands(t.ready), text.Thousands(len(t.mgids)), round(t.readyIn))
	}
	if err == nil && t.leaves > 0 {
		_, err = fmt.Fprintf(a.out, "left in %v\n", round(t.leaves))
	}
	for _, what := range slices.Sorted(maps.Keys(t.refused)) {
		if err == nil {
			_, err = fmt.Fprintf(a.out, "%s: %s\n", text.Thousands(t.refused[what]), what)
		}
	}
	return err
}

func (t *storm) object() map[string]any {
	o := map[string]any{
		"groups": len(t.mgids), "members": len(t.joins), "joined": len(t.latencies), "refused": t.refused,
		"joinMs": milliseconds(t.took), "joinsPerSecond": t.rate(),
		"latencyMs": map[string]float64{
			"p50": milliseconds(t.percentile(50)), "p90": milliseconds(t.percentile(90)),
			"p99": milliseconds(t.percentile(99)), "max": milliseconds(t.percentile(100)),
		},
	}
	if t.collect {
		o["ready"], o["readyMs"] = t.ready, milliseconds(t.readyIn)
	}
	if t.leaves > 0 {
		o["leaveMs"] = milliseconds(t.leaves)
	}
	return o
}
