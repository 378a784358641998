package route

import (
	"fmt"

	"heddle/fabric"
	"heddle/ib"
)

// CheckLFTs judges tables alone: from each switch with end nodes, each LID that
// is an end node's on the same component is reached at its owner, without a loop
// and over live links. LIDs of switches and of aggregation nodes inside of them
// are not looked at: there may be no allowed path to a spine from everywhere. Of a
// LID's faults one is told. Time is one step for each switch and LID.
func CheckLFTs(t *LFTs) []Fault {
	c := lftChecker{t: t, g: t.Graph, state: make([]int32, t.Graph.NumVertices())}
	for v := range int32(len(c.state)) {
		if c.g.HostsAt(v) > 0 {
			c.sources = append(c.sources, v)
		}
	}
	for l := ib.MinUnicastLID; l <= t.LIDs.Top(); l++ {
		if owner, ok := t.LIDs.Owner(l); ok && c.g.vertex[owner.Node] < 0 && !c.g.f.Node(owner.Node).Aggregation {
			c.lid(l, owner)
		}
	}
	return c.faults
}

type lftChecker struct {
	t       *LFTs
	g       *Graph
	sources []int32
	// state tells, by vertex, how far the LID at hand got: 2 for each LID before
	// it, plus 1 on the path at hand, 2 where it is known to arrive.
	state  []int32
	base   int32
	path   []int32
	faults []Fault
}

func (c *lftChecker) lid(l ib.LID, owner fabric.End) {
	leaf, ok := c.g.f.Leaf(owner)
	if !ok {
		return
	}
	to := c.g.vertex[leaf.Node]
	defer func() { c.base += 2 }()
	for _, v := range c.sources {
		if c.g.Part(v) != c.g.Part(to) {
			continue
		}
		if f, ok := c.follow(v, l, owner); !ok {
			c.faults = append(c.faults, f)
			return
		}
	}
}

// follow walks from a switch until the owner, or a switch that is known to lead
// there.
func (c *lftChecker) follow(v int32, l ib.LID, owner fabric.End) (Fault, bool) {
	c.path = c.path[:0]
	for c.state[v] != c.base+2 {
		if c.state[v] == c.base+1 {
			return c.fault(FaultCycle, "LID %d comes round to %s again", l, c.g.Label(v)), false
		}
		c.state[v] = c.base + 1
		c.path = append(c.path, v)
		peer, ok := c.t.Exit(v, l)
		if !ok {
			return c.fault(FaultNoPath, "%s has no live port for LID %d of %s", c.g.Label(v), l, c.g.f.EndLabel(owner)), false
		}
		if peer == owner {
			break
		}
		if v = c.g.vertex[peer.Node]; v < 0 {
			return c.fault(FaultStranger, "LID %d of %s comes to %s", l, c.g.f.EndLabel(owner), c.g.f.EndLabel(peer)), false
		}
	}
	for _, u := range c.path {
		c.state[u] = c.base + 2
	}
	return Fault{}, true
}

func (c *lftChecker) fault(kind FaultKind, format string, args ...any) Fault {
	return Fault{kind, -1, fmt.Sprintf(format, args...)}
}
