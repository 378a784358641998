package cli

import "github.com/spf13/cobra"

func (a *app) convertCommand() *cobra.Command {
	var to target
	var input string
	cmd := &cobra.Command{
		Use: "convert FABRIC", Short: "Write a fabric in another format",
		Long: "Write a fabric in another format. What the fabric's faults leave of it is\n" +
			"written; the exit status is 1 where routing cannot live with them.\n\n" + fabricHelp,
		Args: argument("FABRIC"),
		RunE: func(_ *cobra.Command, args []string) error {
			if to.format == "" && to.path == "" {
				return usagef("--format or -o is needed, to tell which format to write")
			}
			if err := to.check(); err != nil {
				return err
			}
			s, err := a.open(args[0], input)
			if err != nil {
				return err
			}
			a.warn(s)
			if err := a.write(s.Fabric, to); err != nil {
				return err
			}
			return s.faultError()
		},
	}
	to.flags(cmd)
	inputFlag(cmd, &input)
	return cmd
}
