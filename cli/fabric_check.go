package cli

import (
	"fmt"
	"io"
	"text/tabwriter"

	"heddle/cli/text"
	"heddle/fabric"

	"github.com/spf13/cobra"
)

func (a *app) checkCommand() *cobra.Command {
	var asJSON bool
	var input string
	cmd := &cobra.Command{
		Use: "check FABRIC", Short: "Count what is in a fabric and list its faults",
		Long: "Count what is in a fabric and list its faults. The exit status is 1 where there\n" +
			"are faults that routing cannot live with.\n\n" + fabricHelp,
		Args: argument("FABRIC"),
		RunE: func(_ *cobra.Command, args []string) error {
			s, err := a.open(args[0], input)
			if err != nil {
				return err
			}
			summary := s.Summary(s.faults)
			if asJSON {
				err = writeJSON(a.out, summary)
			} else {
				err = writeSummary(a.out, s.name, summary)
			}
			if err != nil {
				return err
			}
			return s.faultError()
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write one JSON object")
	inputFlag(cmd, &input)
	return cmd
}

func writeSummary(out io.Writer, name string, s fabric.Summary) error {
	for _, fault := range s.Faults {
		if _, err := fmt.Fprintln(out, fault); err != nil {
			return err
		}
	}
	errors := len(fabric.Errors(s.Faults))
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "switches\tadapters\trouters\tlink ends\tcomponents\terrors\twarnings\t")
	for _, n := range []int{s.Switches, s.Adapters, s.Routers, s.LinkEnds, s.Components, errors, len(s.Faults) - errors} {
		fmt.Fprintf(w, "%s\t", text.Thousands(n))
	}
	fmt.Fprintf(w, "  %s\n", name)
	return w.Flush()
}
