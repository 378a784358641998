package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"heddle/channel"
	"heddle/cli/chart"
	"heddle/cli/perf"
	"heddle/internal/peer"
	"heddle/verbs"
)

// Channel measures channels, between two processes of this host, or counts what
// they do on a simulated network.
type Channel struct {
	// Program is the path of heddle itself, which runs as the other end.
	Program string
	// Questions are those that are asked, of QuestionNames.
	Questions []string
	// Peer measures UCX and sockets beside.
	Peer bool
	// Runs is how often each figure is measured, of which the median counts, Time
	// for how long in each run.
	Runs int
	Time time.Duration
	// Sizes, Kinds and Ends are in place of those that a question has by itself:
	// bytes of a message, names of kinds, and how many senders or readers.
	Sizes, Ends []int
	Kinds       []string
	// Assume is what the user knows of the device.
	Assume []verbs.Assumption
	// Watch is told what runs next.
	Watch func(what string)
}

// ChannelFigure is a figure of a channel.
type ChannelFigure struct {
	Question string `json:"question"`
	Figure
	Channel string `json:"channel,omitempty"` // the kind that Ours is of
	Size    int    `json:"size,omitempty"`    // of a message, in bytes
	Ends    int    `json:"ends,omitempty"`    // senders or readers
	// Allocs are those for a message.
	Allocs *float64 `json:"allocations,omitempty"`
	// Bar is what the ratio is held against, Holds whether it keeps to it.
	Bar   *float64 `json:"bar,omitempty"`
	Holds *bool    `json:"holds,omitempty"`
}

// Answer is what a question brought.
type Answer struct {
	Question string
	Figures  []ChannelFigure
	Grids    []Grid
	Chart    *chart.Chart // nil where there is nothing to draw
}

// channelTrial is a test that each run has once, of channels or of UCX.
type channelTrial struct {
	spec perf.ChannelSpec
	ucx  peer.UCXRun // instead, where it names a test

	values             []float64 // microseconds, or millions of messages a second
	allocs             []float64 // for a message
	senders, receivers int       // bytes that they registered
}

// channelStage is two ends of a device, and what sim says of kinds.
type channelStage struct {
	*Channel
	*couple
	peerName string
}

// Measure asks the questions of a device.
func (c *Channel) Measure(ctx context.Context, d VerbsDevice) (list []Answer, err error) {
	s := &channelStage{Channel: c}
	if c.Peer {
		if s.peerName, err = peer.Version(ctx, "ucx_info"); err != nil {
			return nil, err
		}
	}
	if s.couple, err = newCouple(ctx, c.Program, d); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	if c.Peer {
		a, err := s.beside(ctx)
		if err != nil {
			return nil, err
		}
		list = append(list, a)
	}
	var all []*channelTrial
	asked := c.questions()
	plans := make([][]*channelTrial, len(asked))
	for i, q := range asked {
		plans[i] = q.plan(s)
		all = append(all, plans[i]...)
	}
	if err := s.runAll(ctx, all, c.Runs); err != nil {
		return nil, err
	}
	for i, q := range asked {
		a, err := q.answer(ctx, s, plans[i])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", q.name, err)
		}
		list = append(list, a.of(q.name, s.device.name()))
	}
	return list, nil
}

// Count asks the questions of a simulated network, where the answers are counts.
func (c *Channel) Count(ctx context.Context) (list []Answer, err error) {
	for _, q := range c.questions() {
		c.watch("sim: %s", q.name)
		a, err := q.count(ctx, c)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", q.name, err)
		}
		list = append(list, a.of(q.name, "sim/ib"))
	}
	return list, nil
}

// of says what the answer is of.
func (a Answer) of(question, device string) Answer {
	a.Question = question
	for i := range a.Figures {
		a.Figures[i].Question, a.Figures[i].Device = question, device
	}
	for i := range a.Grids {
		a.Grids[i].Title += ", " + device
	}
	if a.Chart != nil {
		a.Chart.Title += ", " + device
	}
	return a
}

// runAll has each run do all trials, one after the other.
func (s *channelStage) runAll(ctx context.Context, trials []*channelTrial, runs int) error {
	return interleaved(runs, trials, func(run int, t *channelTrial) error {
		s.watch("%s: %s, run %d of %d", s.device.name(), t, run+1, runs)
		if err := t.run(ctx, s); err != nil {
			return fmt.Errorf("%s: %w", t, err)
		}
		return nil
	})
}

// interleaved does each thing once in each run, so that all see the same times of
// the machine.
func interleaved[T any](runs int, things []T, do func(run int, thing T) error) error {
	for run := range runs {
		for _, t := range things {
			if err := do(run, t); err != nil {
				return err
			}
		}
	}
	return nil
}

func (t *channelTrial) String() string {
	if t.ucx.Test != "" {
		return fmt.Sprintf("%s, %s", t.ucx.Test, bytesOf(t.ucx.Size))
	}
	text := fmt.Sprintf("%s of %s, %s", t.spec.Test, t.spec.Via, bytesOf(t.spec.Size))
	if t.spec.Ends > 0 {
		text += fmt.Sprintf(", %d ends", t.spec.Ends)
	}
	return text
}

// run measures it once more.
func (t *channelTrial) run(ctx context.Context, s *channelStage) error {
	if t.ucx.Test != "" {
		got, err := t.ucx.Run(ctx, s.dir)
		if err != nil {
			return err
		}
		if t.spec.Test == perf.Latency {
			t.values = append(t.values, got.Median)
		} else {
			t.values = append(t.values, got.Rate/1e6)
		}
		return nil
	}
	got, err := s.link.RunChannel(s.end, t.spec)
	if err != nil {
		return err
	}
	if t.spec.Test == perf.Latency {
		t.values = append(t.values, got.Times.Median)
	} else {
		t.values = append(t.values, got.Rate/1e6)
	}
	t.allocs = append(t.allocs, float64(got.Allocs))
	t.senders, t.receivers = got.Senders, got.Receivers
	return nil
}

// value is the median of the runs.
func (t *channelTrial) value() float64 { return middle(t.values) }

func middle(list []float64) float64 {
	return median(list, func(x float64) float64 { return x })
}

// unit is that of the values.
func (t *channelTrial) unit() string {
	if t.spec.Test == perf.Latency {
		return "us"
	}
	return "M/s"
}

// figure is the trial's, without what it is compared with.
func (t *channelTrial) figure(title, metric string) ChannelFigure {
	f := ChannelFigure{
		Figure:  Figure{Case: title, Metric: metric, Unit: t.unit(), Ours: t.value(), Runs: len(t.values)},
		Channel: t.spec.Via, Size: t.spec.Size, Ends: t.spec.Ends,
	}
	if len(t.allocs) > 0 {
		allocs := middle(t.allocs)
		f.Allocs = &allocs
	}
	return f
}

// plan makes trials of what a device can do; of a spec that it cannot there is
// none.
func (s *channelStage) plan(list []*channelTrial, spec perf.ChannelSpec) []*channelTrial {
	spec.Time, spec.Assume, spec.Timeout = s.Time, s.Assume, time.Minute
	if s.end.FitsChannel(spec) != nil {
		return list
	}
	return append(list, &channelTrial{spec: spec})
}

// kinds are those that the user named, or else those of a question.
func (c *Channel) kinds(of func(*channel.Kind) bool) (list []*channel.Kind) {
	for _, k := range channel.Kinds() {
		named := false
		for _, name := range c.Kinds {
			named = named || name == k.Name
		}
		if named || len(c.Kinds) == 0 && of(k) {
			list = append(list, k)
		}
	}
	return list
}

// sizes and ends are those that the user wants, or else those of a question.
func (c *Channel) sizes(of ...int) []int { return orElse(c.Sizes, of) }
func (c *Channel) ends() []int           { return orElse(c.Ends, []int{1, 2, 4, 8, 16, 32, 64}) }

func orElse(list, other []int) []int {
	if len(list) > 0 {
		return list
	}
	return other
}

func (c *Channel) watch(format string, args ...any) {
	if c.Watch != nil {
		c.Watch(fmt.Sprintf(format, args...))
	}
}

// bytesOf is a size in words.
func bytesOf(n int) string {
	switch {
	case n >= 1<<20 && n%(1<<20) == 0:
		return fmt.Sprintf("%d MiB", n>>20)
	case n >= 1<<10 && n%(1<<10) == 0:
		return fmt.Sprintf("%d KiB", n>>10)
	default:
		return fmt.Sprintf("%d B", n)
	}
}
