package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"time"

	"heddle/mad"

	"github.com/spf13/cobra"
)

// orderFlags say which heddle sm is commanded.
type orderFlags struct {
	port, socket string
	wait         time.Duration
}

const ctlUsage = "`PATH` of the control socket, instead of one that is made of the port"

func (f *orderFlags) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.port, "port", "umad:", "port that heddle sm was started with")
	cmd.Flags().StringVar(&f.socket, "ctl", "", ctlUsage)
	cmd.Flags().DurationVar(&f.wait, "wait", 0, "wait so long for a heddle sm that is starting, until its first sweep has ended")
}

func (f *orderFlags) path() string { return cmp.Or(f.socket, smProgram().Path(f.port)) }

// smOrderCommands are the subcommands that command a heddle sm that runs.
func (a *app) smOrderCommands() []*cobra.Command {
	var asJSON bool
	status := a.smOrderCommand("status", "Tell how a running heddle sm and its subnet are", func([]string) []string {
		if asJSON {
			return []string{"status", "json"}
		}
		return []string{"status"}
	})
	status.Flags().BoolVar(&asJSON, "json", false, "write one JSON object")
	plain := func(name string) func([]string) []string {
		return func(args []string) []string { return append([]string{name}, args...) }
	}
	groups := a.smOrderCommand("groups", "List its multicast groups, or one with its members", plain("groups"))
	groups.Use, groups.Args = "groups [MGID]", cobra.MaximumNArgs(1)
	return []*cobra.Command{
		status,
		a.smOrderCommand("resweep", "Have it look at the whole subnet again", plain("resweep")),
		a.smOrderCommand("reroute", "Have it lay the trees of all groups anew", plain("reroute")),
		groups,
		a.smOrderCommand("dump", "Have it write OpenSM's dump files into its --dump-dir", plain("dump")),
	}
}

func (a *app) smOrderCommand(name, short string, words func(args []string) []string) *cobra.Command {
	var f orderFlags
	cmd := &cobra.Command{
		Use: name, Short: short,
		Long: short + ", through its control socket. Which one that is,\n" +
			"--port tells, with the same text that heddle sm was started with, or --ctl.",
		Args: cobra.NoArgs,
		RunE: func(_ *cobra.Command, args []string) error {
			if f.wait > 0 {
				if err := awaitManager(f.path(), f.wait); err != nil {
					return err
				}
			}
			return a.ctl(smProgram(), f.path(), 0, words(args))
		},
	}
	f.flags(cmd)
	return cmd
}

// awaitManager waits until a heddle sm has brought its subnet up, or another
// manager has.
func awaitManager(path string, wait time.Duration) error {
	const again = 20 * time.Millisecond
	for end := time.Now().Add(wait); ; time.Sleep(again) {
		answer, err := askProgram(smProgram(), path, time.Until(end), []string{"status", "json"})
		if err != nil {
			return err
		}
		var status struct {
			State                string
			Sweeps, SweepsFailed uint64
		}
		if err := json.Unmarshal([]byte(answer), &status); err != nil {
			return fmt.Errorf("status of heddle sm: %w", err)
		}
		switch {
		case status.State == mad.SMStandby.String(), status.Sweeps > status.SweepsFailed:
			return nil
		case !time.Now().Before(end):
			return fmt.Errorf("heddle sm is %s, and no sweep has ended well after %v", status.State, wait)
		}
	}
}
