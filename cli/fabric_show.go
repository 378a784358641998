package cli

import "github.com/spf13/cobra"

func (a *app) showCommand() *cobra.Command {
	return &cobra.Command{Use: "show FABRIC"}
}
