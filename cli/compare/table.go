package compare

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// WriteTable writes rows for people, one line each below a line of headings.
// Times are in milliseconds.
func WriteTable(out io.Writer, rows []Row) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "engine\tmax EFI\tmean EFI\tbound\tlinks\theight\troots ms\tbuild ms\ttotal ms\tvalid\tcyclic\t")
	for _, r := range rows {
		if r.Error != "" {
			fmt.Fprintf(w, "%s\tfailed\t-\t%d\t-\t-\t-\t-\t-\tno\t-\t\n", r.Label(), r.LowerBound)
			continue
		}
		fmt.Fprintf(w, "%s\t%d\t%.3f\t%d\t%d\t%d\t%.1f\t%.1f\t%.1f\t%s\t%s\t\n", r.Label(),
			r.MaxEFI, r.AvgEFI, r.LowerBound, r.Links, r.MaxHeight, r.RootMs, r.BuildMs, r.TotalMs, yes(r.Valid), yes(r.Cyclic))
	}
	return w.Flush()
}

// Label is the engine's name, with the effort if there is one: weave/2.
func (r Row) Label() string { return label(r.Engine, r.Effort) }

func label(engine string, effort int) string {
	if effort == 0 {
		return engine
	}
	return fmt.Sprintf("%s/%d", engine, effort)
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
