package cli

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"strings"

	"heddle/cli/compare"
	"heddle/fabric"
	"heddle/ib"
	"heddle/route"
	"heddle/route/format"
	"heddle/route/unicast"
)

// unicastEngine is the one that --lft takes where none is named.
const unicastEngine = "minhop"

// checkTables finds what is wrong with the flags about tables.
func (f *routeFlags) checkTables() error {
	if f.unicast == "" && f.lft != "" {
		f.unicast = unicastEngine
	}
	if f.unicast == "" {
		return nil
	}
	if _, err := unicast.Lookup(f.unicast); err != nil {
		return &usageError{err}
	}
	return nil
}

func unicastHelp() string {
	var names []string
	for _, e := range unicast.Engines() {
		names = append(names, e.Name)
	}
	return "unicast engine for --lft, and to look for cycles together with: " + strings.Join(names, " or ")
}

// routeUnicast fills the unicast tables and writes them, if that is wanted.
func (c *comparison) routeUnicast() error {
	if c.flags.unicast == "" {
		return nil
	}
	tables, err := unicastTables(c.source.Fabric, c.flags.unicast)
	if err != nil {
		return fmt.Errorf("%s: %w", c.flags.unicast, err)
	}
	paths := route.NewDependencies(tables.Graph)
	paths.AddPaths(tables)
	c.tables, c.paths = tables, paths.Cycle()
	c.note(c.flags.unicast, c.paths)
	if c.flags.lft == "" {
		return nil
	}
	path := filepath.Join(c.flags.lft, c.flags.unicast+".lfts")
	return writeFile(path, func(w io.Writer) error { return format.WriteLFTs(w, tables) })
}

func unicastTables(f *fabric.Fabric, name string) (*route.LFTs, error) {
	engine, err := unicast.Lookup(name)
	if err != nil {
		return nil, err
	}
	lids, err := route.LIDsOf(f)
	if err != nil {
		return nil, err
	}
	workers := runtime.GOMAXPROCS(0)
	g := route.NewGraph(f, route.Selection{})
	h, err := route.NewHops(g, workers)
	if err != nil {
		return nil, err
	}
	return engine.Route(g, h, lids, unicast.Options{Workers: workers})
}

// together finds a cycle of the channel dependencies of unicast and of the trees.
func (c *comparison) together(s *route.State) route.Cycle {
	both := route.NewDependencies(c.tables.Graph)
	both.AddPaths(c.tables)
	both.AddTrees(s)
	return both.Cycle()
}

// checkNames refuses, before anything is routed, the --mft of a subnet that has
// more groups than MLIDs, or more ports than LIDs: it could not be programmed.
func (c *comparison) checkNames() error {
	if c.flags.mft == "" {
		return nil
	}
	if n := c.problem.Demand.NumGroups(); n > ib.NumMLIDs {
		return fmt.Errorf("--mft: %w", &route.TooManyGroupsError{Groups: n})
	}
	if _, err := route.AssignLIDs(c.problem.Graph.Fabric(), 0); err != nil {
		return fmt.Errorf("--mft: %w", err)
	}
	return nil
}

// writeMFTs writes the multicast tables of one engine.
func (c *comparison) writeMFTs(r compare.Result) error {
	if c.flags.mft == "" || r.Error != "" {
		return nil
	}
	d := c.problem.Demand
	mlids, err := route.AssignMLIDs(r.State, d)
	if err != nil {
		return fmt.Errorf("--mft: %s: %w", r.Label(), err)
	}
	tables, err := route.NewMFTs(r.State, d, mlids)
	if err != nil {
		return fmt.Errorf("--mft: %s: %w", r.Label(), err)
	}
	base := filepath.Join(c.flags.mft, r.Engine)
	return errors.Join(
		writeFile(base+".mfts", func(w io.Writer) error { return format.WriteMFTs(w, tables) }),
		writeFile(base+".members", func(w io.Writer) error { return format.WriteMembers(w, c.problem.Graph, d, mlids) }))
}
