package pattern

import (
	"fmt"

	"heddle/fabric"
	"heddle/fabric/internal/spec"
)

var randomKind = kind{
	name: "random",
	usage: `random:GROUPSxSIZE[,seed=3][,placement=FILE][,skip=aggregation]
Groups of SIZE different end ports each, drawn evenly from all of them.`,
	parse: parseRandom,
}

// random is groups of random members.
type random struct {
	count, members int
	placement
}

func parseRandom(a *spec.Args) shape {
	r := random{placement: parsePlacement(a, 3)}
	sizes := a.Sizes("", 2, 1, maxMembers)
	if len(sizes) != 2 || spec.Product(sizes...) > maxMembers {
		a.Failf("", "want GROUPSxSIZE such as 2000x16, at most %d members", maxMembers)
		return r
	}
	r.count, r.members = sizes[0], sizes[1]
	return r
}

func (r random) generate(f *fabric.Fabric) ([]fabric.Group, error) {
	placed, err := r.place(f)
	if err != nil {
		return nil, err
	}
	n := len(placed.ends)
	if r.members > n {
		return nil, fmt.Errorf("a group has %d members, the fabric %d end ports", r.members, n)
	}
	rng := r.random()
	c := newCollector(placed, r.count, r.count*r.members)
	for g := range r.count {
		for c.size() < r.members { // what was drawn before is drawn again
			c.addEnd(int32(rng.Intn(n)))
		}
		c.finish("random-", g)
	}
	return c.groups, nil
}
