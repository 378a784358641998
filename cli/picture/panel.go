package picture

import (
	"fmt"
	"image/color"
	"math"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// panel draws one engine's load on the fabric.
type panel struct {
	canvas draw.Canvas
	*lines
	scale scale
}

func (p *panel) place(at point) vg.Point {
	r := p.canvas.Rectangle
	size := r.Size()
	return vg.Point{X: r.Min.X + vg.Length(at.x)*size.X, Y: r.Min.Y + vg.Length(at.y)*size.Y}
}

// maxStroke is how many lines are drawn in one stroke: the time that a stroke
// takes as PNG grows with the square of its lines.
const maxStroke = 24

// draw draws lines, by rising load, then the dots and marks.
func (p *panel) draw(byLine, byDot []int32) {
	order := choose(byLine)
	for len(order) > 0 {
		shade, n := p.scale.shade(byLine[order[0]]), 1
		for n < len(order) && n < maxStroke && p.scale.shade(byLine[order[n]]) == shade {
			n++
		}
		p.stroke(order[:n], shade)
		order = order[n:]
	}
	for i, at := range p.at {
		p.dot(p.place(at), byDot[i])
	}
	p.texts()
}

func (p *panel) stroke(list []int32, shade int) {
	var path vg.Path
	for _, i := range list {
		p.trace(&path, p.list[i])
	}
	p.canvas.SetColor(colourOf(shade))
	p.canvas.SetLineWidth(p.width(shade))
	p.canvas.Stroke(path)
}

// texts writes the marks, left of the dots.
func (p *panel) texts() {
	for _, m := range p.marks {
		at := p.place(point{0, m.y})
		at.X = p.canvas.Min.X - markWidth
		for i, text := range m.text {
			label(p.canvas, vg.Point{X: at.X, Y: at.Y + 1 - vg.Length(i)*(small+2)}, small, text, draw.XLeft)
		}
	}
}

// width of a line: less where there are many, more where the load is high.
func (p *panel) width(shade int) vg.Length {
	thin := 0.9 / math.Max(1, math.Sqrt(float64(min(maxLines, len(p.list)))/400))
	return vg.Length(thin + 1.4*math.Pow(float64(shade)/shades, 2))
}

// trace adds a line to a path.
func (p *panel) trace(path *vg.Path, l line) {
	a, b := p.at[l.a], p.at[l.b]
	if p.wrap && (math.Abs(a.x-b.x) > 1.5*p.step.x || math.Abs(a.y-b.y) > 1.5*p.step.y) {
		p.stub(path, a, b)
		p.stub(path, b, a)
		return
	}
	path.Move(p.place(a))
	if p.bend {
		middle := point{0.5 + ((a.x+b.x)/2-0.5)*0.4, 0.5 + ((a.y+b.y)/2-0.5)*0.4}
		path.QuadTo(p.place(middle), p.place(b))
		return
	}
	path.Line(p.place(b))
}

// stub is the half of a line around the edge of a grid that begins at a.
func (p *panel) stub(path *vg.Path, a, b point) {
	end := a
	if math.Abs(a.x-b.x) > 1.5*p.step.x {
		end.x += math.Copysign(p.step.x/2, a.x-b.x)
	}
	if math.Abs(a.y-b.y) > 1.5*p.step.y {
		end.y += math.Copysign(p.step.y/2, a.y-b.y)
	}
	path.Move(p.place(a))
	path.Line(p.place(end))
}

// dot draws switches, with the colour of the load between them.
func (p *panel) dot(at vg.Point, load int32) {
	share := vg.Length(0.36)
	if p.wrap {
		share = 0.22 // lines between neighbours must show
	}
	radius := min(3.5, max(0.8, share*vg.Length(p.gap)*p.canvas.Size().X))
	var c color.Color = color.RGBA{0x40, 0x40, 0x40, 0xff}
	if load >= 0 {
		c = colourOf(p.scale.shade(load))
	}
	var path vg.Path
	path.Move(vg.Point{X: at.X + radius, Y: at.Y})
	path.Arc(at, radius, 0, 2*math.Pi)
	path.Close()
	p.canvas.SetColor(c)
	p.canvas.Fill(path)
	p.canvas.SetColor(color.Gray{0x60})
	p.canvas.SetLineWidth(0.3)
	p.canvas.Stroke(path)
}

// title of a panel.
func (s Series) title() string {
	return fmt.Sprintf("%s: at most %d trees on a link, %.2f on average", s.Label, s.MaxEFI, s.AvgEFI)
}
