package cli

import (
	"fmt"
	"io"
	"path/filepath"

	"heddle/cli/compare"
	"heddle/cli/text"

	"github.com/spf13/cobra"
)

// What the demo routes.
const (
	demoFabric  = "fat-tree:k=20"
	demoPattern = "grid:20x10x10,order=oblivious"
)

func (a *app) demoCommand() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use: "demo", Short: "Route a program's groups on a generated fat tree with all engines",
		Long: "Generate a fat tree of 2,000 hosts, route the groups of a process grid on it with\n" +
			"all engines, compare them, and draw the load that they put on links.",
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return a.demo(dir) },
	}
	cmd.Flags().StringVarP(&dir, "output", "o", "out", "directory for the pictures demo.svg and demo.png")
	return cmd
}

func (a *app) demo(dir string) error {
	flags := routeFlags{
		pattern: demoPattern, engines: []string{"all"},
		svg: filepath.Join(dir, "demo.svg"), png: filepath.Join(dir, "demo.png"),
	}
	runs, err := compare.Runs(flags.engines, []int{1, 2, 3})
	if err != nil {
		return err
	}
	s, err := generate(demoFabric)
	if err != nil {
		return err
	}
	p, err := a.problem(s, flags)
	if err != nil {
		return err
	}
	if err := a.output("", func(w io.Writer) error { return demoIntro(w, s, p) }); err != nil {
		return err
	}
	c := comparison{a: a, source: s, flags: flags, problem: p}
	for _, run := range runs {
		if err := c.run(run); err != nil {
			return err
		}
	}
	if err := c.finish(); err != nil {
		return err
	}
	if err := a.output("", func(w io.Writer) error { return demoEnd(w, c) }); err != nil {
		return err
	}
	return verdict(c.rows)
}

func demoIntro(w io.Writer, s source, p *compare.Problem) error {
	_, err := fmt.Fprintf(w, `A fat tree of %s switches and %s hosts (%s). A program of one process
a host, placed at random, works on a grid of 20 x 10 x 10 processes; each row of each
dimension is a multicast group: %s groups. Each engine gives each group a tree
over the switches. The fewer trees share a link (its EFI), the less groups that send
at the same time get in each other's way.

`, text.Thousands(len(s.Switches())), text.Thousands(len(s.Adapters())), s.name, text.Thousands(p.Demand.NumGroups()))
	return err
}

// demoEnd says what the rows show.
func demoEnd(w io.Writer, c comparison) error {
	first, fulb, best := c.rows[0], c.rows[0], c.rows[0]
	for _, r := range c.rows {
		if r.Engine == "fulb" {
			fulb = r
		}
		if r.MaxEFI < best.MaxEFI {
			best = r
		}
	}
	_, err := fmt.Fprintf(w, `
What is seen:
- %s, the default of today's subnet manager, leads all groups through few links:
  %s of %s carry any tree at all, and one of them carries %d.
- %s chooses roots and links by their load: at most %d trees on a link, in %.1f ms.
- %s comes to %d, in %.1f ms. No trees whatever can come below %d.
- Every tree reaches all members of its group, and is as low as it can be: %d hops from
  its root to the farthest host.

The same in colour: %s and %s
Your own cluster:   heddle route CLUSTER.ibnetdiscover --pattern grid:20x10x10
`, first.Label(), text.Thousands(first.Links), text.Count(c.problem.Graph.NumEdges(), "link"), first.MaxEFI,
		fulb.Label(), fulb.MaxEFI, fulb.TotalMs,
		best.Label(), best.MaxEFI, best.TotalMs, best.LowerBound, best.MaxHeight, c.flags.svg, c.flags.png)
	return err
}
