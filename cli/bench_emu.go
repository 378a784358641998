package cli

import (
	"cmp"
	"context"
	"os"
	"os/signal"

	"heddle/cli/bench"
	"heddle/fabric/topology"

	"github.com/spf13/cobra"
)

// emuBenchFlags are the flags of heddle bench emu.
type emuBenchFlags struct {
	peer, fabric               string
	runs, smps                 int
	bringUp, throughput, large bool
	json                       bool
	markdown                   string
}

func (a *app) benchEmuCommand() *cobra.Command {
	var f emuBenchFlags
	cmd := &cobra.Command{
		Use: "emu", Short: "Compare the emulated subnet with ibsim",
		Long: "Let OpenSM bring a fabric up on heddle's emulated subnet, and on ibsim where that is\n" +
			"the peer, and send SMPs to both: time, SMPs a second, and what the servers used.\n" +
			"Runs are interleaved, figures are medians.\n\n" +
			"Without --bring-up, --throughput and --large the first two run.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.benchEmu(cmd.Context(), f) },
	}
	set := cmd.Flags()
	set.SortFlags = false
	set.StringVar(&f.peer, "peer", "", "measure this beside: ibsim")
	set.StringVar(&f.fabric, "fabric", "", "generated fabric instead of fat-tree:k=16, and fat-tree:k=40 for --large")
	set.IntVar(&f.runs, "runs", 5, "runs of which medians are taken")
	set.IntVar(&f.smps, "smps", 20000, "SMPs in a run of --throughput")
	set.BoolVar(&f.bringUp, "bring-up", false, "let OpenSM bring the fabric up")
	set.BoolVar(&f.throughput, "throughput", false, "send SMPs, 1, 4 and 64 at once")
	set.BoolVar(&f.large, "large", false, "bring a large fabric up, once, and run ibnetdiscover")
	set.BoolVar(&f.json, "json", false, "write one JSON object a line")
	set.StringVar(&f.markdown, "markdown", "", "file to write the tables to as Markdown")
	return cmd
}

// check fills in what is not said and finds what cannot be.
func (f *emuBenchFlags) check() error {
	if !f.bringUp && !f.throughput && !f.large {
		f.bringUp, f.throughput = true, true
	}
	if f.runs < 1 || f.smps < 1 {
		return usagef("--runs and --smps must be at least 1, not %d and %d", f.runs, f.smps)
	}
	if f.peer != "" && f.peer != "ibsim" {
		return usagef("no peer %q; there is ibsim", f.peer)
	}
	if _, err := topology.Parse(cmp.Or(f.fabric, usualFabric)); err != nil {
		return &usageError{err}
	}
	return nil
}

// The fabrics where none is named. The large one has 16,000 adapters and 2,000
// switches.
const (
	usualFabric = "fat-tree:k=16"
	largeFabric = "fat-tree:k=40"
)

func (a *app) benchEmu(ctx context.Context, f emuBenchFlags) error {
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
	b := bench.Emu{Program: self, Peer: f.peer != "", Runs: f.runs, SMPs: f.smps, Watch: r.watch}
	return r.parts(ctx, f.fabric, []benchPart{
		{f.bringUp, b.BringUp, usualFabric}, {f.throughput, b.Throughput, usualFabric}, {f.large, b.Large, largeFabric},
	})
}
