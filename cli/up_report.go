package cli

import (
	"bytes"
	"fmt"
	"html/template"
	"io"

	"heddle/cli/picture"
	"heddle/cli/text"
)

// text writes the report for people.
func (r *upReport) text(out io.Writer) error {
	s := r.Scenario
	_, err := fmt.Fprintf(out, `%s: %s switches, %s. The subnet manager brought it up in %.0f ms.
%s of %d members joined, each collected and routed once (%s): %.0f ms until all were ready.
At most %d trees share a link.

`, r.Fabric, text.Thousands(r.Switches), text.Count(r.Hosts, "host"), r.BringUp,
		text.Count(s.Groups, "group"), s.Members, r.Engine, r.Joined, r.MaxEFI[0])
	if err != nil {
		return err
	}
	for _, p := range r.Phases {
		if err := p.text(out, s.Message); err != nil {
			return err
		}
	}
	for _, c := range r.Cuts {
		if _, err := fmt.Fprintf(out, "The link %s died, with %.1f %% of what links between switches carried; the tables were right again after %.0f ms.\n",
			c.Link, 100*c.Share, c.ReroutedMs); err != nil {
			return err
		}
	}
	if len(r.Cuts) > 0 {
		if _, err := fmt.Fprintf(out, "After that at most %d trees share a link.\n", r.MaxEFI[1]); err != nil {
			return err
		}
	}
	p := r.Packets
	if _, err := fmt.Fprintf(out, "\nPackets on the fabric: %d sent, %d more made by switches, %d delivered, %d lost.\n\nThe same groups, trees of each engine:\n",
		p.Sent, p.Copied, p.Delivered, p.Lost); err != nil {
		return err
	}
	for _, e := range r.Engines {
		if _, err := fmt.Fprintf(out, "  %-12s %4d trees on a link at most, %7.2f on average, %8.2f ms\n", e.Name, e.MaxEFI, e.AvgEFI, e.Ms); err != nil {
			return err
		}
	}
	return nil
}

func (p *upPhase) text(out io.Writer, message int) error {
	_, err := fmt.Fprintf(out, `%s: %s of %s, received by %s of %s members in %.2f s (%.2f GB/s at the members)
  latency until the last member: median %.2f ms, 99th percentile %.2f ms
  %s datagrams; fetched by READ: %s chunks of a neighbour, %s of the root
`, p.Name, text.Count(p.Broadcasts, "broadcast"), bytesText(message), text.Thousands(p.Received), text.Thousands(p.Expected), p.Seconds, p.GBs,
		p.MedianMs, p.P99Ms, text.Thousands(int(p.Datagrams)), text.Thousands(int(p.FromNeighbour)), text.Thousands(int(p.FromRoot)))
	return err
}

func bytesText(n int) string {
	switch {
	case n >= 1<<20 && n%(1<<20) == 0:
		return fmt.Sprintf("%d MiB", n>>20)
	case n >= 1<<10 && n%(1<<10) == 0:
		return fmt.Sprintf("%d KiB", n>>10)
	default:
		return text.Count(n, "byte")
	}
}

// page is the report as a page. What is in it is escaped, but for the picture, which
// is the project's own.
const page = `<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>heddle up {{.Report.Fabric}}</title>
<style>
body { font: 16px/1.5 sans-serif; max-width: 72em; margin: 2em auto; padding: 0 1em; color: #222 }
table { border-collapse: collapse; margin: 1em 0 }
th, td { padding: .2em .8em; border-bottom: 1px solid #ccc; text-align: right }
th:first-child, td:first-child { text-align: left }
pre { background: #f4f4f4; padding: 1em; overflow: auto }
svg { max-width: 100%; height: auto }
</style></head><body>
<h1>heddle up {{.Report.Fabric}}</h1>
<pre>{{.Text}}</pre>
<h2>Broadcasts</h2>
<table><tr><th>phase</th><th>broadcasts</th><th>received</th><th>expected</th><th>median, ms</th><th>99 %, ms</th><th>of a neighbour</th><th>of the root</th></tr>
{{range .Report.Phases}}<tr><td>{{.Name}}</td><td>{{.Broadcasts}}</td><td>{{.Received}}</td><td>{{.Expected}}</td><td>{{printf "%.2f" .MedianMs}}</td><td>{{printf "%.2f" .P99Ms}}</td><td>{{.FromNeighbour}}</td><td>{{.FromRoot}}</td></tr>
{{end}}</table>
<h2>Trees</h2>
<table><tr><th>engine</th><th>maximum EFI</th><th>mean EFI</th><th>ms</th></tr>
{{range .Report.Engines}}<tr><td>{{.Name}}</td><td>{{.MaxEFI}}</td><td>{{printf "%.2f" .AvgEFI}}</td><td>{{printf "%.2f" .Ms}}</td></tr>
{{end}}</table>
{{.Picture}}
</body></html>
`

// html writes the report as a page, with the load that each engine's trees put on
// links.
func (r *upReport) html(out io.Writer) error {
	var words, drawing bytes.Buffer
	if err := r.text(&words); err != nil {
		return err
	}
	p := picture.Picture{Title: r.Fabric, Graph: r.problem.Graph, Shape: shapeOf(r.Fabric)}
	for _, one := range r.results {
		p.Series = append(p.Series, seriesOf(one))
	}
	if err := p.SVG(&drawing); err != nil {
		return err
	}
	svg := drawing.Bytes()
	if at := bytes.Index(svg, []byte("<svg")); at > 0 {
		svg = svg[at:] // what stands before has no place in a page
	}
	t, err := template.New("page").Parse(page)
	if err != nil {
		return err
	}
	return t.Execute(out, struct {
		Report  *upReport
		Text    string
		Picture template.HTML
	}{r, words.String(), template.HTML(svg)}) //nolint:gosec // it is drawn here
}
