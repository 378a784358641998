package cli

import "github.com/spf13/cobra"

func (a *app) channelCommand() *cobra.Command {
	cmd := a.parent("channel", "Channels of messages over RDMA: which there are, and which one fits",
		"heddle channel lists the kinds of channels that programs send messages by, with what\n"+
			"is measured of each, and finds the one that fits what a program needs and what its\n"+
			"network can do.")
	cmd.AddCommand(a.channelListCommand(), a.channelAdviseCommand())
	return cmd
}
