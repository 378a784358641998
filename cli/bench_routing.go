package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"

	"heddle/cli/bench"
	"heddle/cli/compare"

	"github.com/spf13/cobra"
)

// benchFlags are the flags of heddle bench routing.
type benchFlags struct {
	rows, efforts         []int
	engines               []string
	speed, large, reroute bool
	table, peak, json     bool
	runs                  int
	markdown              string
}

func (a *app) benchRoutingCommand() *cobra.Command {
	var f benchFlags
	cmd := &cobra.Command{
		Use: "routing", Short: "Compare the multicast engines",
		Long: "Compare the multicast engines on the 17 rows of the target table: maximum and mean\n" +
			"EFI beside a proven bound and published figures, time and memory. Everything runs\n" +
			"on one thread.\n\n" +
			"--speed, --large and --reroute run other parts instead; --table adds the table.",
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return a.benchRouting(f) },
	}
	set := cmd.Flags()
	set.SortFlags = false
	set.IntSliceVar(&f.rows, "row", nil, "only these rows, 1 to 17")
	set.StringSliceVarP(&f.engines, "engine", "e", nil, "only these engines")
	set.IntSliceVar(&f.efforts, "effort", nil, "only these efforts of weave")
	set.BoolVar(&f.table, "table", false, "run the target table, as without other parts")
	set.BoolVar(&f.speed, "speed", false, "time engines against sssp-new done as in the paper; rows 4, 7, 10, 17")
	set.IntVar(&f.runs, "runs", 5, "runs of --speed and --reroute, of which medians are taken")
	set.BoolVar(&f.large, "large", false, "route on fabrics larger than the paper's")
	set.BoolVar(&f.reroute, "reroute", false, "reroute after the loss of a link, against routing all")
	set.BoolVar(&f.peak, "peak", false, "measure the peak memory of each run in a process of its own")
	set.BoolVar(&f.json, "json", false, "write one JSON object a line")
	set.StringVar(&f.markdown, "markdown", "", "file to write the tables to as Markdown")
	return cmd
}

// check fills in what is not said and finds what cannot be.
func (f *benchFlags) check() error {
	if !f.speed && !f.large && !f.reroute {
		f.table = true
	}
	if f.runs < 1 {
		return usagef("--runs must be at least 1, not %d", f.runs)
	}
	for _, n := range f.rows {
		if n < 1 || n > len(bench.Table()) {
			return usagef("no row %d; there are 1 to %d", n, len(bench.Table()))
		}
	}
	_, err := f.runsOf([]string{"all"}, []int{1})
	return err
}

// runsOf lists the runs that the flags name, or else these.
func (f *benchFlags) runsOf(engines []string, efforts []int) ([]compare.Run, error) {
	if len(f.engines) > 0 {
		engines = f.engines
	}
	if len(f.efforts) > 0 {
		efforts = f.efforts
	}
	runs, err := compare.Runs(engines, efforts)
	if err != nil {
		return nil, &usageError{err}
	}
	return runs, nil
}

// casesOf lists the rows of the target table that the flags name, or else these.
func (f *benchFlags) casesOf(rows []int) []bench.Case {
	if len(f.rows) > 0 {
		rows = f.rows
	}
	return slices.DeleteFunc(bench.Table(), func(c bench.Case) bool {
		return len(rows) > 0 && !slices.Contains(rows, c.Row)
	})
}

func (a *app) benchRouting(f benchFlags) error {
	if err := f.check(); err != nil {
		return err
	}
	r := benchRun{benchReport: a.benchReport(f.json, f.markdown), flags: f}
	r.bench.Watch = r.watch
	if f.peak {
		r.bench.Peak = peakOf
	}
	for _, part := range []struct {
		wanted bool
		run    func() error
	}{{f.table, r.table}, {f.speed, r.speed}, {f.large, r.large}, {f.reroute, r.reroute}} {
		if !part.wanted {
			continue
		}
		if err := part.run(); err != nil {
			r.bar.end()
			return err
		}
	}
	r.bar.end()
	return r.finish()
}

// benchRun is one call of heddle bench routing.
type benchRun struct {
	benchReport
	flags  benchFlags
	bench  bench.Bench
	faulty []compare.Row
}

func (r *benchRun) table() error {
	runs, err := r.flags.runsOf([]string{"all"}, []int{1, 2, 3})
	if err != nil {
		return err
	}
	return r.quality(r.flags.casesOf(nil), runs)
}

func (r *benchRun) large() error {
	runs, err := r.flags.runsOf([]string{"sssp-new", "fulb", "weave"}, []int{1})
	if err != nil {
		return err
	}
	return r.quality(bench.Large(), runs)
}

func (r *benchRun) quality(cases []bench.Case, runs []compare.Run) error {
	var entries []bench.Entry
	err := r.bench.Quality(cases, runs, func(e bench.Entry) error {
		entries = append(entries, e)
		if !e.Valid {
			r.faulty = append(r.faulty, e.Row)
		}
		return r.line(e)
	})
	r.grids = append(r.grids, bench.QualityGrids(entries)...)
	return err
}

func (r *benchRun) speed() error {
	runs, err := r.flags.runsOf([]string{"fulb", "weave"}, []int{1})
	if err != nil {
		return err
	}
	var list []bench.Speed
	err = r.bench.Speed(r.flags.casesOf(bench.SpeedRows()), runs, r.flags.runs, func(s bench.Speed) error {
		list = append(list, s)
		return r.line(s)
	})
	r.grids = append(r.grids, bench.SpeedGrid(list))
	return err
}

func (r *benchRun) reroute() error {
	runs, err := r.flags.runsOf([]string{"weave"}, []int{1})
	if err != nil {
		return err
	}
	var list []bench.Reroute
	err = r.bench.Reroute(r.flags.casesOf(bench.RerouteRows()), runs, r.flags.runs, func(x bench.Reroute) error {
		list = append(list, x)
		return r.line(x)
	})
	r.grids = append(r.grids, bench.RerouteGrid(list))
	return err
}

// finish writes the tables.
func (r *benchRun) finish() error {
	if err := r.write(); err != nil {
		return err
	}
	if len(r.faulty) > 0 {
		return verdict(r.faulty)
	}
	return nil
}

// peakOf runs heddle itself for one run and reads its peak memory.
func peakOf(c bench.Case, run compare.Run) (int64, error) {
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	args := []string{"route", c.Fabric, "--pattern", c.Pattern, "--engine", run.Engine.Name, "--json"}
	if run.Effort > 0 {
		args = append(args, "--effort", strconv.Itoa(run.Effort))
	}
	out, err := exec.Command(self, args...).Output()
	if err != nil {
		return 0, fmt.Errorf("peak memory: %w", err)
	}
	var row compare.Row
	if err := json.Unmarshal(out, &row); err != nil {
		return 0, fmt.Errorf("peak memory: %w", err)
	}
	return row.PeakBytes, nil
}
