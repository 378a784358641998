package bench

import (
	"encoding/csv"
	"io"
	"slices"
	"strconv"

	"heddle/cli/chart"
)

// pivot is a table of figures, with a row and a column for each that there is, in
// the order in which they come.
func pivot(title, corner string, list []ChannelFigure, row, column func(*ChannelFigure) string) Grid {
	g := Grid{Title: title, Head: []string{corner}}
	for i := range list {
		f := &list[i]
		r, c := row(f), column(f)
		at := slices.IndexFunc(g.Rows, func(row []string) bool { return row[0] == r })
		if at < 0 {
			at = len(g.Rows)
			g.Rows = append(g.Rows, []string{r})
		}
		col := slices.Index(g.Head[1:], c) + 1
		if col == 0 {
			col = len(g.Head)
			g.Head = append(g.Head, c)
		}
		for len(g.Rows[at]) <= col {
			g.Rows[at] = append(g.Rows[at], "-")
		}
		g.Rows[at][col] = number(&f.Ours)
	}
	for i := range g.Rows {
		for len(g.Rows[i]) < len(g.Head) {
			g.Rows[i] = append(g.Rows[i], "-")
		}
	}
	return g
}

func byChannel(f *ChannelFigure) string { return f.Channel }
func bySize(f *ChannelFigure) string    { return bytesOf(f.Size) }
func byEnds(f *ChannelFigure) string    { return strconv.Itoa(f.Ends) }
func byMetric(f *ChannelFigure) string  { return f.Metric }

// lines are those of a chart, one for each label, over x.
func lines(list []ChannelFigure, label func(*ChannelFigure) string, x func(*ChannelFigure) float64) (all []chart.Line) {
	for i := range list {
		f := &list[i]
		at := slices.IndexFunc(all, func(l chart.Line) bool { return l.Label == label(f) })
		if at < 0 {
			at = len(all)
			all = append(all, chart.Line{Label: label(f)})
		}
		all[at].X, all[at].Y = append(all[at].X, x(f)), append(all[at].Y, f.Ours)
	}
	return all
}

func overSize(f *ChannelFigure) float64 { return float64(f.Size) }
func overEnds(f *ChannelFigure) float64 { return float64(f.Ends) }

// WriteCSV writes the figures of all answers, one a line.
func WriteCSV(out io.Writer, answers []Answer) error {
	w := csv.NewWriter(out)
	lines := [][]string{{
		"question", "device", "case", "channel", "metric", "size", "ends", "unit", "ours", "peerName", "peer", "ratio", "bar", "holds",
		"allocations", "runs",
	}}
	for _, a := range answers {
		for i := range a.Figures {
			lines = append(lines, a.Figures[i].csv())
		}
	}
	return w.WriteAll(lines)
}

func (f *ChannelFigure) csv() []string {
	exact := func(x *float64) string {
		if x == nil {
			return ""
		}
		return strconv.FormatFloat(*x, 'g', -1, 64)
	}
	holds := ""
	if f.Holds != nil {
		holds = strconv.FormatBool(*f.Holds)
	}
	return []string{
		f.Question, f.Device, f.Case, f.Channel, f.Metric, strconv.Itoa(f.Size), strconv.Itoa(f.Ends), f.Unit, exact(&f.Ours), f.PeerName,
		exact(f.Peer), exact(f.Ratio), exact(f.Bar), holds, exact(f.Allocs), strconv.Itoa(f.Runs),
	}
}
