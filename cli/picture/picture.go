package picture

import (
	"fmt"
	"image/color"
	"io"

	"heddle/route"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Picture is what to draw.
type Picture struct {
	Title string
	Graph *route.Graph
	Shape Shape
	// Series has one element for each engine, at least one.
	Series []Series
}

// Series is the load that one engine's trees put on links.
type Series struct {
	Label  string
	MaxEFI int
	AvgEFI float64
	// Histogram counts links by load, from 0 on; Load is the load by edge.
	Histogram []int
	Load      []int32
}

// The measures of a page, in points.
const (
	pageWidth  = 1000
	panelSide  = 300 // height of a panel, where there are several in a row
	histHeight = 230
	head       = 34
	foot       = 40
	margin     = 16
	big        = 14
	medium     = 11
	small      = 9
	markWidth  = 66
)

// SVG writes the picture as SVG.
func (p Picture) SVG(out io.Writer) error {
	c := vgsvg.New(p.size())
	page := draw.New(c)
	box(page, page.Rectangle, color.White) // a PNG is white already
	p.draw(page)
	_, err := c.WriteTo(out)
	return err
}

// PNG writes the picture as PNG, 1,500 dots wide.
func (p Picture) PNG(out io.Writer) error {
	w, h := p.size()
	c := vgimg.NewWith(vgimg.UseWH(w, h), vgimg.UseDPI(108))
	p.draw(draw.New(c))
	_, err := vgimg.PngCanvas{Canvas: c}.WriteTo(out)
	return err
}

// columns is the number of panels in a row.
func (p Picture) columns() int {
	switch n := len(p.Series); {
	case n <= 2 || n == 4:
		return min(n, 2)
	default:
		return 3
	}
}

func (p Picture) rows() int { return (len(p.Series) + p.columns() - 1) / p.columns() }

func (p Picture) panelHeight() vg.Length {
	if p.columns() == 1 {
		return 1.6 * panelSide
	}
	return panelSide
}

func (p Picture) size() (w, h vg.Length) {
	return pageWidth, head + histHeight + vg.Length(p.rows())*p.panelHeight() + foot
}

func (p Picture) draw(page draw.Canvas) {
	label(page, vg.Point{X: page.Min.X + margin, Y: page.Max.Y - 22}, big, p.Title, draw.XLeft)
	top := page.Max.Y - head
	p.histogram(part(page, page.Min.X+margin, top-histHeight, page.Max.X-margin, top))
	top -= histHeight
	l := newLines(p.Graph, newLayout(p.Graph, p.Shape))
	scale := newScale(p.efi())
	width := (page.Size().X - margin) / vg.Length(p.columns())
	for i, s := range p.Series {
		x := page.Min.X + margin + vg.Length(i%p.columns())*width
		y := top - vg.Length(i/p.columns())*p.panelHeight()
		p.panel(part(page, x, y-p.panelHeight(), x+width-margin, y), l, scale, s)
	}
	p.legend(part(page, page.Min.X+margin, page.Min.Y, page.Max.X-margin, page.Min.Y+foot), scale, l.note)
}

func (p Picture) panel(c draw.Canvas, l *lines, scale scale, s Series) {
	label(c, vg.Point{X: c.Min.X, Y: c.Max.Y - 16}, medium, s.title(), draw.XLeft)
	inside := draw.Crop(c, 4, -4, 10, -30)
	if len(l.marks) > 0 {
		inside = draw.Crop(inside, markWidth, 0, 12, -4)
	}
	if l.bend || l.wrap {
		inside = square(inside)
	}
	byLine, byDot := l.loads(p.Graph, s.Load)
	(&panel{inside, l, scale}).draw(byLine, byDot)
}

// square is the largest square in the middle of a canvas.
func square(c draw.Canvas) draw.Canvas {
	size := c.Size()
	side := min(size.X, size.Y)
	dx, dy := (size.X-side)/2, (size.Y-side)/2
	return draw.Crop(c, dx, -dx, dy, -dy)
}

// efi is the least and the largest maximum EFI of the engines.
func (p Picture) efi() (best, worst int) {
	best = p.Series[0].MaxEFI
	for _, s := range p.Series {
		best, worst = min(best, s.MaxEFI), max(worst, s.MaxEFI)
	}
	return best, worst
}

// minEFI is the least load of any link.
func (p Picture) minEFI() int {
	_, least := p.efi()
	for _, s := range p.Series {
		for load, links := range s.Histogram {
			if links > 0 {
				least = min(least, load)
			}
		}
	}
	return least
}

// legend is the scale of colours.
func (p Picture) legend(c draw.Canvas, s scale, note string) {
	const width, height = 420, 10
	x, y := c.Min.X+150, c.Min.Y+18
	label(c, vg.Point{X: c.Min.X, Y: y}, small, "trees on a link:  none", draw.XLeft)
	box(c, vg.Rectangle{Min: vg.Point{X: x - 40, Y: y}, Max: vg.Point{X: x - 10, Y: y + height}}, colourOf(0))
	for i := 1; i <= shades; i++ {
		left, right := vg.Length(i-1)*width/shades, vg.Length(i)*width/shades
		box(c, vg.Rectangle{Min: vg.Point{X: x + left, Y: y}, Max: vg.Point{X: x + right, Y: y + height}}, colourOf(i))
	}
	_, worst := p.efi()
	for _, load := range s.ticks() {
		word := fmt.Sprint(load)
		if load == s.top && worst > load {
			word += " or more"
		}
		label(c, vg.Point{X: x + vg.Length(s.at(int32(load)))*width, Y: y - 12}, small, word, draw.XCenter)
	}
	label(c, vg.Point{X: x + width + 40, Y: y}, small, "a line is as its most loaded link", draw.XLeft)
	label(c, vg.Point{X: x + width + 40, Y: y - 12}, small, note, draw.XLeft)
}

func part(c draw.Canvas, x0, y0, x1, y1 vg.Length) draw.Canvas {
	return draw.Canvas{Canvas: c.Canvas, Rectangle: vg.Rectangle{Min: vg.Point{X: x0, Y: y0}, Max: vg.Point{X: x1, Y: y1}}}
}

func box(c draw.Canvas, r vg.Rectangle, fill color.Color) {
	c.SetColor(fill)
	c.Fill(r.Path())
}

// label writes one line of text, from its lower edge.
func label(c draw.Canvas, at vg.Point, size float64, s string, align text.XAlignment) {
	c.FillText(style(size, align), at, s)
}

func style(size float64, align text.XAlignment) text.Style {
	face := plot.DefaultFont
	face.Variant = "Sans"
	return text.Style{
		Color: color.Gray{0x20}, Font: font.From(face, vg.Length(size)),
		XAlign: align, YAlign: draw.YBottom, Handler: plot.DefaultTextHandler,
	}
}
