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

// pointToPoint are the kinds that stand for those with one sender and one
// receiver.
func pointToPoint(k *channel.Kind) bool {
	return slices.Contains([]string{"send", "ring-bell"}, k.Name)
}

func forSenders(k *channel.Kind) bool { return k.Senders || pointToPoint(k) }
func forReaders(k *channel.Kind) bool { return k.Readers || pointToPoint(k) }

func planSenders(s *channelStage) []*channelTrial { return s.crowds(perf.Gather, forSenders) }
func planReaders(s *channelStage) []*channelTrial { return s.crowds(perf.Scatter, forReaders) }

func (s *channelStage) crowds(test perf.Test, of func(*channel.Kind) bool) (list []*channelTrial) {
	for _, k := range s.kinds(of) {
		for _, n := range s.ends() {
			list = s.plan(list, perf.ChannelSpec{Via: k.Name, Test: test, Size: s.sizes(usualSize)[0], Ends: n})
		}
	}
	return list
}

func answerSenders(_ context.Context, _ *channelStage, trials []*channelTrial) (Answer, error) {
	return crowdAnswer(trials, "senders", "memory of the receiver, KiB", func(t *channelTrial) int { return t.receivers }), nil
}

func answerReaders(_ context.Context, _ *channelStage, trials []*channelTrial) (Answer, error) {
	return crowdAnswer(trials, "readers", "memory of the sender, KiB", func(t *channelTrial) int { return t.senders }), nil
}

// crowdAnswer has a table of rates and one of memory.
func crowdAnswer(trials []*channelTrial, who, memory string, registered func(*channelTrial) int) (a Answer) {
	if len(trials) == 0 {
		return a
	}
	var rates, sizes []ChannelFigure
	for _, t := range trials {
		rates = append(rates, t.figure(who+": messages of "+bytesOf(t.spec.Size)+", M/s", ""))
		f := t.figure(who+": "+memory, "")
		f.Ours, f.Unit, f.Allocs = float64(registered(t))/1024, "KiB", nil
		sizes = append(sizes, f)
	}
	g := pivot(rates[0].Case, "", rates, byChannel, byEnds)
	g.Note = crowdNote(rates, who)
	a.Grids = []Grid{g, pivot(sizes[0].Case, "", sizes, byChannel, byEnds)}
	a.Figures = append(rates, sizes...)
	a.Chart = &chart.Chart{Title: "Many " + who, Panels: []chart.Panel{
		{Title: rates[0].Case, X: who, Y: "M/s", LogX: true, LogY: true, Lines: lines(rates, byChannel, overEnds)},
		{Title: sizes[0].Case, X: who, Y: "KiB", LogX: true, LogY: true, Lines: lines(sizes, byChannel, overEnds)},
	}}
	return a
}

// crowdNote holds the most ends against the fewest.
func crowdNote(rates []ChannelFigure, who string) string {
	note := ""
	for i := range rates {
		if i+1 < len(rates) && rates[i+1].Channel == rates[i].Channel {
			continue
		}
		first := slices.IndexFunc(rates, func(f ChannelFigure) bool { return f.Channel == rates[i].Channel })
		if rates[first].Ends == rates[i].Ends {
			return ""
		}
		if note == "" {
			note = fmt.Sprintf("The rate of %d %s to that of %d: ", rates[i].Ends, who, rates[first].Ends)
		} else {
			note += ", "
		}
		note += fmt.Sprintf("%s %.2f", rates[i].Channel, rates[i].Ours/rates[first].Ours)
	}
	return note + "."
}

func countSenders(ctx context.Context, c *Channel) (Answer, error) {
	return crowdCounts(ctx, c, "senders", forSenders, measure.Senders)
}

func countReaders(ctx context.Context, c *Channel) (Answer, error) {
	return crowdCounts(ctx, c, "readers", forReaders, measure.Readers)
}

// crowdCounts has a table of each side's requests, and one of memory.
func crowdCounts(
	ctx context.Context, c *Channel, who string, of func(*channel.Kind) bool,
	count func(context.Context, *channel.Kind, int) (measure.Crowd, error),
) (a Answer, err error) {
	tables := [3][]ChannelFigure{}
	titles := [3]string{
		who + ": requests for a message, all senders", who + ": requests for a message, all receivers",
		who + ": memory of all receivers, KiB, of rings of 64 KiB",
	}
	for _, k := range c.kinds(of) {
		for _, n := range c.ends() {
			m, err := count(ctx, k, n)
			if err != nil {
				return a, err
			}
			for i, x := range []float64{m.Send, m.Recv, float64(m.Memory) / 1024} {
				f := counted(titles[i], k.Name, "", x)
				f.Ends = n
				tables[i] = append(tables[i], f)
			}
		}
	}
	for i, list := range tables {
		if len(list) > 0 {
			a.Grids = append(a.Grids, pivot(titles[i], "", list, byChannel, byEnds))
			a.Figures = append(a.Figures, list...)
		}
	}
	return a, nil
}
