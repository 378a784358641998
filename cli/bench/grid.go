package bench

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// Grid is a table of texts with a title above and a note below it.
type Grid struct {
	Title string
	Head  []string
	Rows  [][]string
	Note  string
}

// Text writes the grid for a terminal.
func (g Grid) Text(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "%s\n", g.Title)
	for _, row := range append([][]string{g.Head}, g.Rows...) {
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	if g.Note != "" {
		fmt.Fprintf(w, "%s\n", g.Note)
	}
	fmt.Fprintln(w)
	return w.Flush()
}

// Markdown writes the grid as Markdown.
func (g Grid) Markdown(out io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "## %s\n\n", g.Title)
	line := func(cells []string) { fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | ")) }
	line(g.Head)
	rule := make([]string, len(g.Head))
	for i := range rule {
		rule[i] = "---"
	}
	line(rule)
	for _, row := range g.Rows {
		line(row)
	}
	if g.Note != "" {
		fmt.Fprintf(&b, "\n%s\n", g.Note)
	}
	b.WriteString("\n")
	_, err := io.WriteString(out, b.String())
	return err
}
