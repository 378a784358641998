package cli

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

// The exit statuses.
const (
	statusOK    = 0
	statusFault = 1
	statusUsage = 2
)

// app is what all subcommands share.
type app struct {
	in       io.Reader
	out, err io.Writer
	started  bool // the command line was understood
}

// Main runs heddle with a command line, without the program's name, and returns
// the exit status.
func Main(args []string, in io.Reader, out, err io.Writer) int {
	a := &app{in: in, out: out, err: err}
	root := a.root()
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(err)
	return a.status(root.Execute())
}

func (a *app) root() *cobra.Command {
	root := a.parent("heddle", "InfiniBand fabrics and multicast routing",
		"heddle reads or generates InfiniBand fabrics, lays the multicast trees of\n"+
			"thousands of groups, and shows how evenly each engine loads the links.\n\n"+fabricHelp)
	root.SilenceErrors = true
	root.SilenceUsage = true
	root.CompletionOptions.HiddenDefaultCmd = true
	root.PersistentPreRun = func(*cobra.Command, []string) { a.started = true }
	root.AddCommand(a.fabricCommand(), a.routeCommand(), a.benchCommand(), a.demoCommand(), a.upCommand(),
		a.emuCommand(), a.smCommand(), a.groupCommand(), a.discoverCommand(), a.madCommand(), a.verbsCommand(), a.channelCommand(), a.versionCommand())
	return root
}

// parent is a command that is nothing without one of its subcommands.
func (a *app) parent(use, short, long string) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Long: long,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("%s: no command %q; see %s --help", cmd.CommandPath(), args[0], cmd.CommandPath())
			}
			return usagef("%s: a command is needed; see %s --help", cmd.CommandPath(), cmd.CommandPath())
		},
	}
}

// argument is the Args of a command that takes one argument.
func argument(name string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 {
			return usagef("%s: want one %s, not %d; see %s --help", cmd.CommandPath(), name, len(args), cmd.CommandPath())
		}
		return nil
	}
}

// usageError is of a command line that cannot be understood.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error {
	return &usageError{fmt.Errorf(format, args...)}
}

// status tells of an error, in one line, and returns the exit status.
func (a *app) status(err error) int {
	if err == nil {
		return statusOK
	}
	fmt.Fprintf(a.err, "heddle: %v\n", err)
	var usage *usageError
	if !a.started || errors.As(err, &usage) {
		return statusUsage
	}
	return statusFault
}
