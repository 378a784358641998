// Package cli is the command line of heddle, one file for each subcommand.
//
// The work is done by packages below it, which return values: cli/compare routes
// one set of groups with many engines, cli/bench runs the tables of
// docs/benchmarks, cli/picture draws. A subcommand reads its flags, calls them,
// and renders what comes back as a table, as JSON or as Markdown.
//
// Results go to standard output, all else to standard error. [Main] returns the
// exit status: 0, 1 where a fabric or its routes are at fault or a command
// failed, 2 for a command line that cannot be understood.
package cli
