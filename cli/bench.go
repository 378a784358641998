package cli

import "github.com/spf13/cobra"

func (a *app) benchCommand() *cobra.Command {
	cmd := a.parent("bench", "Measure heddle against others", "")
	cmd.AddCommand(a.benchRoutingCommand(), a.benchEmuCommand(), a.benchSMCommand(), a.benchVerbsCommand(), a.benchChannelCommand(),
		a.benchMulticastCommand(), a.benchBroadcastCommand(), a.benchWireCommand())
	return cmd
}
