package bench

import (
	"fmt"
	"time"

	"heddle/cli/chart"
)

// LatencyChart draws how latencies are distributed in each case of the largest
// messages of one experiment, and how they grow with the number of groups on a
// tree.
func LatencyChart(list []Latency) chart.Chart {
	c := chart.Chart{Title: list[0].title()}
	size := 0
	for i := range list {
		size = max(size, list[i].Size)
	}
	if list[0].Experiment == OfEFI {
		c.Panels = append(c.Panels, growth(list))
	}
	p := chart.Panel{Title: fmt.Sprintf("messages of %d bytes", size), X: "latency in us", Y: "share of messages that take at most so long", LogX: true}
	for i := range list {
		if x := &list[i]; x.Size == size && !x.Deadlock {
			p.Lines = append(p.Lines, x.distribution())
		}
	}
	if len(p.Lines) > 0 {
		c.Panels = append(c.Panels, p)
	}
	return c
}

// distribution is how many messages take at most how long.
func (x *Latency) distribution() chart.Line {
	const points = 50
	l := chart.Line{Label: x.Case}
	n := len(x.times)
	for i := range points + 1 {
		at := min(i*n/points, n-1)
		l.X = append(l.X, float64(x.times[at])/float64(time.Microsecond))
		l.Y = append(l.Y, float64(at+1)/float64(n))
	}
	return l
}

// growth is the mean by the number of groups, for each size.
func growth(list []Latency) chart.Panel {
	p := chart.Panel{Title: "mean", X: "groups on one tree", Y: "latency in us", LogX: true, LogY: true}
	for i := range list {
		x := &list[i]
		label := fmt.Sprintf("%d bytes", x.Size)
		if n := len(p.Lines); n == 0 || p.Lines[n-1].Label != label {
			p.Lines = append(p.Lines, chart.Line{Label: label})
		}
		l := &p.Lines[len(p.Lines)-1]
		l.X, l.Y = append(l.X, float64(x.Groups)), append(l.Y, x.Mean)
	}
	return p
}
