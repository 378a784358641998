package cli

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/signal"

	"heddle/cli/bench"
	"heddle/fabric/topology"

	"github.com/spf13/cobra"
)

// smBenchFlags are the flags of heddle bench sm.
type smBenchFlags struct {
	peer, on, fabric              string
	runs, queries                 int
	bringUp, groups, paths, large bool
	together, ready, failover     bool
	loads                         []string
	json                          bool
	markdown                      string
}

func (a *app) benchSMCommand() *cobra.Command {
	var f smBenchFlags
	cmd := &cobra.Command{
		Use: "sm", Short: "Compare the subnet manager with OpenSM",
		Long: "Let heddle sm manage a simulated subnet, and OpenSM where that is the peer: bring\n" +
			"the subnet up, join multicast groups, ask for paths. Runs are interleaved, figures\n" +
			"are medians.\n\n" +
			"Without --bring-up, --groups, --paths, --ready, --failover and --large the first three run.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.benchSM(cmd.Context(), f) },
	}
	set := cmd.Flags()
	set.SortFlags = false
	set.StringVar(&f.peer, "peer", "", "measure this beside: opensm")
	set.StringVar(&f.on, "on", "ibsim", "what simulates the subnet: ibsim or emu; for --paths it is always emu")
	set.StringVar(&f.fabric, "fabric", "", "generated fabric instead of fat-tree:k=16, and fat-tree:k=40 for --ready and --large")
	set.IntVar(&f.runs, "runs", 5, "runs of which medians are taken")
	set.BoolVar(&f.bringUp, "bring-up", false, "bring the fabric up")
	set.BoolVar(&f.groups, "groups", false, "join multicast groups")
	set.StringSliceVar(&f.loads, "load", nil, "groups to join instead of 1000x8, 1000x32, 20x1024 and rows, of 10000x8 for --ready and 1000x8 for --failover")
	set.BoolVar(&f.together, "together", false, "join for the first members of all groups, then for the second ones, and so on")
	set.BoolVar(&f.paths, "paths", false, "ask for paths, 64 clients at once")
	set.IntVar(&f.queries, "queries", 50000, "paths that are asked for in a run of --paths")
	set.BoolVar(&f.ready, "ready", false, "join collected groups, 10000x8, until all are Ready, on the emulated subnet")
	set.BoolVar(&f.failover, "failover", false, "kill the master, with groups 1000x8, while another manager stands by, on the emulated subnet")
	set.BoolVar(&f.large, "large", false, "bring a large fabric up, once")
	set.BoolVar(&f.json, "json", false, "write one JSON object a line")
	set.StringVar(&f.markdown, "markdown", "", "file to write the tables to as Markdown")
	return cmd
}

// check fills in what is not said and finds what cannot be.
func (f *smBenchFlags) check() error {
	if !f.bringUp && !f.groups && !f.paths && !f.ready && !f.failover && !f.large {
		f.bringUp, f.groups, f.paths = true, true, true
	}
	switch {
	case f.runs < 1 || f.queries < 1:
		return usagef("--runs and --queries must be at least 1, not %d and %d", f.runs, f.queries)
	case f.peer != "" && f.peer != "opensm":
		return usagef("no peer %q; there is opensm", f.peer)
	case f.on != "ibsim" && f.on != "emu":
		return usagef("--on %q: want ibsim or emu", f.on)
	}
	for _, load := range f.loads {
		if err := bench.Load(load).Check(); err != nil {
			return &usageError{err}
		}
	}
	if _, err := topology.Parse(cmp.Or(f.fabric, usualFabric)); err != nil {
		return &usageError{err}
	}
	return nil
}

// listOr is what is to be joined, the usual loads where that is not said.
func (f *smBenchFlags) listOr(usual ...bench.Load) (loads []bench.Load) {
	for _, load := range f.loads {
		loads = append(loads, bench.Load(load))
	}
	if loads == nil {
		return usual
	}
	return loads
}

func (a *app) benchSM(ctx context.Context, f smBenchFlags) error {
	if err := f.check(); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt) // so that nothing is left behind
	defer stop()
	r := a.benchReport(f.json, f.markdown)
	b := bench.SM{
		Program: self, Peer: f.peer != "", Emulated: f.on == "emu", Together: f.together,
		Runs: f.runs, Queries: f.queries, Watch: r.watch,
	}
	groups := func(ctx context.Context, spec string) ([]bench.Figure, error) {
		return b.Groups(ctx, spec, f.listOr(bench.Loads()...))
	}
	type byLoad func(ctx context.Context, spec string, l bench.Load) ([]bench.Figure, error)
	each := func(run byLoad, usual bench.Load) func(ctx context.Context, spec string) ([]bench.Figure, error) {
		return func(ctx context.Context, spec string) (list []bench.Figure, err error) {
			for _, l := range f.listOr(usual) {
				figures, err := run(ctx, spec, l)
				if err != nil {
					return nil, fmt.Errorf("groups %s: %w", l, err)
				}
				list = append(list, figures...)
			}
			return list, nil
		}
	}
	return r.parts(ctx, f.fabric, []benchPart{
		{f.bringUp, b.BringUp, usualFabric},
		{f.groups, groups, usualFabric},
		{f.paths, b.Paths, usualFabric},
		{f.ready, each(b.Ready, "10000x8"), largeFabric},
		{f.failover, each(b.Failover, "1000x8"), usualFabric},
		{f.large, b.Large, largeFabric},
	})
}
