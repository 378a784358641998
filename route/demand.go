package route

import (
	"fmt"

	"heddle/fabric"
)

// Demand is what is to be routed: for each group the distinct leaf switches of
// its members, in the order in which they first appear. It is immutable.
type Demand struct {
	groups []fabric.Group
	start  []int32
	leaves []int32
	cut    []CutOff
}

// CutOff is a member that no tree of its group can reach.
type CutOff struct {
	Group  int
	Member fabric.End
	Why    string
}

// NewDemand collapses the groups' members to leaf switches of the graph.
// Members that hang on no usable switch, or on another component than most of
// their group, are left out and listed by CutOff.
func NewDemand(g *Graph, groups []fabric.Group) *Demand {
	d := &Demand{groups: groups, start: make([]int32, 1, len(groups)+1)}
	members := 0
	for _, group := range groups {
		members += len(group.Members)
	}
	d.leaves = make([]int32, 0, members)
	c := collapser{g: g, d: d, stamp: make([]int32, g.NumVertices())}
	for i, group := range groups {
		c.group(int32(i), group.Members)
		d.start = append(d.start, int32(len(d.leaves)))
	}
	return d
}

// collapser holds the stamps that find repeated leaves without a map.
type collapser struct {
	g     *Graph
	d     *Demand
	stamp []int32
}

func (c *collapser) group(i int32, members []fabric.End) {
	first := len(c.d.leaves)
	mixed := false
	for _, m := range members {
		v := c.leaf(m)
		if v < 0 {
			c.cut(i, m)
			continue
		}
		if c.stamp[v] == i+1 {
			continue
		}
		c.stamp[v] = i + 1
		c.d.leaves = append(c.d.leaves, v)
		mixed = mixed || c.g.Part(v) != c.g.Part(c.d.leaves[first])
	}
	if mixed {
		c.keepLargest(i, first, members)
	}
}

// leaf is the usable vertex that a member hangs on, or -1.
func (c *collapser) leaf(m fabric.End) int32 {
	leaf, ok := c.g.f.Leaf(m)
	if !ok {
		return -1
	}
	if v := c.g.vertex[leaf.Node]; c.g.usable[v] {
		return v
	}
	return -1
}

func (c *collapser) cut(i int32, m fabric.End) {
	why := "it hangs on no live switch"
	if leaf, ok := c.g.f.Leaf(m); ok {
		why = fmt.Sprintf("its switch %s cannot multicast", c.g.f.Node(leaf.Node).Label())
	}
	c.d.cut = append(c.d.cut, CutOff{int(i), m, why})
}

// keepLargest keeps the leaves of the component that holds most of them.
func (c *collapser) keepLargest(i int32, first int, members []fabric.End) {
	count := map[int32]int{}
	best := int32(-1)
	for _, v := range c.d.leaves[first:] {
		p := c.g.Part(v)
		count[p]++
		if best < 0 || count[p] > count[best] {
			best = p
		}
	}
	for _, m := range members {
		if v := c.leaf(m); v >= 0 && c.g.Part(v) != best {
			c.d.cut = append(c.d.cut, CutOff{int(i), m, fmt.Sprintf("no path leads to its switch %s", c.g.Label(v))})
		}
	}
	kept := c.d.leaves[:first]
	for _, v := range c.d.leaves[first:] {
		if c.g.Part(v) == best {
			kept = append(kept, v)
		}
	}
	c.d.leaves = kept
}

// NumGroups is the number of groups.
func (d *Demand) NumGroups() int { return len(d.groups) }

// Group returns a group as it was given.
func (d *Demand) Group(i int) fabric.Group { return d.groups[i] }

// Leaves lists the vertices that a group's tree has to reach. The slice must
// not be changed.
func (d *Demand) Leaves(i int) []int32 { return d.leaves[d.start[i]:d.start[i+1]] }

// CutOff lists the members that were left out.
func (d *Demand) CutOff() []CutOff { return d.cut }
