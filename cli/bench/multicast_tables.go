package bench

import (
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"
)

// LatencyGrids are a table for each run of latencies of one experiment, fabric
// and pattern.
func LatencyGrids(list []Latency) (grids []Grid) {
	for len(list) > 0 {
		n := 1
		for n < len(list) && list[n].together(&list[0]) {
			n++
		}
		grids = append(grids, latencyGrid(list[:n]))
		list = list[n:]
	}
	return grids
}

// together tells whether two latencies belong in one table.
func (x *Latency) together(y *Latency) bool {
	return x.Experiment == y.Experiment && x.Fabric == y.Fabric && x.Pattern == y.Pattern
}

func latencyGrid(list []Latency) Grid {
	g := Grid{Title: list[0].title()}
	paper := slices.ContainsFunc(list, func(x Latency) bool { return x.Paper != 0 })
	engines := list[0].Experiment == OfEngines
	g.Head = []string{"", "bytes", "mean us", "median", "p99", "max", "mean / first", "p99 / first"}
	if paper {
		g.Head = append(g.Head, "paper")
	}
	if engines {
		g.Head = append(g.Head, "max EFI")
	}
	g.Head = append(g.Head, "M messages/s", "busiest link")
	for i := range list {
		g.Rows = append(g.Rows, list[i].row(paper, engines))
	}
	g.Note = messagesOf(list)
	return g
}

// messagesOf tells how many messages were measured of the cases that give any.
func messagesOf(list []Latency) string {
	least, most := 0, 0
	for _, x := range list {
		if x.Deadlock {
			continue
		}
		if least == 0 || x.Messages < least {
			least = x.Messages
		}
		most = max(most, x.Messages)
	}
	switch {
	case most == 0:
		return ""
	case least == most:
		return fmt.Sprintf("%d messages of each, as many of each group.", most)
	default:
		return fmt.Sprintf("%d to %d messages of each, as many of each group.", least, most)
	}
}

func (x *Latency) title() string {
	switch x.Experiment {
	case OfHeight:
		return "latency by the height of the tree, " + x.Fabric
	case OfEFI:
		return "latency by the number of groups on one tree, " + x.Fabric
	default:
		if x.Window > 1 {
			return fmt.Sprintf("latency by engine, %s, %s, %d groups at once, %d messages of each", x.Fabric, x.Pattern, x.Groups, x.Window)
		}
		return fmt.Sprintf("latency by engine, %s, %s, %d groups at once", x.Fabric, x.Pattern, x.Groups)
	}
}

func (x *Latency) row(paper, engines bool) []string {
	row := []string{x.Case, strconv.Itoa(x.Size)}
	if x.Deadlock {
		return append(row, "deadlock")
	}
	for _, us := range []float64{x.Mean, x.Median, x.P99, x.Max} {
		row = append(row, fmt.Sprintf("%.2f", us))
	}
	row = append(row, fmt.Sprintf("%.2f", x.Ratio), fmt.Sprintf("%.2f", x.RatioP99))
	if paper {
		told := ""
		if x.Paper != 0 {
			told = fmt.Sprintf("%.2f", x.Paper)
		}
		row = append(row, told)
	}
	if engines {
		row = append(row, strconv.Itoa(x.MaxEFI))
	}
	return append(row, fmt.Sprintf("%.3f", x.Rate), fmt.Sprintf("%.0f %%", 100*x.Busiest))
}

// WriteLatencies writes latencies as comma-separated values.
func WriteLatencies(out io.Writer, list []Latency) error {
	lines := [][]string{{
		"experiment", "fabric", "pattern", "case", "size", "groups", "window", "messages", "maxEFI",
		"meanUs", "medianUs", "p99Us", "maxUs", "ratio", "ratioP99", "paper", "rateM", "busiest", "deadlock",
	}}
	for i := range list {
		x := &list[i]
		line := []string{x.Experiment, x.Fabric, x.Pattern, x.Case}
		for _, n := range []int{x.Size, x.Groups, x.Window, x.Messages, x.MaxEFI} {
			line = append(line, strconv.Itoa(n))
		}
		for _, v := range []float64{x.Mean, x.Median, x.P99, x.Max, x.Ratio, x.RatioP99, x.Paper, x.Rate, x.Busiest} {
			line = append(line, strconv.FormatFloat(v, 'g', 6, 64))
		}
		lines = append(lines, append(line, strconv.FormatBool(x.Deadlock)))
	}
	return csv.NewWriter(out).WriteAll(lines)
}

func ns(d time.Duration) string { return fmt.Sprintf("%d ns", d.Nanoseconds()) }

// Grid tells what is modelled.
func (h *Hardware) Grid() Grid {
	return Grid{
		Title: "the hardware that is modelled", Head: []string{"", ""},
		Rows: [][]string{
			{"links", fmt.Sprintf("%v, %.0f Gb/s", h.Rate, h.Rate.Gbps())},
			{"cable", ns(h.Wire.Cable)},
			{"switch, from head to head", ns(h.Wire.Switch)},
			{"buffer of a port, for each VL", fmt.Sprintf("%d bytes", h.Wire.Buffer)},
			{"from the sender's call to its adapter's fetch", ns(h.Post)},
			{"from memory to the receiver's program", ns(h.Take)},
			{"each of both longer by chance, on average", ns(h.Noise)},
			{"from the last member's having a message to the next one", ns(h.Gap)},
			{"between memory and adapter", fmt.Sprintf("%g GB/s", h.BusGBs)},
		},
	}
}
