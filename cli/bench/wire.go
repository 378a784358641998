package bench

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"heddle/cli/perf"
	"heddle/verbs"
	"heddle/verbs/soft"
)

// Wire measures RoCEv2 in user space, between two processes of this host, beside
// TCP over the same interface.
type Wire struct {
	// Program is the path of heddle itself, which runs as the other end.
	Program string
	// Peer measures TCP beside.
	Peer bool
	// Runs is how often each figure is measured, of which the median counts.
	Runs int
	// Short divides the messages of a run by a hundred.
	Short bool
	// Watch is told what runs next.
	Watch func(what string)
}

// WireFigure is a figure beside TCP's.
type WireFigure struct {
	Figure
	// Bar is what the ratio is held against, Holds whether it keeps to it.
	Bar   float64 `json:"bar"`
	Holds *bool   `json:"holds,omitempty"`
	// Resent is how many packets of all runs the end that begins sent again, Allocs
	// how often an end allocated for a message, in the worst run.
	Resent uint64 `json:"resent"`
	Allocs uint64 `json:"allocations"`
}

// wireRow is a figure to measure.
type wireRow struct {
	group, metric, unit string
	bar                 float64 // at most of times, at least of throughput
	spec                perf.Spec
	tcp                 perf.ChannelSpec
	ours, peers         []float64
	resent, allocs      uint64
}

// wireStage is two ends of a device.
type wireStage struct {
	*Wire
	*couple
	stats func() soft.Stats
}

// Measure measures a device of package soft.
func (w *Wire) Measure(ctx context.Context, d VerbsDevice) (list []WireFigure, err error) {
	s := &wireStage{Wire: w, stats: func() soft.Stats { return soft.Stats{} }}
	if dev, ok := d.Device.(*soft.Device); ok {
		s.stats = dev.Stats
	}
	if s.couple, err = newCouple(ctx, w.Program, d); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	rows := wireRows(w.Short)
	err = interleaved(w.Runs, rows, func(run int, r *wireRow) error {
		if w.Watch != nil {
			w.Watch(fmt.Sprintf("%s: %s, %s, run %d of %d", d.name(), r.group, r.metric, run+1, w.Runs))
		}
		if err := s.measure(r); err != nil {
			return fmt.Errorf("%s, %s: %w", r.group, r.metric, err)
		}
		return nil
	})
	for _, r := range rows {
		list = append(list, r.figure(d.name()))
	}
	return list, err
}

// Messages of a run: bytes of a stream, and round trips.
const (
	wireBytes = 1 << 30
	wirePings = 20_000
)

// wireRows are all figures.
func wireRows(short bool) (list []*wireRow) {
	for _, size := range []int{64 << 10, 256 << 10, 1 << 20} {
		list = append(list, wireStream(verbs.OpWrite, size, 64<<10, 0.6))
	}
	list = append(list, wireStream(verbs.OpSend, 4<<10, 4<<10, 1))
	for _, size := range []int{8, 64} {
		list = append(list, wireLatency(verbs.OpWrite, size, false), wireLatency(verbs.OpSend, size, false))
	}
	for _, size := range []int{8, 64} {
		list = append(list, wireLatency(verbs.OpSend, size, true))
	}
	for _, r := range list {
		if r.spec.Timeout, r.tcp.Timeout = time.Minute, time.Minute; short {
			r.spec.Iters = max(100, r.spec.Iters/100)
			r.tcp.Time /= 100
		}
	}
	return list
}

// wireStream is a stream of messages, beside TCP with writes of a size.
func wireStream(op verbs.Op, size, beside int, bar float64) *wireRow {
	return &wireRow{
		group: "throughput", metric: fmt.Sprintf("%v of %d KiB, TCP with writes of %d KiB", op, size>>10, beside>>10),
		unit: "GB/s", bar: bar,
		spec: perf.Spec{Test: perf.Stream, Op: op, Size: size, Iters: wireBytes / max(size, 8<<10)},
		tcp:  perf.ChannelSpec{Via: perf.TCP, Test: perf.Stream, Size: beside, Time: 400 * time.Millisecond},
	}
}

// wireLatency is half a round trip, where the ends poll or sleep.
func wireLatency(op verbs.Op, size int, sleep bool) *wireRow {
	r := &wireRow{
		group: "one-way latency", metric: fmt.Sprintf("%v, %d bytes", op, size), unit: "us", bar: 1.5,
		spec: perf.Spec{Op: op, Size: size, Iters: wirePings, Batch: timedTogether, Events: sleep},
		tcp:  perf.ChannelSpec{Via: perf.TCP, Size: size, Time: 200 * time.Millisecond},
	}
	if sleep {
		r.metric += ", who waits sleeps"
	}
	return r
}

// measure measures a row once, and TCP directly after it.
func (s *wireStage) measure(r *wireRow) error {
	before := s.stats().Resent
	got, err := s.link.Run(s.end, r.spec)
	if err != nil {
		return err
	}
	r.resent += s.stats().Resent - before
	r.allocs = max(r.allocs, got.Allocs)
	r.ours = append(r.ours, r.value(got.Times, got.Bandwidth()))
	if !s.Peer {
		return nil
	}
	beside, err := s.link.RunChannel(s.end, r.tcp)
	if err != nil {
		return fmt.Errorf("TCP beside it: %w", err)
	}
	r.peers = append(r.peers, r.value(beside.Times, beside.Rate*float64(r.tcp.Size)))
	return nil
}

func (r *wireRow) value(t perf.Times, bandwidth float64) float64 {
	if r.spec.Test == perf.Stream {
		return bandwidth / 1e9
	}
	return t.Median
}

// figure is the median of all runs.
func (r *wireRow) figure(device string) WireFigure {
	f := WireFigure{
		Figure: Figure{Device: device, Case: r.group, Metric: r.metric, Unit: r.unit, Ours: middle(r.ours), Runs: len(r.ours)},
		Bar:    r.bar, Resent: r.resent, Allocs: r.allocs,
	}
	if len(r.peers) == 0 {
		return f
	}
	f.PeerName = "TCP"
	f.compare(middle(r.peers))
	if f.Ratio != nil {
		holds := *f.Ratio <= r.bar
		if r.spec.Test == perf.Stream {
			holds = *f.Ratio >= r.bar
		}
		f.Holds = &holds
	}
	return f
}

// WireGrids are a table for each case.
func WireGrids(list []WireFigure) (grids []Grid) {
	for i, f := range list {
		if i == 0 || f.Case != list[i-1].Case || f.Device != list[i-1].Device {
			grids = append(grids, Grid{Title: f.Case + ", " + f.Device, Head: []string{
				"", "unit", "heddle", "TCP", "ratio", "bar", "holds", "sent again", "allocations", "runs",
			}})
		}
		g := &grids[len(grids)-1]
		g.Rows = append(g.Rows, f.row())
	}
	return grids
}

func (f *WireFigure) row() []string {
	holds := "-"
	if f.Holds != nil {
		if holds = "no"; *f.Holds {
			holds = "yes"
		}
	}
	bar := ">= "
	if f.Unit == "us" {
		bar = "<= "
	}
	return []string{
		f.Metric, f.Unit, number(&f.Ours), number(f.Peer), ratio(f.Ratio), bar + strconv.FormatFloat(f.Bar, 'g', -1, 64), holds,
		strconv.FormatUint(f.Resent, 10), strconv.FormatUint(f.Allocs, 10), strconv.Itoa(f.Runs),
	}
}
