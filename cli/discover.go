package cli

import (
	"context"
	"fmt"
	"os"
	"os/signal"

	"heddle/cli/text"
	"heddle/fabric"
	"heddle/mad"
	"heddle/sm/subnet"

	"github.com/spf13/cobra"
)

func (a *app) discoverCommand() *cobra.Command {
	var to target
	var from portFlags
	var o subnet.Options
	cmd := &cobra.Command{
		Use: "discover", Short: "Ask a subnet for its nodes and links",
		Long: "Ask a subnet for its nodes and links, along directed routes from one of its\n" +
			"ports, as ibnetdiscover does, and write them in any format. No subnet manager is\n" +
			"needed. What does not answer is told with the path to it; the rest is written,\n" +
			"and the exit status is 1.\n\n" + portHelp,
		Args: cobra.NoArgs,
		RunE: func(_ *cobra.Command, _ []string) error {
			if err := to.check(); err != nil {
				return err
			}
			r, err := a.discover(from, o)
			if err != nil {
				return err
			}
			missing := a.warnMissing(r.Faults)
			if err := a.write(r.Fabric, to); err != nil {
				return err
			}
			if missing {
				return fmt.Errorf("%s: not all of the subnet answered", from.spec)
			}
			return nil
		},
	}
	from.flags(cmd)
	to.flags(cmd)
	cmd.Flags().IntVar(&o.Window, "window", 64, "requests that wait for an answer at once")
	cmd.Flags().IntVar(&o.PerNode, "per-node", 2, "of them, those to one node")
	mKeyFlag(cmd, &o.MKey)
	return cmd
}

func mKeyFlag(cmd *cobra.Command, key *mad.MKey) {
	cmd.Flags().Uint64Var((*uint64)(key), "m-key", 0, "management key to show to the ports")
}

func (a *app) discover(from portFlags, o subnet.Options) (*subnet.View, error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	port, err := from.open()
	if err != nil {
		return nil, err
	}
	defer port.Close() //nolint:errcheck // all is answered
	bar := a.progress()
	bar.start("nodes", -1)
	defer bar.end()
	o.Call = from.call()
	o.Progress = func(int) { bar.step(1) }
	r, err := subnet.Sweep(ctx, port, o)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", from.spec, err)
	}
	return r, nil
}

// warnMissing tells of what did not answer, if anything, on standard error.
func (a *app) warnMissing(faults []fabric.Fault) bool {
	missing := 0
	for _, fault := range faults {
		if fault.Kind != fabric.FaultUnreachable && fault.Kind != fabric.FaultLimit {
			continue
		}
		if missing++; missing <= faultLines {
			fmt.Fprintln(a.err, fault)
		}
	}
	if missing > faultLines {
		fmt.Fprintln(a.err, text.Count(missing-faultLines, "more error"))
	}
	return missing > 0
}
