package bench

import (
	"context"
	"fmt"
	"strings"

	"heddle/channel"
	"heddle/channel/measure"
	"heddle/cli/chart"
	"heddle/cli/perf"
)

func planMetrics(s *channelStage) (list []*channelTrial) {
	for _, k := range s.kinds(all) {
		for _, test := range []perf.Test{perf.Latency, perf.Stream} {
			list = s.plan(list, perf.ChannelSpec{Via: k.Name, Test: test, Size: s.sizes(usualSize)[0]})
		}
	}
	return list
}

// metrics are what is counted of kinds, beside what is timed.
type metrics struct {
	names         []string
	hrt, latency  []float64 // us
	requests, all []float64 // of a message; and with those for room
	time          []float64 // that a message takes of a stream, us
}

func answerMetrics(ctx context.Context, _ *channelStage, trials []*channelTrial) (a Answer, err error) {
	const title = "half round trips and requests beside time"
	var m metrics
	var list []ChannelFigure
	for i := 0; i+1 < len(trials); i += 2 {
		k, err := channel.Find(trials[i].spec.Via)
		if err != nil {
			return a, err
		}
		row, err := measure.Kind(ctx, k)
		if err != nil {
			return a, err
		}
		m.add(k.Name, &row, trials[i].value(), trials[i+1].value())
		last := len(m.names) - 1
		list = append(list,
			counted(title, k.Name, "HRT", m.hrt[last]), trials[i].figure(title, "latency, us"),
			counted(title, k.Name, "requests", m.requests[last]), counted(title, k.Name, "with those for room", m.all[last]),
			trials[i+1].figure(title, "rate, M/s"))
	}
	if len(list) == 0 {
		return a, nil
	}
	a.Figures = append(list, m.coefficients()...)
	g := pivot(title, "", list, byChannel, byMetric)
	g.Note = m.note()
	a.Grids, a.Chart = []Grid{g}, m.chart()
	return a, nil
}

// add takes a kind in: what sim says of it, its latency in us and rate in M/s.
func (m *metrics) add(name string, row *measure.Row, latency, rate float64) {
	recv := float64(row.Recv)
	if row.Batch > 1 {
		recv /= row.Batch
	}
	m.names = append(m.names, name)
	m.hrt, m.latency = append(m.hrt, float64(row.HRT)), append(m.latency, latency)
	m.requests = append(m.requests, float64(row.Send)+recv)
	m.all = append(m.all, float64(row.Send)+recv+row.RoomSend+row.RoomRecv)
	m.time = append(m.time, 1/max(rate, 1e-9))
}

// pairs are what is held against each other.
func (m *metrics) pairs() []struct {
	what string
	x, y []float64
} {
	return []struct {
		what string
		x, y []float64
	}{
		{"HRT and latency", m.hrt, m.latency},
		{"requests and the time of a message in a stream", m.requests, m.time},
		{"requests with those for room and that time", m.all, m.time},
	}
}

func (m *metrics) coefficients() (list []ChannelFigure) {
	for _, p := range m.pairs() {
		list = append(list,
			counted("correlation", "", p.what, correlation(p.x, p.y)), counted("rank correlation", "", p.what, rankCorrelation(p.x, p.y)))
	}
	return list
}

func (m *metrics) note() string {
	var list []string
	for _, p := range m.pairs() {
		list = append(list, fmt.Sprintf("%s %.2f (%.2f)", p.what, correlation(p.x, p.y), rankCorrelation(p.x, p.y)))
	}
	return fmt.Sprintf("Correlation over %d kinds (and that of ranks): %s.", len(m.names), strings.Join(list, ", "))
}

func (m *metrics) chart() *chart.Chart {
	dots := func(x, y []float64) (list []chart.Dot) {
		for i, name := range m.names {
			list = append(list, chart.Dot{Label: name, X: x[i], Y: y[i]})
		}
		return list
	}
	title := func(i int) string {
		p := m.pairs()[i]
		return fmt.Sprintf("correlation %.2f, of ranks %.2f", correlation(p.x, p.y), rankCorrelation(p.x, p.y))
	}
	return &chart.Chart{Title: "What was counted on a simulated network, and time", Panels: []chart.Panel{
		{Title: title(0), X: "half round trips", Y: "one-way latency, us", LogY: true, Dots: dots(m.hrt, m.latency)},
		{Title: title(1), X: "requests of both sides for a message", Y: "us for a message of a stream", LogY: true, Dots: dots(m.requests, m.time)},
	}}
}
