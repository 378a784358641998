package picture

import (
	"fmt"
	"math"

	"heddle/route"
)

// Shape is what is known of a fabric's form beside its graph.
type Shape struct {
	// Dims are the sizes of a torus or mesh, the first the fastest in the
	// switches' indices; empty for others.
	Dims []int
	// Block is the number of switches with consecutive indices that belong
	// together, such as a dragonfly's group; 0 for none.
	Block int
}

// point is a place in the unit square, y upwards.
type point struct{ x, y float64 }

// layout says where the dots of a fabric stand.
type layout struct {
	cell  []int32 // by vertex: its dot, -1 for none
	at    []point // by dot
	bend  bool    // draw lines bent towards the middle
	wrap  bool    // lines over more than one step go around the edge
	step  point   // of a grid
	gap   float64 // between neighbouring dots
	marks []mark
	note  string
}

// mark is a text left of the dots, of some lines.
type mark struct {
	y    float64
	text []string
}

// maxDots is how many dots a row, a side of a grid or a quarter of a circle may
// have.
const maxDots = 64

func newLayout(g *route.Graph, shape Shape) *layout {
	if len(shape.Dims) > 0 {
		if l := gridLayout(g, shape.Dims); l != nil {
			return l
		}
	}
	if rows := layers(g); rows != nil {
		return layeredLayout(g, rows)
	}
	return circleLayout(g, shape.Block)
}

// gridLayout shows the first two dimensions; nil where the sizes are not those
// of the graph.
func gridLayout(g *route.Graph, dims []int) *layout {
	n := 1
	for _, d := range dims {
		n *= max(1, d)
	}
	if n != g.NumVertices() {
		return nil
	}
	width, height := dims[0], 1
	if len(dims) > 1 {
		height = dims[1]
	}
	fold := point{math.Ceil(float64(width) / maxDots), math.Ceil(float64(height) / maxDots)}
	columns, rows := int(math.Ceil(float64(width)/fold.x)), int(math.Ceil(float64(height)/fold.y))
	l := &layout{cell: make([]int32, n), wrap: true, step: point{1 / float64(columns), 1 / float64(rows)}}
	l.gap = min(l.step.x, l.step.y)
	for v := range n {
		x, y := v%width/int(fold.x), v/width%height/int(fold.y)
		l.cell[v] = int32(x + columns*y)
	}
	for y := range rows {
		for x := range columns {
			l.at = append(l.at, point{(float64(x) + 0.5) * l.step.x, (float64(y) + 0.5) * l.step.y})
		}
	}
	if per := n / len(l.at); per > 1 {
		l.note = fmt.Sprintf("a dot is %d switches", per)
	}
	return l
}

// circleLayout puts the switches on a circle, in the order of their indices.
func circleLayout(g *route.Graph, block int) *layout {
	n := g.NumVertices()
	if block < 1 {
		block = 1
	}
	if dots := (n + block - 1) / block; dots > 4*maxDots {
		block *= (dots + 4*maxDots - 1) / (4 * maxDots)
	}
	dots := (n + block - 1) / block
	l := &layout{cell: make([]int32, n), at: make([]point, dots), bend: true, gap: min(1, 3/float64(dots))}
	for v := range n {
		l.cell[v] = int32(v / block)
	}
	for i := range l.at {
		sin, cos := math.Sincos(2 * math.Pi * float64(i) / float64(dots))
		l.at[i] = point{0.5 + 0.48*sin, 0.5 + 0.48*cos}
	}
	if block > 1 {
		l.note = fmt.Sprintf("a dot is %d switches", block)
	}
	return l
}
