package bench

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"heddle/cli/chart"
	"heddle/cli/perf"
	"heddle/internal/peer"
)

// finalists is how many kinds are measured beside UCX, of each size: those that
// were best in so many short runs before, which do not count.
const (
	finalists = 3
	heatRuns  = 3
)

// contest is a figure of the best channel, beside UCX and sockets.
type contest struct {
	test     perf.Test
	size     int
	copies   bool // the receiver has messages in memory of its own
	heats    []*channelTrial
	ours     []*channelTrial // the finalists
	ucx      []*channelTrial // the better counts
	unix, to *channelTrial   // a Unix socket, and TCP
	several  *channelTrial   // ring-bell, with messages committed together; nil of latencies
}

// beside measures channels and their peers, one after the other in each run.
func (s *channelStage) beside(ctx context.Context) (a Answer, err error) {
	contests := s.contests()
	var heats, finals []*channelTrial
	for _, c := range contests {
		heats = append(heats, c.heats...)
	}
	if err := s.runAll(ctx, heats, heatRuns); err != nil {
		return a, err
	}
	for _, c := range contests {
		for _, t := range c.all(s.Time) {
			if !slices.Contains(finals, t) { // a peer may be in two
				finals = append(finals, t)
			}
		}
	}
	if err := s.runAll(ctx, finals, s.Runs); err != nil {
		return a, err
	}
	return s.besideAnswer(contests).of("peer", s.device.name()), nil
}

// contests are all, without results.
func (s *channelStage) contests() (list []*contest) {
	for _, test := range []perf.Test{perf.Latency, perf.Stream} {
		for _, size := range s.sizes(8, 64, 512, 1024, 4096, 16384, 65536) {
			leased := s.contest(test, size)
			copying := *leased
			copying.copies, copying.ucx = true, leased.ucx[:1] // tag matching, which copies as well
			leased.heats, copying.heats = s.heats(leased), s.heats(&copying)
			leased.several, copying.several = s.several(leased), s.several(&copying)
			list = append(list, leased, &copying)
		}
	}
	slices.SortStableFunc(list, func(a, b *contest) int { // a table after the other
		return a.table() - b.table()
	})
	return list
}

func (c *contest) table() (n int) {
	if c.test != perf.Latency {
		n = 2
	}
	if c.copies {
		n++
	}
	return n
}

func (s *channelStage) contest(test perf.Test, size int) *contest {
	socket := func(via string) *channelTrial {
		return &channelTrial{spec: perf.ChannelSpec{Via: via, Test: test, Size: size, Time: s.Time, Timeout: time.Minute}}
	}
	ucx := func(name string) *channelTrial {
		return &channelTrial{spec: perf.ChannelSpec{Test: test}, ucx: peer.UCXRun{Test: name, Size: size, Iters: ucxIters(test, size, s.Time)}}
	}
	c := &contest{test: test, size: size, unix: socket(perf.UnixSocket), to: socket(perf.TCP)}
	if test == perf.Latency {
		c.ucx = []*channelTrial{ucx("tag_lat"), ucx("ucp_am_lat")}
	} else {
		c.ucx = []*channelTrial{ucx("tag_bw"), ucx("ucp_am_bw")}
	}
	return c
}

// ucxIters is how many messages take about as long as a trial of ours.
func ucxIters(test perf.Test, size int, d time.Duration) int {
	us := 0.05 + float64(size)/8000
	if test == perf.Latency {
		us += 0.1
	}
	return max(100, int(float64(d.Microseconds())/us))
}

// sentByCopy is how long a message is at most of which both ways to send are
// measured: in a lease, and by Send from memory of the caller's, as UCX does.
const sentByCopy = 512

func (s *channelStage) heats(c *contest) (list []*channelTrial) {
	for _, k := range s.kinds(all) {
		spec := perf.ChannelSpec{Via: k.Name, Test: c.test, Size: c.size, CopyReceive: c.copies}
		list = s.plan(list, spec)
		if spec.CopySend = true; c.size <= sentByCopy {
			list = s.plan(list, spec)
		}
	}
	for _, t := range list {
		t.spec.Time = max(s.Time/4, time.Microsecond)
	}
	return list
}

// together is how many messages are committed together in a column of their own,
// which no bar is held against: UCX's calls take one each.
const together = 16

func (s *channelStage) several(c *contest) *channelTrial {
	if c.test != perf.Stream {
		return nil
	}
	list := s.plan(nil, perf.ChannelSpec{
		Via: "ring-bell", Test: c.test, Size: c.size, CopyReceive: c.copies, Together: together,
	})
	if len(list) == 0 {
		return nil
	}
	return list[0]
}

// all are the trials that count: the best of the heats anew, and the peers.
func (c *contest) all(d time.Duration) []*channelTrial {
	slices.SortStableFunc(c.heats, func(a, b *channelTrial) int {
		switch {
		case a.better(b):
			return -1
		case b.better(a):
			return 1
		default:
			return 0
		}
	})
	for _, t := range c.heats[:min(finalists, len(c.heats))] {
		spec := t.spec
		spec.Time = d
		c.ours = append(c.ours, &channelTrial{spec: spec})
	}
	list := slices.Concat(c.ours, c.ucx, []*channelTrial{c.unix, c.to})
	if c.several != nil {
		list = append(list, c.several)
	}
	return list
}

// better tells whether a trial's figure is.
func (t *channelTrial) better(than *channelTrial) bool {
	if t.spec.Test == perf.Latency {
		return t.value() < than.value()
	}
	return t.value() > than.value()
}

func best(list []*channelTrial) *channelTrial {
	b := list[0]
	for _, t := range list[1:] {
		if t.better(b) {
			b = t
		}
	}
	return b
}

// bar is what the ratio to UCX is held against, nil where nothing is asked for: at
// most that of times, at least that of rates.
func (c *contest) bar() *float64 {
	is := func(x float64) *float64 { return &x }
	switch {
	case c.test == perf.Latency && c.size <= 8:
		return is(0.9)
	case c.test == perf.Latency && c.size <= 4096:
		return is(1)
	case c.test == perf.Latency && c.size < 65536:
		return nil
	case c.test == perf.Latency:
		return is(0.8)
	case c.size <= 64:
		return is(1.2)
	default:
		return is(1)
	}
}

func (c *contest) title() string {
	how := "leased receive"
	if c.copies {
		how = "copying receive"
	}
	if c.test == perf.Latency {
		return "one-way latency, " + how
	}
	return "message rate, " + how
}

// against is the best channel's figure beside a peer's.
func (c *contest) against(t *channelTrial, name string) ChannelFigure {
	ours := best(c.ours)
	f := ours.figure(c.title(), bytesOf(c.size))
	if ours.spec.CopySend {
		f.Channel += " by Send"
	}
	f.PeerName = name
	f.compare(t.value())
	return f
}

// figures are those beside UCX, a Unix socket and TCP.
func (c *contest) figures(ucx string) []ChannelFigure {
	peer := best(c.ucx)
	f := c.against(peer, ucx+" "+peer.ucx.Test)
	if f.Bar = c.bar(); f.Bar != nil && f.Ratio != nil {
		holds := *f.Ratio <= *f.Bar
		if c.test != perf.Latency {
			holds = *f.Ratio >= *f.Bar
		}
		f.Holds = &holds
	}
	return []ChannelFigure{f, c.against(c.unix, "Unix socket"), c.against(c.to, "TCP loopback")}
}

func (s *channelStage) besideAnswer(contests []*contest) (a Answer) {
	var grid *Grid
	a.Chart = &chart.Chart{Title: "Channels beside UCX and sockets"}
	for _, c := range contests {
		if len(c.ours) == 0 {
			continue
		}
		list := c.figures(s.peerName)
		a.Figures = append(a.Figures, list...)
		if title := c.title() + ", beside UCX"; grid == nil || grid.Title != title {
			a.Grids = append(a.Grids, Grid{Title: title, Head: []string{
				"", "unit", "heddle", "channel", s.peerName, "test", "ratio", "bar", "holds", "Unix socket", "TCP loopback",
				fmt.Sprintf("%d together", together), "allocations", "runs",
			}})
			grid = &a.Grids[len(a.Grids)-1]
			if c.several != nil {
				grid.Note = fmt.Sprintf("%d together: ring-bell, whose sender commits so many messages together (CommitMore).", together)
			}
		}
		grid.Rows = append(grid.Rows, c.row(list))
	}
	for _, test := range []perf.Test{perf.Latency, perf.Stream} {
		if p := besidePanel(contests, test); len(p.Lines) > 0 {
			a.Chart.Panels = append(a.Chart.Panels, p)
		}
	}
	return a
}

func (c *contest) row(list []ChannelFigure) []string {
	f := &list[0]
	bar, holds := "-", "-"
	if f.Holds != nil {
		bar, holds = strconv.FormatFloat(*f.Bar, 'g', -1, 64), "no"
		if *f.Holds {
			holds = "yes"
		}
	}
	several := "-"
	if c.several != nil {
		x := c.several.value()
		several = number(&x)
	}
	return []string{
		f.Metric, f.Unit, number(&f.Ours), f.Channel, number(f.Peer), best(c.ucx).ucx.Test, ratio(f.Ratio), bar, holds,
		number(list[1].Peer), number(list[2].Peer), several, number(f.Allocs), strconv.Itoa(f.Runs),
	}
}

// besidePanel draws each side over the sizes.
func besidePanel(contests []*contest, test perf.Test) chart.Panel {
	var list []ChannelFigure
	add := func(t *channelTrial, name string, size int) {
		f := t.figure("", name)
		f.Size = size
		list = append(list, f)
	}
	for _, c := range contests {
		if c.test != test || len(c.ours) == 0 {
			continue
		}
		if c.copies {
			add(best(c.ours), "heddle, copying receive", c.size)
			continue
		}
		add(best(c.ours), "heddle, leased receive", c.size)
		for _, t := range c.ucx {
			add(t, "UCX "+t.ucx.Test, c.size)
		}
		add(c.unix, "Unix socket", c.size)
		add(c.to, "TCP loopback", c.size)
	}
	p := chart.Panel{Title: "one-way latency", X: "bytes", Y: "us", LogX: true, LogY: true, Lines: lines(list, byMetric, overSize)}
	if test != perf.Latency {
		p.Title, p.Y = "message rate", "M/s"
	}
	return p
}
