package pattern

import (
	"fmt"

	"heddle/fabric"
	"heddle/fabric/internal/spec"
)

var hierarchyKind = kind{
	name: "hierarchy",
	usage: `hierarchy:AxBxC[,procs=1][,order=aware|oblivious|file][,seed=1][,placement=FILE][,skip=aggregation]
A tree of leaders over all ranks: groups of A consecutive ranks, the first of
each its leader; groups of B consecutive leaders, and so on. The last group of a
level may be smaller; one of a single process is left out. A plain hierarchy:A
repeats A until one leader is left.`,
	parse: parseHierarchy,
}

// hierarchy is the fan-outs of a tree of leaders, from the bottom.
type hierarchy struct {
	fanOuts []int
	placement
}

func parseHierarchy(a *spec.Args) shape {
	h := hierarchy{fanOuts: a.Sizes("", maxDims, 2, maxRanks), placement: parsePlacement(a, 1)}
	h.procs = parseProcs(a)
	return h
}

func (h hierarchy) generate(f *fabric.Fabric) ([]fabric.Group, error) {
	r, err := h.place(f)
	if err != nil {
		return nil, err
	}
	groups, members := 0, 0
	h.levels(len(r.at), func(_, leaders, _, size int) {
		groups += (leaders + size - 1) / size
		members += leaders
	})
	c := newCollector(r, groups, members)
	h.levels(len(r.at), func(level, leaders, stride, size int) {
		c.level(fmt.Sprintf("level%d-", level), leaders, stride, size)
	})
	return c.groups, nil
}

// levels calls do for each level: the leaders of the level below it are
// numbered from 0, and leader i is the rank i*stride.
func (h hierarchy) levels(n int, do func(level, leaders, stride, size int)) {
	stride := 1
	for level := 0; n > 1 && (level < len(h.fanOuts) || len(h.fanOuts) == 1); level++ {
		size := h.fanOuts[min(level, len(h.fanOuts)-1)]
		do(level, n, stride, size)
		n = (n + size - 1) / size
		stride *= size
	}
}

func (c *collector) level(prefix string, leaders, stride, size int) {
	for first := 0; first+1 < leaders; first += size {
		for i := first; i < min(first+size, leaders); i++ {
			c.add(i * stride)
		}
		c.finish(prefix, first/size)
	}
}
