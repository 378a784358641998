package cli

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"

	"heddle/cli/bench"
	"heddle/verbs"
	"heddle/verbs/sim"

	"github.com/spf13/cobra"
)

// verbsBenchFlags are the flags of heddle bench verbs.
type verbsBenchFlags struct {
	peer      string
	providers []string
	runs      int
	short     bool
	json      bool
	markdown  string
}

func (a *app) benchVerbsCommand() *cobra.Command {
	var f verbsBenchFlags
	cmd := &cobra.Command{
		Use: "verbs", Short: "Measure RDMA devices, and shared memory beside UCX",
		Long: "Send messages between two processes over the devices of providers, and beside them\n" +
			"over UCX's shared memory (ucx_perftest, UCX_TLS=posix,self) where that is the peer:\n" +
			"latency, rate, bandwidth, how soon a receiver that sleeps wakes up, beside a Unix\n" +
			"socket, and allocations. Runs are interleaved, figures are medians.\n\n" +
			"The devices of sim are simulated in one process: their times are those of the\n" +
			"simulator.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.benchVerbs(cmd.Context(), f) },
	}
	set := cmd.Flags()
	set.SortFlags = false
	set.StringVar(&f.peer, "peer", "", "measure this beside: ucx")
	set.StringSliceVar(&f.providers, "provider", []string{"shm"}, "providers whose first devices are measured, or PROVIDER/DEVICE")
	set.IntVar(&f.runs, "runs", 5, "runs of which medians are taken")
	set.BoolVar(&f.short, "short", false, "a hundredth of the messages")
	set.BoolVar(&f.json, "json", false, "write one JSON object a line")
	set.StringVar(&f.markdown, "markdown", "", "file to write the tables to as Markdown")
	return cmd
}

// devices finds what is to be measured.
func (f *verbsBenchFlags) devices() (list []bench.VerbsDevice, err error) {
	if f.runs < 1 {
		return nil, usagef("--runs must be at least 1, not %d", f.runs)
	}
	if f.peer != "" && f.peer != "ucx" {
		return nil, usagef("no peer %q; there is ucx", f.peer)
	}
	for _, name := range f.providers {
		p, of, _ := strings.Cut(name, "/")
		flags := deviceFlags{provider: p, device: of}
		d, err := flags.find()
		if err != nil {
			return nil, err
		}
		list = append(list, bench.VerbsDevice{Device: d, Provider: p, Alone: simulation(d)})
	}
	return list, nil
}

// simulation tells whether a device is there in this process only.
func simulation(d verbs.Device) bool {
	_, is := d.(*sim.Device)
	return is
}

func (a *app) benchVerbs(ctx context.Context, f verbsBenchFlags) error {
	devices, err := f.devices()
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt) // so that nothing is left behind
	defer stop()
	r := a.benchReport(f.json, f.markdown)
	b := bench.Verbs{Program: self, Peer: f.peer != "", Runs: f.runs, Short: f.short, Watch: r.watch}
	for _, d := range devices {
		figures, err := b.Measure(ctx, d)
		r.bar.end()
		if cause := context.Cause(ctx); cause != nil {
			return cause // what failed does not matter
		}
		if err != nil {
			return fmt.Errorf("%s/%s: %w", d.Provider, d.Name(), err)
		}
		if err := r.figures(figures); err != nil {
			return err
		}
	}
	return r.write()
}
