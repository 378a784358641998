package topology

import (
	"fmt"
	"strings"

	"heddle/fabric"
	"heddle/fabric/internal/spec"
)

var torusKind = kind{
	name: "torus",
	usage: `torus:XxYxZ[,e=1]
A grid that wraps around, of any number of dimensions, with e end nodes on each
switch. Index: x + X*(y + Y*z). Ports: +x -x +y -y +z -z, then the end nodes.
A dimension of size 2 has one cable, by +x of the first switch and -x of the
second; one of size 1 has none. Ports without a cable keep their numbers.`,
	parse: func(a *spec.Args) shape { return parseGrid(a, true) },
}

var meshKind = kind{
	name: "mesh",
	usage: `mesh:XxYxZ[,e=1]
A torus without the cables that wrap around; see torus.`,
	parse: func(a *spec.Args) shape { return parseGrid(a, false) },
}

var ringKind = kind{
	name: "ring",
	usage: `ring:n=N[,e=1]
A torus of one dimension: N switches with e end nodes each.`,
	parse: func(a *spec.Args) shape {
		return grid{dims: []int{a.Need("n", 1, maxNodes)}, wrap: true, hosts: parseHosts(a)}
	},
}

// maxDims leaves each switch at least one port for an end node.
const maxDims = 32

// grid is a torus or a mesh.
type grid struct {
	dims  []int
	wrap  bool
	hosts int
}

func parseGrid(a *spec.Args, wrap bool) shape {
	return grid{dims: a.Sizes("", maxDims, 1, maxNodes), wrap: wrap, hosts: parseHosts(a)}
}

func parseHosts(a *spec.Args) int { return a.Int("e", 1, 1, fabric.MaxPorts) }

func (g grid) size() size {
	n := product(g.dims...)
	s := size{switches: n, hosts: product(n, g.hosts), ports: 2*len(g.dims) + g.hosts}
	for _, d := range g.dims {
		s.cables += n / d * g.lines(d)
		if s.cables > maxCables {
			break
		}
	}
	return s
}

// lines is the number of cables along a row of d switches.
func (g grid) lines(d int) int {
	if g.wrap && d > 2 {
		return d
	}
	return d - 1
}

func (g grid) wire(w *wiring) {
	n := product(g.dims...)
	for id := range n {
		w.add(g.name(id), 2*len(g.dims), g.hosts)
	}
	for id := range n {
		stride := 1
		for d, size := range g.dims {
			x := id / stride % size
			if x < g.lines(size) {
				next := id + ((x+1)%size-x)*stride
				w.joinAt(id, 2*d+1, next, 2*d+2)
			}
			stride *= size
		}
	}
}

// name tells a switch's coordinates.
func (g grid) name(id int) string {
	var b strings.Builder
	b.WriteString("switch")
	for _, size := range g.dims {
		fmt.Fprintf(&b, "-%0*d", digits(size), id%size)
		id /= size
	}
	return b.String()
}
