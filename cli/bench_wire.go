package cli

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"os/signal"

	"heddle/cli/bench"

	"github.com/spf13/cobra"
)

// wireBenchFlags are the flags of heddle bench wire.
type wireBenchFlags struct {
	peer, address string
	runs          int
	short, json   bool
	markdown      string
}

func (a *app) benchWireCommand() *cobra.Command {
	var f wireBenchFlags
	cmd := &cobra.Command{
		Use: "wire", Short: "Measure RoCEv2 in user space beside TCP",
		Long: "Send messages between two processes of this host by RoCEv2 over UDP (provider soft), and\n" +
			"beside them, where that is the peer, by TCP over the loopback: throughput of WRITEs and\n" +
			"SENDs, one-way latency, packets that had to be sent again, allocations. Runs are\n" +
			"interleaved, figures are medians. The bar is what a ratio to TCP is held against: at\n" +
			"most that of times, at least that of throughput.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.benchWire(cmd.Context(), f) },
	}
	set := cmd.Flags()
	set.SortFlags = false
	set.StringVar(&f.peer, "peer", "", "measure this beside: tcp")
	set.StringVar(&f.address, "address", "127.0.0.1", "address of this host that both processes use")
	set.IntVar(&f.runs, "runs", 5, "runs of which medians are taken")
	set.BoolVar(&f.short, "short", false, "a hundredth of the messages")
	set.BoolVar(&f.json, "json", false, "write one JSON object a line")
	set.StringVar(&f.markdown, "markdown", "", "file to write the tables to as Markdown")
	return cmd
}

// device finds what is to be measured.
func (f *wireBenchFlags) device() (d bench.VerbsDevice, err error) {
	if f.runs < 1 {
		return d, usagef("--runs must be at least 1, not %d", f.runs)
	}
	if f.peer != "" && f.peer != "tcp" {
		return d, usagef("no peer %q; there is tcp", f.peer)
	}
	if _, err := netip.ParseAddr(f.address); err != nil {
		return d, usagef("--address: %v", err)
	}
	flags := deviceFlags{provider: "soft", device: f.address}
	d.Provider = flags.provider
	d.Device, err = flags.find()
	return d, err
}

func (a *app) benchWire(ctx context.Context, f wireBenchFlags) error {
	d, err := f.device()
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
	b := bench.Wire{Program: self, Peer: f.peer != "", Runs: f.runs, Short: f.short, Watch: r.watch}
	figures, err := b.Measure(ctx, d)
	r.bar.end()
	if cause := context.Cause(ctx); cause != nil {
		return cause // what failed does not matter
	}
	if err != nil {
		return fmt.Errorf("%s/%s: %w", d.Provider, d.Name(), err)
	}
	for _, figure := range figures {
		if err := r.line(figure); err != nil {
			return err
		}
	}
	r.grids = bench.WireGrids(figures)
	return r.write()
}
