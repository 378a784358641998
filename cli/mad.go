package cli

import "github.com/spf13/cobra"

func (a *app) madCommand() *cobra.Command {
	cmd := a.parent("mad", "Ask single management agents",
		"mad asks single management agents, one datagram at a time.")
	cmd.AddCommand(a.madGetCommand())
	return cmd
}
