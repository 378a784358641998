package cli

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"heddle/cli/bench"
	"heddle/cli/compare"
	"heddle/fabric/pattern"
	"heddle/fabric/topology"

	"github.com/spf13/cobra"
)

// multicastBenchFlags are the flags of heddle bench multicast.
type multicastBenchFlags struct {
	height, efi, engines bool
	fabric, pattern      string
	only                 []string
	efforts, sizes       []int
	groups, messages     int
	window               int
	seed                 uint64
	gap                  time.Duration
	json                 bool
	markdown, csv, svg   string
}

func (a *app) benchMulticastCommand() *cobra.Command {
	var f multicastBenchFlags
	cmd := &cobra.Command{
		Use: "multicast", Short: "Measure multicast messages through the emulated subnet",
		Long: "Send multicast messages through the switches of the emulated subnet, in virtual\n" +
			"time: latency by the height of the tree, by the number of groups that share one\n" +
			"tree, as in the FULB-MC paper, and by the engine that laid the trees, with all\n" +
			"groups sending at once. The results depend on the seed only, not on the machine.\n\n" +
			"Without --height, --efi and --engines all three run.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.benchMulticast(cmd.Context(), f) },
	}
	set := cmd.Flags()
	set.SortFlags = false
	set.BoolVar(&f.height, "height", false, "one group of four, at heights 1 and 2")
	set.BoolVar(&f.efi, "efi", false, "1 to --groups groups of four on one tree")
	set.BoolVar(&f.engines, "engines", false, "the trees of all engines, on some fabrics or on --fabric")
	set.StringVar(&f.fabric, "fabric", "", "generated fabric for --engines")
	set.StringVar(&f.pattern, "pattern", "", "groups for --fabric")
	set.StringSliceVarP(&f.only, "engine", "e", []string{"all"}, "only these engines")
	set.IntSliceVar(&f.efforts, "effort", []int{1, 3}, "efforts of weave")
	set.IntVar(&f.groups, "groups", 128, "most groups of --efi")
	set.IntSliceVar(&f.sizes, "size", []int{8, 2048}, "sizes of messages in bytes, 4 to 4096")
	set.IntVar(&f.messages, "messages", 5000, "messages that are measured of each case")
	set.IntVar(&f.window, "window", 1, "messages of a group at once")
	set.DurationVar(&f.gap, "gap", 0, "time between a group's messages")
	set.Uint64Var(&f.seed, "seed", 1, "where all chance comes from")
	set.BoolVar(&f.json, "json", false, "write one JSON object a line")
	set.StringVar(&f.markdown, "markdown", "", "file to write the tables to as Markdown")
	set.StringVar(&f.csv, "csv", "", "file to write the figures to as comma-separated values")
	set.StringVar(&f.svg, "svg", "", "directory to write a picture of each table to")
	return cmd
}

// check fills in what is not said and finds what cannot be.
func (f *multicastBenchFlags) check() error {
	if !f.height && !f.efi && !f.engines {
		f.height, f.efi, f.engines = true, true, true
	}
	if f.messages < 1 || f.groups < 1 || f.window < 1 {
		return usagef("--messages, --groups and --window must be at least 1, not %d, %d and %d", f.messages, f.groups, f.window)
	}
	if f.gap < 0 {
		return usagef("--gap must not be negative, as %v", f.gap)
	}
	if len(f.sizes) == 0 {
		return usagef("--size names no size")
	}
	for _, size := range f.sizes {
		if size < 4 || size > 4096 {
			return usagef("--size must be 4 to 4096, not %d", size)
		}
	}
	if (f.fabric == "") != (f.pattern == "") {
		return usagef("--fabric and --pattern go together")
	}
	if f.fabric == "" {
		return nil
	}
	if _, err := topology.Parse(f.fabric); err != nil {
		return &usageError{err}
	}
	if _, err := pattern.Parse(f.pattern); err != nil {
		return &usageError{err}
	}
	return nil
}

// crowds is what --engines runs on.
func (f *multicastBenchFlags) crowds() []bench.Crowd {
	if f.fabric != "" {
		return []bench.Crowd{{Fabric: f.fabric, Pattern: f.pattern}}
	}
	return bench.Crowds()
}

func (a *app) benchMulticast(ctx context.Context, f multicastBenchFlags) error {
	if err := f.check(); err != nil {
		return err
	}
	runs, err := compare.Runs(f.only, f.efforts)
	if err != nil {
		return &usageError{err}
	}
	r := multicastRun{benchReport: a.benchReport(f.json, f.markdown), flags: f, runs: runs}
	r.bench = bench.Multicast{Hardware: bench.EDR(), Seed: f.seed, Messages: f.messages, Sizes: f.sizes, Watch: r.watch}
	r.bench.Hardware.Gap, r.bench.Hardware.Window = f.gap, f.window
	r.grids = append(r.grids, r.bench.Hardware.Grid())
	err = r.measure(ctx)
	r.bar.end()
	if err != nil {
		return err
	}
	if err := f.files(r.all); err != nil {
		return err
	}
	return r.write()
}

// multicastRun is one call of heddle bench multicast.
type multicastRun struct {
	benchReport
	flags multicastBenchFlags
	runs  []compare.Run
	bench bench.Multicast
	all   [][]bench.Latency // by table
}

// measure runs what is wanted.
func (r *multicastRun) measure(ctx context.Context) error {
	if r.flags.height {
		if err := r.take(r.bench.Heights(ctx)); err != nil {
			return err
		}
	}
	if r.flags.efi {
		if err := r.take(r.bench.EFIs(ctx, r.flags.groups)); err != nil {
			return err
		}
	}
	if !r.flags.engines {
		return nil
	}
	for _, c := range r.flags.crowds() {
		if err := r.take(r.bench.Engines(ctx, c, r.runs)); err != nil {
			return err
		}
	}
	return nil
}

// take takes over what was measured.
func (r *multicastRun) take(list []bench.Latency, err error) error {
	if err != nil {
		return err
	}
	r.bar.end()
	r.all = append(r.all, list)
	r.grids = append(r.grids, bench.LatencyGrids(list)...)
	for i := range list {
		if err := r.line(list[i]); err != nil {
			return err
		}
	}
	return nil
}

// files writes what was measured as values and as pictures.
func (f *multicastBenchFlags) files(all [][]bench.Latency) error {
	if f.csv != "" {
		var flat []bench.Latency
		for _, list := range all {
			flat = append(flat, list...)
		}
		if err := writeFile(f.csv, func(w io.Writer) error { return bench.WriteLatencies(w, flat) }); err != nil {
			return err
		}
	}
	if f.svg == "" {
		return nil
	}
	for i, list := range all {
		c := bench.LatencyChart(list)
		if len(c.Panels) == 0 {
			continue // all in deadlock
		}
		name := fmt.Sprintf("%d-%s.svg", i+1, list[0].Experiment)
		if err := writeFile(filepath.Join(f.svg, name), c.SVG); err != nil {
			return err
		}
	}
	return nil
}
