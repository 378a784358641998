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

// question is one of the evaluation of the paper: how it is measured, how that is
// told, and what can be counted instead.
type question struct {
	name   string
	asks   string
	plan   func(*channelStage) []*channelTrial
	answer func(context.Context, *channelStage, []*channelTrial) (Answer, error)
	count  func(context.Context, *Channel) (Answer, error)
}

// allQuestions is the registry, in the order in which they are asked.
func allQuestions() []question {
	return []question{
		{"zero-copy", "does it pay to send from where a message is, and to use it where it came to", planZeroCopy, answerZeroCopy, countZeroCopy},
		{"metrics", "do half round trips and requests tell latency and rate", planMetrics, answerMetrics, countMetrics},
		{"rings", "is the ring without zeroing better than other rings", planRings, answerRings, countRings},
		{"senders", "what do many senders cost, over one ring or over one each", planSenders, answerSenders, countSenders},
		{"readers", "what do many readers cost, of one ring or of one each", planReaders, answerReaders, countReaders},
		{"device-memory", "does it pay to have the tail of a shared ring in memory of the device", noPlan, answerDeviceMemory, countDeviceMemory},
	}
}

// QuestionNames are the names of all questions, and what each asks.
func QuestionNames() (names, asks []string) {
	for _, q := range allQuestions() {
		names, asks = append(names, q.name), append(asks, q.asks)
	}
	return names, asks
}

func (c *Channel) questions() (list []question) {
	for _, q := range allQuestions() {
		if slices.Contains(c.Questions, q.name) {
			list = append(list, q)
		}
	}
	return list
}

// usualSize is that of messages where nothing else is asked.
const usualSize = 64

func isRing(k *channel.Kind) bool { return k.Family == channel.WriteRing || k.Name == "ring-cell" }

func planRings(s *channelStage) (list []*channelTrial) {
	for _, test := range []perf.Test{perf.Latency, perf.Stream} {
		for _, k := range s.kinds(isRing) {
			for _, size := range s.sizes(8, 64, 512, 4096, 65536) {
				list = s.plan(list, perf.ChannelSpec{Via: k.Name, Test: test, Size: size})
			}
		}
	}
	return list
}

func answerRings(_ context.Context, _ *channelStage, trials []*channelTrial) (a Answer, err error) {
	a.Chart = &chart.Chart{Title: "Rings"}
	for _, x := range []struct {
		test        perf.Test
		title, axis string
	}{{perf.Latency, "rings: one-way latency, us", "us"}, {perf.Stream, "rings: message rate, M/s", "M/s"}} {
		var list []ChannelFigure
		for _, t := range trials {
			if t.spec.Test == x.test {
				list = append(list, t.figure(x.title, ""))
			}
		}
		a.Figures = append(a.Figures, list...)
		if len(list) > 0 {
			g := pivot(x.title, "", list, byChannel, bySize)
			g.Note = ringNote(list)
			a.Grids = append(a.Grids, g)
			a.Chart.Panels = append(a.Chart.Panels, chart.Panel{
				Title: x.title, X: "bytes", Y: x.axis, LogX: true, LogY: true, Lines: lines(list, byChannel, overSize),
			})
		}
	}
	return a, nil
}

// ringNote holds the ring without zeroing against the best other one.
func ringNote(list []ChannelFigure) string {
	const ours = "ring-bell"
	note := ""
	for i := range list {
		f := &list[i]
		if f.Channel != ours {
			continue
		}
		best := bestOther(list, f)
		if best == nil {
			continue
		}
		if note == "" {
			note = ours + " to the best other ring: "
		} else {
			note += ", "
		}
		note += fmt.Sprintf("%.2f at %s (%s)", f.Ours/best.Ours, bytesOf(f.Size), best.Channel)
	}
	if note != "" {
		note += "."
	}
	return note
}

// bestOther is the best figure of another kind at the same size: the least time,
// or the highest rate.
func bestOther(list []ChannelFigure, than *ChannelFigure) (best *ChannelFigure) {
	for i := range list {
		f := &list[i]
		if f.Channel == than.Channel || f.Size != than.Size {
			continue
		}
		if best == nil || f.Unit == "us" && f.Ours < best.Ours || f.Unit != "us" && f.Ours > best.Ours {
			best = f
		}
	}
	return best
}

func countRings(ctx context.Context, c *Channel) (Answer, error) {
	return counts(ctx, c, "rings: half round trips and requests", isRing)
}

func countMetrics(ctx context.Context, c *Channel) (Answer, error) {
	return counts(ctx, c, "half round trips and requests", all)
}

func all(*channel.Kind) bool { return true }

// counts are the half round trips and requests of kinds.
func counts(ctx context.Context, c *Channel, title string, of func(*channel.Kind) bool) (a Answer, err error) {
	for _, k := range c.kinds(of) {
		m, err := measure.Kind(ctx, k)
		if err != nil {
			return a, err
		}
		recv := float64(m.Recv)
		if m.Batch > 1 {
			recv /= m.Batch
		}
		for _, x := range []struct {
			metric string
			value  float64
		}{
			{"HRT", float64(m.HRT)},
			{"requests of the sender", float64(m.Send)},
			{"of the receiver", recv},
			{"beside, of the sender", m.RoomSend},
			{"beside, of the receiver", m.RoomRecv},
		} {
			a.Figures = append(a.Figures, counted(title, k.Name, x.metric, x.value))
		}
	}
	if len(a.Figures) > 0 {
		a.Grids = []Grid{pivot(title, "", a.Figures, byChannel, byMetric)}
	}
	return a, nil
}

// counted is a figure that is the same in each run.
func counted(title, kind, metric string, value float64) ChannelFigure {
	return ChannelFigure{Figure: Figure{Case: title, Metric: metric, Ours: value, Runs: 1}, Channel: kind}
}
