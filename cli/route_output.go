package cli

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"heddle/cli/compare"
	"heddle/cli/picture"
	"heddle/cli/text"
	"heddle/route"
)

// comparison is one call of heddle route.
type comparison struct {
	a       *app
	source  source
	flags   routeFlags
	problem *compare.Problem
	rows    []compare.Row
	series  []picture.Series
	tables  *route.LFTs // with --unicast
	paths   route.Cycle // of unicast alone
	both    []string    // by engine, whether it and unicast have a cycle together
	notes   []string    // examples of cycles
}

// routed is the JSON object of one engine.
type routed struct {
	Fabric  string `json:"fabric"`
	Pattern string `json:"pattern"`
	compare.Row
	*together
}

// together is what unicast and multicast have to do with each other.
type together struct {
	Unicast string `json:"unicast"`
	// UnicastCyclic is of unicast alone, BothCyclic of both on one virtual lane.
	UnicastCyclic bool `json:"unicastCyclic"`
	BothCyclic    bool `json:"bothCyclic"`
}

// run routes with one engine and writes what is of that engine alone.
func (c *comparison) run(run compare.Run) error {
	result := c.a.watch(c.problem, run)
	c.rows = append(c.rows, result.Row)
	if c.flags.svg != "" || c.flags.png != "" {
		c.series = append(c.series, seriesOf(result))
	}
	both := c.compareUnicast(result)
	if c.flags.json {
		if err := writeJSON(c.a.out, routed{c.source.name, c.flags.what(), result.Row, both}); err != nil {
			return err
		}
	}
	return c.writeMFTs(result)
}

// compareUnicast looks for cycles of unicast and the trees, and notes them.
func (c *comparison) compareUnicast(r compare.Result) *together {
	c.note(r.Label(), r.Cycle)
	if c.tables == nil {
		return nil
	}
	both := c.together(r.State)
	c.both = append(c.both, r.Label()+" "+cyclic(both))
	c.note(c.flags.unicast+" and "+r.Label()+" together", both)
	return &together{c.flags.unicast, c.paths.Cyclic(), both.Cyclic()}
}

func cyclic(c route.Cycle) string {
	if c.Cyclic() {
		return "cyclic"
	}
	return "acyclic"
}

// note names an example of a cycle.
func (c *comparison) note(what string, cycle route.Cycle) {
	if cycle.Cyclic() {
		c.notes = append(c.notes, what+": cycle of "+cycle.Text(c.source.Fabric))
	}
}

// watch routes with one engine and shows progress.
func (a *app) watch(p *compare.Problem, run compare.Run) compare.Result {
	steps := p.Demand.NumGroups()
	if run.Effort > 1 {
		steps = -1 // as often as it gains
	}
	bar := a.progress()
	bar.start(run.Label(), steps)
	defer bar.end()
	if bar.out != nil {
		run.Watch = bar.step
	}
	return p.Route(run)
}

func seriesOf(r compare.Result) picture.Series {
	return picture.Series{
		Label: r.Label(), MaxEFI: r.MaxEFI, AvgEFI: r.AvgEFI,
		Histogram: r.Measures.Histogram, Load: r.State.Load(),
	}
}

// finish writes what is of all engines.
func (c *comparison) finish() error {
	if !c.flags.json {
		if err := c.table(c.a.out); err != nil {
			return err
		}
	}
	return c.pictures()
}

func (c *comparison) table(out io.Writer) error {
	w := bufio.NewWriter(out)
	r := c.rows[0]
	fmt.Fprintf(w, "%s, %s: %s with %s; hop table in %.1f ms\n",
		c.source.name, c.flags.what(), text.Count(r.Groups, "group"), text.Count(r.Members, "member"), r.HopsMs)
	if err := compare.WriteTable(w, c.rows); err != nil {
		return err
	}
	for i, cut := range r.CutOff {
		if i == faultLines && !c.flags.verbose {
			fmt.Fprintf(w, "and %d more: see --verbose\n", len(r.CutOff)-i)
			break
		}
		fmt.Fprintf(w, "cut off: %s\n", cut)
	}
	if c.tables != nil {
		fmt.Fprintf(w, "unicast %s is %s; together with %s\n", c.flags.unicast, cyclic(c.paths), strings.Join(c.both, ", "))
	}
	if c.flags.verbose {
		for _, note := range c.notes {
			fmt.Fprintln(w, note)
		}
	}
	return w.Flush()
}

func (c *comparison) pictures() error {
	p := picture.Picture{
		Title: c.source.name + ", " + c.flags.what(),
		Graph: c.problem.Graph, Shape: shapeOf(c.source.name), Series: c.series,
	}
	if c.flags.svg != "" {
		if err := c.a.output(c.flags.svg, p.SVG); err != nil {
			return err
		}
	}
	if c.flags.png != "" {
		return c.a.output(c.flags.png, p.PNG)
	}
	return nil
}

// verdict is the error of rows that are not as they should be.
func verdict(rows []compare.Row) error {
	for _, r := range rows {
		switch {
		case r.Error != "":
			return fmt.Errorf("%s: %s", r.Label(), r.Error)
		case !r.Valid:
			return fmt.Errorf("%s: %s", r.Label(), r.Faults[0])
		}
	}
	if cut := rows[0].CutOff; len(cut) > 0 {
		return fmt.Errorf("%s cut off, such as %s", text.Count(len(cut), "member"), cut[0])
	}
	return nil
}
