package pattern

import (
	"strconv"

	"heddle/fabric"
)

// collector makes groups of ranks. It allocates all members at once and tells
// repeated ones by stamps: the number of the last group that had the end.
type collector struct {
	ranks  *ranks
	stamp  []int32
	slab   []fabric.End
	start  int
	groups []fabric.Group
}

// newCollector has room for that many groups, and ranks in all of them.
func newCollector(r *ranks, groups, members int) *collector {
	return &collector{
		ranks:  r,
		stamp:  make([]int32, len(r.ends)),
		slab:   make([]fabric.End, 0, members),
		groups: make([]fabric.Group, 0, groups),
	}
}

// add puts a rank's end into the group at hand.
func (c *collector) add(rank int) { c.addEnd(c.ranks.at[rank]) }

func (c *collector) addEnd(i int32) {
	now := int32(len(c.groups) + 1)
	if c.stamp[i] != now {
		c.stamp[i] = now
		c.slab = append(c.slab, c.ranks.ends[i])
	}
}

// size is the number of members of the group at hand.
func (c *collector) size() int { return len(c.slab) - c.start }

// finish ends the group at hand; its name is prefix and number.
func (c *collector) finish(prefix string, number int) {
	end := len(c.slab)
	c.groups = append(c.groups, fabric.Group{
		Name:    prefix + strconv.Itoa(number),
		Members: c.slab[c.start:end:end],
	})
	c.start = end
}

// portTable holds a number for each port of a fabric, at first 0.
type portTable struct {
	first   []int32 // by node: where its port 0 is
	numbers []int32
}

func newPortTable(f *fabric.Fabric) *portTable {
	t := &portTable{first: make([]int32, f.NumNodes())}
	total := int32(0)
	for i := range t.first {
		t.first[i] = total
		total += int32(f.Node(fabric.NodeID(i)).NumPorts) + 1
	}
	t.numbers = make([]int32, total)
	return t
}

// of is the number of a port.
func (t *portTable) of(e fabric.End) *int32 {
	return &t.numbers[t.first[e.Node]+int32(e.Port)]
}
