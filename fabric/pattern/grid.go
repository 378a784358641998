package pattern

import (
	"fmt"

	"heddle/fabric"
	"heddle/fabric/internal/spec"
)

var gridKind = kind{
	name: "grid",
	usage: `grid:PxQxR[,procs=1][,order=aware|oblivious|file][,seed=1][,placement=FILE][,skip=aggregation]
A grid of processes of any number of dimensions, the first the fastest. Each row
of each dimension is a group: first the rows along the first dimension, in rank
order, then those along the second, and so on. A dimension of size 1 has none.`,
	parse: parseGrid,
}

// maxDims is beyond every grid that is not mostly of size 1.
const maxDims = 32

// grid is the sizes of a process grid.
type grid struct {
	dims []int
	placement
}

func parseGrid(a *spec.Args) shape {
	g := grid{dims: a.Sizes("", maxDims, 1, maxRanks), placement: parsePlacement(a, 1)}
	g.procs = parseProcs(a)
	if _, members := g.totals(); members > maxMembers {
		a.Failf("", "the groups would have %d members, %d are the limit", members, maxMembers)
	}
	return g
}

// totals is the number of groups, and of ranks in all of them.
func (g grid) totals() (groups, members int) {
	n, rows := g.count(), 0
	for _, size := range g.dims {
		if size > 1 {
			groups += n / size
			rows++
		}
	}
	return groups, spec.Product(n, rows)
}

// count is the number of processes.
func (g grid) count() int { return spec.Product(g.dims...) }

func (g grid) generate(f *fabric.Fabric) ([]fabric.Group, error) {
	r, err := g.place(f)
	if err != nil {
		return nil, err
	}
	n := g.count()
	if n > len(r.at) {
		return nil, fmt.Errorf("the grid has %d processes, the fabric room for %d (%d on each end port)",
			n, len(r.at), g.procs)
	}
	groups, members := g.totals()
	c := newCollector(r, groups, members)
	stride := 1
	for d, size := range g.dims {
		if size > 1 {
			c.rows(fmt.Sprintf("dim%d-row", d), n, size, stride)
		}
		stride *= size
	}
	return c.groups, nil
}

// rows makes the groups along a dimension, whose ranks are a stride apart.
func (c *collector) rows(prefix string, n, size, stride int) {
	for row := range n / size {
		first := row/stride*stride*size + row%stride
		for i := range size {
			c.add(first + i*stride)
		}
		c.finish(prefix, row)
	}
}
