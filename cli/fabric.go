package cli

import "github.com/spf13/cobra"

func (a *app) fabricCommand() *cobra.Command {
	cmd := a.parent("fabric", "Check, generate, convert and show fabrics", fabricHelp)
	cmd.AddCommand(a.checkCommand(), a.generateCommand(), a.convertCommand(), a.showCommand())
	return cmd
}
