package cli

import (
	"cmp"
	"context"
	"io"

	"heddle/cli/bench"
)

// benchReport is what a benchmark tells: what runs, on a terminal; lines of
// JSON as it goes; tables at the end.
type benchReport struct {
	*app
	json     bool
	markdown string // file for the tables
	bar      *progress
	grids    []bench.Grid
}

func (a *app) benchReport(json bool, markdown string) benchReport {
	return benchReport{app: a, json: json, markdown: markdown, bar: a.progress()}
}

// watch shows on a terminal what runs.
func (r *benchReport) watch(what string) {
	r.bar.end()
	r.bar.start(what, -1)
	r.bar.step(1)
}

// line writes a value, where JSON is wanted.
func (r *benchReport) line(v any) error {
	if !r.json {
		return nil
	}
	return writeJSON(r.out, v)
}

// write writes the tables.
func (r *benchReport) write() error {
	if r.markdown != "" {
		if err := writeFile(r.markdown, r.each(bench.Grid.Markdown)); err != nil {
			return err
		}
	}
	if r.json {
		return nil
	}
	return buffered(r.out, r.each(bench.Grid.Text))
}

func (r *benchReport) each(write func(bench.Grid, io.Writer) error) func(io.Writer) error {
	return func(w io.Writer) error {
		for _, g := range r.grids {
			if err := write(g, w); err != nil {
				return err
			}
		}
		return nil
	}
}

// benchPart is a part of a benchmark, on a fabric that its flag may replace.
type benchPart struct {
	wanted bool
	run    func(ctx context.Context, spec string) ([]bench.Figure, error)
	fabric string
}

// parts runs what is wanted, and reports it.
func (r *benchReport) parts(ctx context.Context, spec string, parts []benchPart) error {
	for _, part := range parts {
		if !part.wanted {
			continue
		}
		figures, err := part.run(ctx, cmp.Or(spec, part.fabric))
		r.bar.end()
		if cause := context.Cause(ctx); cause != nil {
			return cause // what failed does not matter
		}
		if err != nil {
			return err
		}
		if err := r.figures(figures); err != nil {
			return err
		}
	}
	return r.write()
}

// figures takes over what was measured.
func (r *benchReport) figures(list []bench.Figure) error {
	for _, f := range list {
		if err := r.line(f); err != nil {
			return err
		}
	}
	r.grids = append(r.grids, bench.FigureGrids(list)...)
	return nil
}
