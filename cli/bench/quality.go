package bench

import (
	"fmt"
	"runtime"
	"strconv"
	"time"

	"heddle/cli/compare"
	"heddle/cli/text"
	"heddle/fabric/pattern"
	"heddle/fabric/topology"
)

// Entry is what one engine gave for one case.
type Entry struct {
	Number  int    `json:"row"`
	Fabric  string `json:"fabric"`
	Pattern string `json:"pattern"`
	compare.Row
	// Target is the published figure of maximum EFI for this engine, 0 for none.
	Target int `json:"target,omitempty"`

	published Published
}

// Bench says how benchmarks run and tell how far they are; the zero Bench runs
// them all the same.
type Bench struct {
	// Watch is told what runs next.
	Watch func(what string)
	// Peak measures the peak memory of a process that does one run only; where
	// it is nil, an Entry tells that of this process.
	Peak func(Case, compare.Run) (int64, error)
	// PeerBudget is how long all runs of Speed's peer for one case may take, 45 s
	// if 0; the first may take longer.
	PeerBudget time.Duration

	name    string
	network *compare.Network // of the fabric with that name
}

func (b *Bench) watch(format string, args ...any) {
	if b.Watch != nil {
		b.Watch(fmt.Sprintf(format, args...))
	}
}

// problem makes the groups of a case. Cases in a row that are of one fabric
// share its hop table.
func (b *Bench) problem(c Case) (*compare.Problem, error) {
	if b.name != c.Fabric {
		b.watch("%s", c.Fabric)
		b.name, b.network = c.Fabric, nil
		f, err := topology.Generate(c.Fabric)
		if err != nil {
			return nil, err
		}
		if b.network, err = compare.NewNetwork(f, nil); err != nil {
			return nil, err
		}
	}
	groups, err := pattern.Generate(b.network.Graph.Fabric(), c.Pattern)
	if err != nil {
		return nil, err
	}
	return b.network.Problem(groups), nil
}

// Quality routes each case with each engine and tells of each result at once.
func (b *Bench) Quality(cases []Case, runs []compare.Run, tell func(Entry) error) error {
	defer oneProcessor()()
	for _, c := range cases {
		problem, err := b.problem(c)
		if err != nil {
			return fmt.Errorf("row %d: %w", c.Row, err)
		}
		for _, run := range runs {
			b.watch("row %d %s", c.Row, run.Label())
			entry, err := b.entry(c, problem, run)
			if err != nil {
				return fmt.Errorf("row %d: %s: %w", c.Row, run.Label(), err)
			}
			if err := tell(entry); err != nil {
				return err
			}
		}
	}
	return nil
}

func (b *Bench) entry(c Case, p *compare.Problem, run compare.Run) (Entry, error) {
	e := Entry{
		Number: c.Row, Fabric: c.Fabric, Pattern: c.Pattern, Row: p.Route(run).Row,
		Target: c.Published.Target(run.Engine.Name, run.Effort), published: c.Published,
	}
	if b.Peak == nil {
		return e, nil
	}
	var err error
	e.PeakBytes, err = b.Peak(c, run)
	return e, err
}

// oneProcessor makes Go use one processor until the function that it returns is
// called.
func oneProcessor() func() {
	before := runtime.GOMAXPROCS(1)
	return func() { runtime.GOMAXPROCS(before) }
}

// QualityGrids shows entries as tables: maximum EFI beside the bound and the
// published figures, mean EFI, time and memory.
func QualityGrids(entries []Entry) []Grid {
	if len(entries) == 0 {
		return nil
	}
	maximum := maximumGrid(entries)
	mean := grid("Mean EFI", entries, nil, func(e Entry) string { return fmt.Sprintf("%.3f", e.AvgEFI) })
	times := grid("Time in ms, roots included, and height", entries, []string{"groups", "members", "height", "hop table"},
		func(e Entry) string { return fmt.Sprintf("%.1f", e.TotalMs) })
	times.Note = "One thread. The hop table is computed once for each fabric, and not in the other times."
	eachCase(entries, func(i int, e Entry) {
		copy(times.Rows[i][3:], []string{
			text.Thousands(e.Groups), text.Thousands(e.Members), strconv.Itoa(e.MaxHeight), fmt.Sprintf("%.0f", e.HopsMs),
		})
	})
	peak := grid("Peak memory in MB", entries, nil, func(e Entry) string { return fmt.Sprintf("%.0f", float64(e.PeakBytes)/1e6) })
	return []Grid{maximum, mean, times, peak}
}

// maximumGrid shows the maximum EFI, and the published figures where there are
// any.
func maximumGrid(entries []Entry) Grid {
	g := grid("Maximum EFI", entries, []string{"bound"}, func(e Entry) string { return pair(e.MaxEFI, e.Target) })
	g.Note = "bound: what no trees can be better than."
	known := entries[0].published.Join != 0
	if known {
		g.Head = append(g.Head, "join")
		g.Note += " In brackets the published figures: the\n" +
			"bound (~ estimated), minihop-new, sssp-new and fulb as in the paper, the prototypes\n" +
			"duo, rip2 and deep beside the efforts of weave; join is a fourth prototype."
	}
	eachCase(entries, func(i int, e Entry) {
		g.Rows[i][3] = boundText(e)
		if known {
			g.Rows[i] = append(g.Rows[i], strconv.Itoa(e.published.Join))
		}
	})
	return g
}

// grid makes a row for each case and a column for each run, after some more that
// are left empty.
func grid(title string, entries []Entry, more []string, cell func(Entry) string) Grid {
	g := Grid{Title: title, Head: append([]string{"row", "fabric", "pattern"}, more...)}
	for _, e := range entries {
		if e.Number == entries[0].Number {
			g.Head = append(g.Head, e.Label())
		}
	}
	eachCase(entries, func(_ int, e Entry) {
		row := append([]string{strconv.Itoa(e.Number), e.Fabric, e.Pattern}, make([]string, len(more))...)
		g.Rows = append(g.Rows, row)
	})
	at := -1
	last := -1
	for _, e := range entries {
		if e.Number != last {
			at, last = at+1, e.Number
		}
		g.Rows[at] = append(g.Rows[at], cell(e))
	}
	return g
}

// eachCase visits the first entry of each case.
func eachCase(entries []Entry, visit func(i int, e Entry)) {
	n := 0
	for i, e := range entries {
		if i == 0 || entries[i-1].Number != e.Number {
			visit(n, e)
			n++
		}
	}
}

func pair(ours, published int) string {
	if published == 0 {
		return strconv.Itoa(ours)
	}
	return fmt.Sprintf("%d (%d)", ours, published)
}

func boundText(e Entry) string {
	switch {
	case e.published.Bound == 0:
		return strconv.Itoa(e.LowerBound)
	case e.published.Estimate:
		return fmt.Sprintf("%d (~%d)", e.LowerBound, e.published.Bound)
	default:
		return fmt.Sprintf("%d (%d)", e.LowerBound, e.published.Bound)
	}
}
