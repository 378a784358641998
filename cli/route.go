package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"heddle/cli/compare"
	"heddle/fabric/pattern"
	"heddle/route/multicast"

	"github.com/spf13/cobra"
)

// routeFlags are the flags of heddle route.
type routeFlags struct {
	input, pattern, groups string
	engines                []string
	effort                 int
	valleyFree             bool
	order                  string
	json, verbose          bool
	svg, png               string
	mft, lft, unicast      string
}

func (a *app) routeCommand() *cobra.Command {
	var flags routeFlags
	cmd := &cobra.Command{
		Use: "route FABRIC --pattern PATTERN | --groups FILE", Short: "Route groups with one or more engines and compare them",
		Long: "Lay the multicast trees of all groups with one engine after another, and tell for\n" +
			"each how many trees share a link (EFI), how high the trees are, and how long it\n" +
			"took. The exit status is 1 where a member cannot be reached, an engine failed, or\n" +
			"its trees are wrong.\n\n" + fabricHelp + "\n\nPatterns:\n" + patternHelp() + "\n\nEngines:\n" + engineHelp(),
		Args: argument("FABRIC"),
		RunE: func(_ *cobra.Command, args []string) error {
			if args[0] == "-" && flags.groups == "-" {
				return usagef("the fabric and the groups cannot both be standard input")
			}
			return a.route(args[0], flags)
		},
	}
	flags.add(cmd)
	return cmd
}

func (f *routeFlags) add(cmd *cobra.Command) {
	set := cmd.Flags()
	set.SortFlags = false
	set.StringVarP(&f.pattern, "pattern", "p", "", "communication pattern, such as grid:81x27x12")
	set.StringVarP(&f.groups, "groups", "g", "", "file of groups, one a line (- for standard input)")
	set.StringSliceVarP(&f.engines, "engine", "e", []string{"all"}, "engines to compare; all leaves out sssp-new-heap")
	set.IntVar(&f.effort, "effort", 1, "effort of weave, 1 to 3")
	set.BoolVar(&f.valleyFree, "valley-free", false, "lay only trees that first lead up and then down, which cannot deadlock")
	set.StringVar(&f.order, "order", "auto", "what is up: auto, or ranks for fabrics that are layered as trees only")
	set.BoolVar(&f.json, "json", false, "write one JSON object a line for each engine")
	set.BoolVarP(&f.verbose, "verbose", "v", false, "name an example of each cycle")
	set.StringVar(&f.svg, "svg", "", "file for a picture of the load")
	set.StringVar(&f.png, "png", "", "the same as PNG")
	set.StringVar(&f.mft, "mft", "", "directory for multicast tables, ENGINE.mfts and ENGINE.members")
	set.StringVar(&f.lft, "lft", "", "directory for unicast tables, ENGINE.lfts")
	set.StringVar(&f.unicast, "unicast", "", unicastHelp())
	inputFlag(cmd, &f.input)
}

func patternHelp() string {
	var b strings.Builder
	for _, name := range pattern.Names() {
		fmt.Fprintf(&b, "  %s\n", strings.ReplaceAll(pattern.Usage(name), "\n", "\n    "))
	}
	return strings.TrimRight(b.String(), "\n")
}

func engineHelp() string {
	var b strings.Builder
	for _, e := range multicast.Engines() {
		fmt.Fprintf(&b, "  %-14s %s\n", e.Name, e.Doc)
	}
	return strings.TrimRight(b.String(), "\n")
}

// check finds what is wrong with the flags, and the runs that they ask for.
func (f *routeFlags) check() ([]compare.Run, error) {
	if (f.pattern == "") == (f.groups == "") {
		return nil, usagef("either --pattern or --groups is needed")
	}
	if f.pattern != "" {
		if _, err := pattern.Parse(f.pattern); err != nil {
			return nil, &usageError{err}
		}
	}
	if !slices.Contains([]string{"auto", "ranks"}, f.order) {
		return nil, usagef("no order %q; there are auto, ranks", f.order)
	}
	if f.order != "auto" && !f.valleyFree {
		return nil, usagef("--order is of --valley-free trees only")
	}
	if err := f.checkTables(); err != nil {
		return nil, err
	}
	runs, err := compare.Runs(f.engines, []int{f.effort})
	if err != nil {
		return nil, &usageError{err}
	}
	return runs, nil
}

func (a *app) route(arg string, f routeFlags) error {
	runs, err := f.check()
	if err != nil {
		return err
	}
	s, err := a.open(arg, f.input)
	if err != nil {
		return err
	}
	a.warn(s)
	p, err := a.problem(s, f)
	if err != nil {
		return err
	}
	c := comparison{a: a, source: s, flags: f, problem: p}
	if err := errors.Join(c.checkNames(), c.routeUnicast()); err != nil {
		return err
	}
	for _, run := range runs {
		if err := c.run(run); err != nil {
			return err
		}
	}
	if err := c.finish(); err != nil {
		return err
	}
	return verdict(c.rows)
}
