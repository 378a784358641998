package picture

import (
	"fmt"
	"image/color"

	"heddle/cli/text"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// bins are ranges of load, each from its element up to the next.
type bins []int

// newBins makes a bin for each load up to a small number, or else one for each
// power of two.
func newBins(top int) bins {
	const single = 20
	b := bins{0}
	for at := 1; at <= top; {
		b = append(b, at)
		if top <= single {
			at++
		} else {
			at *= 2
		}
	}
	return append(b, max(b[len(b)-1]+1, top+1))
}

// from leaves out the bins below the first that holds a load of at least least.
func (b bins) from(least int) bins {
	for len(b) > 2 && b[1] <= least {
		b = b[1:]
	}
	return b
}

// count sums a histogram by bins.
func (b bins) count(histogram []int) []int {
	counts := make([]int, len(b)-1)
	for i := range counts {
		for load := b[i]; load < b[i+1] && load < len(histogram); load++ {
			counts[i] += histogram[load]
		}
	}
	return counts
}

func (b bins) names() []string {
	names := make([]string, len(b)-1)
	for i := range names {
		names[i] = fmt.Sprint(b[i])
		if last := b[i+1] - 1; last > b[i] {
			names[i] = fmt.Sprintf("%d-%d", b[i], last)
		}
	}
	return names
}

// histogram draws how many links have how much load, a group of bars for each
// bin with a bar for each engine.
func (p Picture) histogram(c draw.Canvas) {
	_, worst := p.efi()
	b := newBins(worst).from(p.minEFI())
	chart := plot.New()
	chart.X.Label.Text, chart.Y.Label.Text = "trees on a link (EFI)", "links"
	chart.NominalX(b.names()...)
	most := 1
	colours := seriesColours()
	chart.Legend = plot.NewLegend()
	chart.Legend.Top = true
	chart.Legend.Padding, chart.Legend.ThumbnailWidth = 3, 14
	for i, s := range p.Series {
		bar := bars{b.count(s.Histogram), i, len(p.Series), colours[i%len(colours)]}
		for _, n := range bar.counts {
			most = max(most, n)
		}
		chart.Add(bar)
		chart.Legend.Add(s.Label, bar)
	}
	chart.X.Min, chart.X.Max = -0.5, float64(len(b)-1)+0.1*float64(len(b))
	chart.Y.Min, chart.Y.Max = 0.7, float64(most)*1.3
	chart.Y.Scale = plot.LogScale{}
	chart.Y.Tick.Marker = decades{}
	for _, s := range []*plot.Axis{&chart.X, &chart.Y} {
		s.Label.TextStyle.Font, s.Tick.Label.Font = style(medium, 0).Font, style(small, 0).Font
	}
	chart.Legend.TextStyle.Font = style(small, 0).Font
	chart.Draw(c)
}

// bars are the bars of one engine.
type bars struct {
	counts []int
	nth    int
	of     int
	fill   color.Color
}

// Plot draws the bars.
func (b bars) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	width := 0.8 / float64(b.of)
	for i, n := range b.counts {
		if n == 0 {
			continue
		}
		left := float64(i) - 0.4 + float64(b.nth)*width
		box(c, vg.Rectangle{
			Min: vg.Point{X: x(left), Y: y(p.Y.Min)},
			Max: vg.Point{X: x(left + 0.92*width), Y: y(float64(n))},
		}, b.fill)
	}
}

// Thumbnail draws the sign of the engine in the legend.
func (b bars) Thumbnail(c *draw.Canvas) { box(*c, c.Rectangle, b.fill) }

// decades marks the powers of ten.
type decades struct{}

// Ticks lists the marks of an axis.
func (decades) Ticks(_, top float64) []plot.Tick {
	var list []plot.Tick
	for v := 1.0; v <= top; v *= 10 {
		list = append(list, plot.Tick{Value: v, Label: text.Thousands(int(v))})
	}
	return list
}
