package cli

import (
	"context"
	"slices"

	"heddle/cli/bench"
	"heddle/fabric/topology"

	"github.com/spf13/cobra"
)

// broadcastBenchFlags are the flags of heddle bench broadcast.
type broadcastBenchFlags struct {
	fabric       string
	ranks, sizes []int
	runs         int
	loss         float64
	seed         uint64
	json         bool
	markdown     string
}

func (a *app) benchBroadcastCommand() *cobra.Command {
	var f broadcastBenchFlags
	cmd := &cobra.Command{
		Use: "broadcast", Short: "Measure broadcasts through the emulated subnet: bytes on links, time, repairs",
		Long: "Bring up an emulated subnet with heddle's subnet manager, and send the same bytes from\n" +
			"one host to others: by multicast that READs repair, by READs, down a tree of channels,\n" +
			"and by a WRITE to each. What each link carried is counted by its ports. Then every link\n" +
			"loses packets, and what is missed is compared with what is fetched. Bytes depend on the\n" +
			"flags, times on the machine, whose processors all hosts share.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.benchBroadcast(cmd.Context(), f) },
	}
	set := cmd.Flags()
	set.SortFlags = false
	set.StringVar(&f.fabric, "fabric", upFabric, "generated fabric")
	set.IntSliceVar(&f.ranks, "ranks", []int{2, 4, 8, 16, 32, 64}, "sizes of groups, with the root")
	set.IntSliceVar(&f.sizes, "size", []int{4 << 10, 64 << 10, 256 << 10}, "lengths of messages in bytes, at most 256 KiB")
	set.IntVar(&f.runs, "runs", 5, "broadcasts that are measured of each")
	set.Float64Var(&f.loss, "loss", 0.05, "`PART` of packets that each link loses in the last table; 0 for none")
	set.Uint64Var(&f.seed, "seed", 1, "by which hosts are chosen")
	set.BoolVar(&f.json, "json", false, "write one JSON object a line")
	set.StringVar(&f.markdown, "markdown", "", "file to write the tables to as Markdown")
	return cmd
}

// check finds what cannot be.
func (f *broadcastBenchFlags) check() error {
	if _, err := topology.Parse(f.fabric); err != nil {
		return &usageError{err}
	}
	switch {
	case len(f.ranks) == 0 || slices.Min(f.ranks) < 2:
		return usagef("--ranks must be at least 2, not %v", f.ranks)
	case len(f.sizes) == 0 || slices.Min(f.sizes) < 1 || slices.Max(f.sizes) > 256<<10:
		return usagef("--size must be 1 to %d, not %v", 256<<10, f.sizes)
	case f.runs < 1:
		return usagef("--runs must be at least 1, not %d", f.runs)
	case f.loss < 0 || f.loss >= 1:
		return usagef("--loss must be from 0 to less than 1, not %v", f.loss)
	}
	return nil
}

func (a *app) benchBroadcast(ctx context.Context, f broadcastBenchFlags) error {
	if err := f.check(); err != nil {
		return err
	}
	r := a.benchReport(f.json, f.markdown)
	b := bench.Broadcasts{Fabric: f.fabric, Ranks: f.ranks, Sizes: f.sizes, Runs: f.runs, Loss: f.loss, Seed: f.seed, Watch: r.watch}
	list, repairs, err := b.Run(ctx)
	r.bar.end()
	if err != nil {
		return err
	}
	for i := range list {
		if err := r.line(list[i]); err != nil {
			return err
		}
	}
	r.grids = bench.BroadcastGrids(list)
	for i := range repairs {
		if err := r.line(repairs[i]); err != nil {
			return err
		}
	}
	if len(repairs) > 0 {
		r.grids = append(r.grids, bench.RepairsGrid(repairs))
	}
	return r.write()
}
