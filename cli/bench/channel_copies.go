package bench

import (
	"context"
	"fmt"
	"slices"

	"heddle/channel"
	"heddle/channel/measure"
	"heddle/cli/chart"
	"heddle/cli/perf"
)

// The ways to send and to receive, in the order of the table's columns.
var copies = [...]struct {
	name       string
	send, recv bool
}{
	{"leased", false, false},
	{"copying receive", false, true},
	{"copying send", true, false},
	{"both copying", true, true},
}

// ofEachSort are the kinds that stand for the others: SENDs, slots, rings, and
// READs, which come to memory of the caller's without a copy.
func ofEachSort(k *channel.Kind) bool {
	return slices.Contains([]string{"send", "slot-flag", "ring-bell", "fetch-flag"}, k.Name)
}

func planZeroCopy(s *channelStage) (list []*channelTrial) {
	for _, test := range []perf.Test{perf.Latency, perf.Stream} {
		for _, k := range s.kinds(ofEachSort) {
			for _, size := range s.sizes(64, 256, 1<<10, 4<<10, 16<<10, 64<<10, 256<<10, 1<<20) {
				for _, c := range copies {
					list = s.plan(list, perf.ChannelSpec{Via: k.Name, Test: test, Size: size, CopySend: c.send, CopyReceive: c.recv})
				}
			}
		}
	}
	return list
}

// copied is how a trial's messages are copied.
func (t *channelTrial) copied() string {
	for _, c := range copies {
		if c.send == t.spec.CopySend && c.recv == t.spec.CopyReceive {
			return c.name
		}
	}
	return ""
}

func answerZeroCopy(_ context.Context, _ *channelStage, trials []*channelTrial) (a Answer, err error) {
	a.Chart = &chart.Chart{Title: "Copies"}
	for _, x := range []struct {
		test                perf.Test
		title, axis, column string
	}{
		{perf.Latency, "copies: one-way latency, us", "us", "leased to both copying"},
		{perf.Stream, "copies: bandwidth, GB/s", "GB/s", "leased to both copying"},
	} {
		var list []ChannelFigure
		for _, t := range trials {
			if t.spec.Test != x.test {
				continue
			}
			f := t.figure(x.title, t.copied())
			if x.test == perf.Stream {
				f.Ours, f.Unit = f.Ours*float64(f.Size)/1e3, "GB/s"
			}
			list = append(list, f)
		}
		if len(list) == 0 {
			continue
		}
		a.Figures = append(a.Figures, list...)
		row := func(f *ChannelFigure) string { return f.Channel + ", " + bytesOf(f.Size) }
		a.Grids = append(a.Grids, withRatio(pivot(x.title, "", list, row, byMetric), list, x.column))
		a.Chart.Panels = append(a.Chart.Panels, chart.Panel{
			Title: x.title, X: "bytes", Y: x.axis, LogX: true, LogY: true,
			Lines: lines(extremes(list), func(f *ChannelFigure) string { return f.Channel + ", " + f.Metric }, overSize),
		})
	}
	return a, nil
}

// withRatio adds a column with what the first way has to the last.
func withRatio(g Grid, list []ChannelFigure, column string) Grid {
	g.Head = append(g.Head, column)
	for i := range g.Rows {
		first, last := list[i*len(copies)].Ours, list[(i+1)*len(copies)-1].Ours
		x := first / last
		g.Rows[i] = append(g.Rows[i], ratio(&x))
	}
	return g
}

// extremes are the figures without any copy, and with both.
func extremes(list []ChannelFigure) (some []ChannelFigure) {
	for _, f := range list {
		if f.Metric == copies[0].name || f.Metric == copies[len(copies)-1].name {
			some = append(some, f)
		}
	}
	return some
}

// countZeroCopy tells whether the channel copies, as measured, and what each kind
// is made for.
func countZeroCopy(ctx context.Context, c *Channel) (a Answer, err error) {
	const title = "copies"
	g := Grid{Title: title, Head: []string{"", "the channel copies", "zero copy of the sender", "of the receiver"}}
	for _, k := range c.kinds(all) {
		m, err := measure.Kind(ctx, k)
		if err != nil {
			return a, err
		}
		copies := 0.0
		if m.Copied {
			copies = 1
		}
		a.Figures = append(a.Figures, counted(title, k.Name, "the channel copies", copies))
		g.Rows = append(g.Rows, []string{k.Name, fmt.Sprintf("%.0f times", copies), k.CopySend.String(), k.CopyRecv.String()})
	}
	a.Grids = []Grid{g}
	return a, nil
}
