package route

import "fmt"

// FaultKind is the sort of a fault of a tree or table, a short word that
// programs can match.
type FaultKind string

// The kinds of faults.
const (
	FaultNoTree   FaultKind = "no-tree"   // a group with leaves, but no tree
	FaultDead     FaultKind = "dead"      // a tree uses what cannot be used
	FaultPieces   FaultKind = "pieces"    // a tree is not connected
	FaultCycle    FaultKind = "cycle"     // a tree holds a cycle
	FaultMissed   FaultKind = "missed"    // a member is not reached
	FaultTwice    FaultKind = "twice"     // a member is reached more than once
	FaultStranger FaultKind = "stranger"  // what is no member is reached
	FaultDangling FaultKind = "dangling"  // a branch leads to no member
	FaultHeight   FaultKind = "height"    // a tree is higher than it needs to be
	FaultOrder    FaultKind = "order"     // a tree goes down towards its root
	FaultLoad     FaultKind = "load"      // the load table is not the sum of the trees
	FaultOneWay   FaultKind = "one-way"   // a link is in the table of one of its ends only
	FaultNoLink   FaultKind = "no-link"   // a table sends to a port without a link
	FaultNoPath   FaultKind = "no-path"   // a table has no port for a destination
	FaultHopCount FaultKind = "hop-count" // the hop table is wrong
)

// Fault is one thing wrong with what was routed.
type Fault struct {
	Kind FaultKind
	// Group is the group's number, -1 where the fault is of no group.
	Group int
	Text  string
}

func (f Fault) String() string {
	if f.Group < 0 {
		return f.Text
	}
	return fmt.Sprintf("group %d: %s", f.Group, f.Text)
}

// Check judges the trees of a state from their edges alone: each group's tree
// is connected and has no cycle, so that each leaf is reached once; it reaches
// all leaves, ends at leaves only, uses only what is alive, leads upwards to its
// root in an ordered graph, and is no higher than the group's radius; the
// tables of load are the sums over the trees. It relies on the hop table for
// the radius alone, which CheckHops judges. Time is linear in the trees, apart
// from the search for the radius.
func Check(s *State, d *Demand) []Fault {
	c := newChecker(s)
	for i := range max(d.NumGroups(), s.NumTrees()) {
		var leaves []int32
		if i < d.NumGroups() {
			leaves = d.Leaves(i)
		}
		c.tree(i, s.Tree(i), leaves)
	}
	c.loads()
	return c.faults
}

// CheckTree judges one tree of a state; see Check.
func CheckTree(s *State, group int, leaves []int32) []Fault {
	c := newChecker(s)
	c.tree(group, s.Tree(group), leaves)
	return c.faults
}

type checker struct {
	*walker
	s       *State
	finder  Finder
	dead    []bool  // by edge
	load    []int32 // by edge: the sum over the trees
	through []int32 // by vertex: the same
	leaf    []int32 // by vertex: the stamp of the last tree that it is a leaf of
	faults  []Fault
}

func newChecker(s *State) *checker {
	c := &checker{
		walker: newWalker(s.Graph), s: s, finder: NewFinder(s.Hops),
		dead: make([]bool, s.Graph.NumEdges()), load: make([]int32, s.Graph.NumEdges()),
		through: make([]int32, s.Graph.NumVertices()), leaf: make([]int32, s.Graph.NumVertices()),
	}
	for e := range c.dead {
		c.dead[e] = !s.Graph.EdgeUp(int32(e))
	}
	return c
}

func (c *checker) fault(kind FaultKind, group int, format string, args ...any) {
	c.faults = append(c.faults, Fault{kind, group, fmt.Sprintf(format, args...)})
}

func (c *checker) tree(i int, t Tree, leaves []int32) {
	if t.Root < 0 {
		if len(leaves) > 0 {
			c.fault(FaultNoTree, i, "no tree for %d leaves", len(leaves))
		}
		return
	}
	if !c.alive(i, t) {
		return
	}
	c.walk(t)
	c.sum(t)
	c.shape(i, t)
	c.reach(i, leaves)
	c.tips(i, leaves)
	c.upwards(i)
	c.lowest(i, leaves)
}

// alive finds out whether the tree's parts exist and can be used; if they do
// not exist, nothing more can be said.
func (c *checker) alive(i int, t Tree) bool {
	if int(t.Root) >= c.g.NumVertices() {
		c.fault(FaultDead, i, "root %d is no vertex", t.Root)
		return false
	}
	if !c.g.usable[t.Root] {
		c.fault(FaultDead, i, "root %s cannot be used", c.g.Label(t.Root))
	}
	for _, e := range t.Edges {
		if e < 0 || int(e) >= len(c.dead) {
			c.fault(FaultDead, i, "%d is no edge", e)
			return false
		}
		if c.dead[e] {
			c.fault(FaultDead, i, "%s cannot be used", c.g.EdgeLabel(e))
		}
	}
	return true
}

// sum counts the tree's load.
func (c *checker) sum(t Tree) {
	for _, e := range t.Edges {
		c.load[e]++
	}
	for _, v := range c.all {
		c.through[v]++
	}
}

// shape finds pieces and cycles: a connected graph of n vertices is a tree when
// it has n-1 edges.
func (c *checker) shape(i int, t Tree) {
	if lost := len(c.all) - len(c.order); lost > 0 {
		c.fault(FaultPieces, i, "%d of %d switches are not connected with the root %s", lost, len(c.all), c.g.Label(t.Root))
	} else if len(t.Edges) >= len(c.all) {
		c.fault(FaultCycle, i, "%d links between %d switches", len(t.Edges), len(c.all))
	}
}

// reach finds leaves that the tree does not reach.
func (c *checker) reach(i int, leaves []int32) {
	for _, v := range leaves {
		c.leaf[v] = c.stamp
		if !c.reached(v) {
			c.fault(FaultMissed, i, "member switch %s is not reached", c.g.Label(v))
		}
	}
}

// tips finds branches that end at no leaf, the one that the root may be
// included.
func (c *checker) tips(i int, leaves []int32) {
	for _, v := range c.all {
		if c.fan[v] <= 1 && c.leaf[v] != c.stamp && len(leaves) > 0 {
			c.fault(FaultDangling, i, "a branch ends at %s, which has no member", c.g.Label(v))
		}
	}
}

// upwards finds links of an ordered graph that lead down towards the root.
func (c *checker) upwards(i int) {
	order := c.g.order
	if order == nil {
		return
	}
	for _, v := range c.order[1:] {
		if p := c.parent(v); !order.above(p, v) {
			c.fault(FaultOrder, i, "%s is below %s, but nearer to the root", c.g.Label(p), c.g.Label(v))
		}
	}
}

// lowest finds a tree that is higher than the radius of its leaves.
func (c *checker) lowest(i int, leaves []int32) {
	if len(leaves) == 0 {
		return
	}
	height := int32(0)
	for _, v := range leaves {
		if c.reached(v) {
			height = max(height, c.depth[v])
		}
	}
	if r := c.finder.Find(leaves).Radius; height != int32(r) {
		c.fault(FaultHeight, i, "the farthest switch is %d hops from the root, %d can be had", height, r)
	}
}

// loads holds the tables of load against the sums over the trees.
func (c *checker) loads() {
	for e, n := range c.load {
		if have := c.s.load[e]; have != n {
			c.fault(FaultLoad, -1, "the load of %s is %d, but %d trees use it", c.g.EdgeLabel(int32(e)), have, n)
		}
	}
	for v, n := range c.through {
		if have := c.s.through[v]; have != n {
			c.fault(FaultLoad, -1, "the load of %s is %d, but %d trees pass through it", c.g.Label(int32(v)), have, n)
		}
	}
}

// CheckHops judges a hop table: that each row is what a breadth-first search
// would find, which a look at each switch's neighbours tells. Time is that of
// one look at each arc for each switch.
func CheckHops(g *Graph, h *Hops) []Fault {
	n := g.NumVertices()
	if len(h.to) != n || len(h.from) != n {
		return []Fault{{FaultHopCount, -1, fmt.Sprintf("%d and %d rows of hops for %d switches", len(h.to), len(h.from), n)}}
	}
	var faults []Fault
	for r := range int32(n) {
		for x := range int32(n) {
			have, want := h.to[r][x], g.hopsFrom(h.to[r], r, x)
			if have != want || have != h.from[x][r] {
				faults = append(faults, Fault{FaultHopCount, -1, fmt.Sprintf("hops from %s to %s are %d one way and %d the other, its neighbours say %d",
					g.Label(x), g.Label(r), have, h.from[x][r], want)})
			}
		}
	}
	return faults
}

// hopsFrom is the number of hops from x up to r, if the row is right at the
// neighbours of x.
func (g *Graph) hopsFrom(row []byte, r, x int32) byte {
	switch {
	case !g.usable[x] || !g.usable[r]:
		return Far
	case x == r:
		return 0
	}
	least := byte(Far)
	for _, a := range g.Up(x) {
		least = min(least, row[a.To])
	}
	if least >= MaxHops {
		return Far
	}
	return least + 1
}

// EdgeLabel names an edge by its two ports in messages.
func (g *Graph) EdgeLabel(e int32) string {
	l := g.Link(e)
	return g.f.EndLabel(l.A) + " - " + g.f.EndLabel(l.B)
}
