// Package chart draws lines and named dots over two axes, as SVG.
package chart

import (
	"cmp"
	"fmt"
	"image/color"
	"io"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Chart is panels beside each other.
type Chart struct {
	Title  string
	Panels []Panel
}

// Panel is what is drawn over two axes, of which each may be logarithmic: then
// all values must be above 0.
type Panel struct {
	Title, X, Y string
	LogX, LogY  bool
	Lines       []Line
	Dots        []Dot
}

// Line goes through points, which X and Y have as many of.
type Line struct {
	Label string
	X, Y  []float64
}

// Dot is a point with a name.
type Dot struct {
	Label string
	X, Y  float64
}

// The measures of a chart, in points.
const (
	panelWidth  = 420
	panelHeight = 360
	head        = 34
	margin      = 12
	big         = 13
	small       = 8
)

// SVG writes the chart.
func (c Chart) SVG(out io.Writer) error {
	if len(c.Panels) == 0 {
		return fmt.Errorf("chart %q has no panel", c.Title)
	}
	canvas := vgsvg.New(vg.Length(len(c.Panels))*panelWidth, panelHeight+head)
	page := draw.New(canvas)
	page.SetColor(color.White)
	page.Fill(page.Rectangle.Path())
	page.FillText(style(big), vg.Point{X: margin, Y: page.Max.Y - 22}, c.Title)
	for i, p := range c.Panels {
		part := draw.Canvas{Canvas: page.Canvas, Rectangle: vg.Rectangle{
			Min: vg.Point{X: vg.Length(i)*panelWidth + margin, Y: margin},
			Max: vg.Point{X: vg.Length(i+1)*panelWidth - margin, Y: panelHeight},
		}}
		if err := p.draw(part); err != nil {
			return fmt.Errorf("chart %q, panel %q: %w", c.Title, p.Title, err)
		}
	}
	_, err := canvas.WriteTo(out)
	return err
}

func (p Panel) draw(c draw.Canvas) error {
	chart := plot.New()
	chart.Title.Text, chart.X.Label.Text, chart.Y.Label.Text = p.Title, p.X, p.Y
	chart.Title.TextStyle.Font = style(big - 2).Font
	chart.Legend.Top, chart.Legend.Left = true, true
	chart.Legend.TextStyle.Font = style(small).Font
	chart.Add(plotter.NewGrid())
	for i, l := range p.Lines {
		if err := l.add(chart, i); err != nil {
			return err
		}
	}
	if len(p.Dots) > 0 {
		chart.Add(dots(p.Dots))
	}
	for axis, log := range map[*plot.Axis]bool{&chart.X: p.LogX, &chart.Y: p.LogY} {
		axis.Label.TextStyle.Font, axis.Tick.Label.Font = style(small+1).Font, style(small).Font
		if log && axis.Min <= 0 {
			return fmt.Errorf("a logarithm of %v", axis.Min)
		}
		if log {
			axis.Scale, axis.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
		}
	}
	chart.Draw(c)
	return nil
}

func (l Line) add(chart *plot.Plot, nth int) error {
	if len(l.X) != len(l.Y) {
		return fmt.Errorf("line %q has %d and %d values", l.Label, len(l.X), len(l.Y))
	}
	points := make(plotter.XYs, len(l.X))
	for i := range points {
		points[i].X, points[i].Y = l.X[i], l.Y[i]
	}
	line, marks, err := plotter.NewLinePoints(points)
	if err != nil {
		return err
	}
	line.Color = colourOf(nth)
	line.Dashes = [][]vg.Length{nil, {5, 2}, {2, 2}}[nth/len(colours())%3]
	marks.Color, marks.Radius, marks.Shape = line.Color, 2, draw.CircleGlyph{}
	chart.Add(line, marks)
	chart.Legend.Add(l.Label, line, marks)
	return nil
}

// dots are dots with their names beside them.
type dots []Dot

// DataRange gives the axes some room on all sides, for names on the right.
func (d dots) DataRange() (xmin, xmax, ymin, ymax float64) {
	xmin, xmax, ymin, ymax = d[0].X, d[0].X, d[0].Y, d[0].Y
	for _, dot := range d {
		xmin, xmax = min(xmin, dot.X), max(xmax, dot.X)
		ymin, ymax = min(ymin, dot.Y), max(ymax, dot.Y)
	}
	width := max(xmax-xmin, xmax/10)
	return xmin - width/20, xmax + width/4, ymin / 1.2, ymax * 1.2
}

// Plot draws the dots; names that would lie on each other are moved up.
func (d dots) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	order := slices.Clone(d)
	slices.SortStableFunc(order, func(a, b Dot) int { return cmp.Or(cmp.Compare(a.X, b.X), cmp.Compare(a.Y, b.Y)) })
	free := c.Min.Y // above the last name
	for i, dot := range order {
		at := vg.Point{X: x(dot.X), Y: y(dot.Y)}
		if i > 0 && order[i-1].X != dot.X {
			free = c.Min.Y
		}
		c.DrawGlyph(draw.GlyphStyle{Color: colourOf(0), Radius: 2.5, Shape: draw.CircleGlyph{}}, at)
		name := vg.Point{X: at.X + 8, Y: max(at.Y-small/2, free)}
		c.StrokeLine2(draw.LineStyle{Color: color.Gray{0xb0}, Width: 0.5}, at.X+3, at.Y, name.X-1, name.Y+small/2)
		c.FillText(style(small), name, dot.Label)
		free = name.Y + small + 1
	}
}

func style(size float64) text.Style {
	face := plot.DefaultFont
	face.Variant = "Sans"
	return text.Style{
		Color: color.Gray{0x20}, Font: font.From(face, vg.Length(size)), YAlign: draw.YBottom, Handler: plot.DefaultTextHandler,
	}
}

// colours are those that eyes of all kinds tell apart (Okabe and Ito).
func colours() []color.Color {
	return []color.Color{
		color.RGBA{0x00, 0x72, 0xb2, 0xff},
		color.RGBA{0xd5, 0x5e, 0x00, 0xff},
		color.RGBA{0x00, 0x9e, 0x73, 0xff},
		color.RGBA{0xcc, 0x79, 0xa7, 0xff},
		color.RGBA{0xe6, 0x9f, 0x00, 0xff},
		color.RGBA{0x56, 0xb4, 0xe9, 0xff},
		color.RGBA{0x30, 0x30, 0x30, 0xff},
	}
}

func colourOf(nth int) color.Color {
	list := colours()
	return list[nth%len(list)]
}
