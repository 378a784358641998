package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"heddle/fabric"
	"heddle/fabric/format"
	"heddle/fabric/topology"

	"github.com/spf13/cobra"
)

func (a *app) generateCommand() *cobra.Command {
	var to target
	cmd := &cobra.Command{
		Use: "generate SPEC", Short: "Generate a fabric from a short text",
		Long: "Generate a fabric from a short text and write it, as ibnetdiscover's output\n" +
			"unless another format is named or shows from the file's name.\n\n" + topologyHelp(),
		Args: argument("SPEC"),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := to.check(); err != nil {
				return err
			}
			s, err := generate(args[0])
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
	return cmd
}

func topologyHelp() string {
	var b strings.Builder
	for _, name := range topology.Names() {
		head, rest, _ := strings.Cut(topology.Usage(name), "\n")
		fmt.Fprintf(&b, "%s\n  %s\n", head, strings.ReplaceAll(rest, "\n", "\n  "))
	}
	b.WriteString("all of them\n  ,rate=4xNDR  width and speed of the links\n" +
		"  ,mcap=N      the number of MLIDs that each switch can forward\n" +
		"  ,lost=0.1    leave out this share of the cables between switches, chosen by\n" +
		"               seed=N (1)")
	return b.String()
}

// target says where a fabric is written to, and in which format.
type target struct {
	format, path string
}

func (t *target) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&t.format, "format", "", "one of "+strings.Join(format.Names(), ", "))
	cmd.Flags().StringVarP(&t.path, "output", "o", "", "file to write (standard output)")
}

// check finds the format where none is named.
func (t *target) check() error {
	if t.format == "" {
		t.format = format.ForPath(t.path)
	}
	if t.format == "" {
		t.format = "ibnetdiscover"
	}
	if !slices.Contains(format.Names(), t.format) {
		return usagef("no format %q; there are %s", t.format, strings.Join(format.Names(), ", "))
	}
	return nil
}

func (a *app) write(f *fabric.Fabric, to target) error {
	return a.output(to.path, func(w io.Writer) error { return format.Write(w, f, to.format) })
}
