package unicast

import (
	"sync/atomic"

	"heddle/fabric"
	"heddle/ib"
	"heddle/route"
)

// chooser lists the arcs by which a packet may leave switch v for switch leaf,
// in ascending order of port number, appended to list.
type chooser func(v, leaf int32, list []route.Arc) []route.Arc

// target is where a LID leads.
type target struct {
	leaf int32 // the vertex that its port hangs on; -1 for none
	port uint8 // the port there
	host bool  // it is an end node's
	next bool  // the LID before is the same port's
}

func targets(g *route.Graph, lids *route.LIDs) []target {
	list := make([]target, int(lids.Top())+1)
	last := fabric.End{Node: fabric.NoNode}
	for l := range list {
		list[l].leaf = -1
		owner, ok := lids.Owner(ib.LID(l))
		if !ok {
			continue
		}
		leaf, ok := g.Fabric().Leaf(owner)
		if !ok {
			continue
		}
		list[l] = target{g.Vertex(leaf.Node), uint8(leaf.Port), leaf != owner, owner == last}
		last = owner
	}
	return list
}

// balance fills all tables, those of several switches at once.
func balance(g *route.Graph, lids *route.LIDs, workers int, choose chooser) (*route.LFTs, error) {
	t, err := route.NewLFTs(g, lids)
	if err != nil {
		return nil, err
	}
	goals := targets(g, lids)
	var next atomic.Int32
	route.Parallel(workers, func() {
		b := newBalancer(g, goals, choose)
		for v := next.Add(1) - 1; int(v) < g.NumVertices(); v = next.Add(1) - 1 {
			if g.Usable(v) {
				b.fill(v, t.Tables[v])
			}
		}
	})
	return t, nil
}

// balancer fills the table of one switch after the other.
type balancer struct {
	g      *route.Graph
	goals  []target
	choose chooser

	v      int32
	exits  []exit  // the arcs of v
	number []int32 // by edge: its place in exits
	// options holds, one after the other, the places in exits that may be
	// taken to each leaf; span is where those of a leaf are, known if stamped.
	options []int32
	span    [][2]int32
	stamp   []int32
	arcs    []route.Arc
	remote  []int32 // by vertex: LIDs that lead there by any port
	used    []int32 // exits taken by the LIDs before of the same port
}

// exit is a port of the switch at hand.
type exit struct {
	port   uint8
	to     int32
	system ib.GUID
	paths  int32 // LIDs that were given this port
}

func newBalancer(g *route.Graph, goals []target, choose chooser) *balancer {
	n := g.NumVertices()
	return &balancer{
		g: g, goals: goals, choose: choose,
		number: make([]int32, g.NumEdges()), span: make([][2]int32, n), stamp: make([]int32, n), remote: make([]int32, n),
	}
}

func (b *balancer) fill(v int32, table route.LFT) {
	b.begin(v)
	for l, goal := range b.goals {
		switch {
		case goal.leaf < 0 || table[l] == 0:
		case goal.leaf == v:
			table[l] = goal.port
		default:
			if i := b.pick(goal); i >= 0 {
				table[l] = b.exits[i].port
			}
		}
	}
}

// begin lists the ports of a switch.
func (b *balancer) begin(v int32) {
	b.v = v
	b.exits, b.options = b.exits[:0], b.options[:0]
	for _, a := range b.g.Up(v) {
		b.number[a.Edge] = int32(len(b.exits))
		b.remote[a.To] = 0
		node := b.g.Fabric().Node(b.g.Node(a.To))
		system := node.SystemGUID
		if !system.IsValid() {
			system = node.GUID
		}
		b.exits = append(b.exits, exit{port: uint8(b.g.PortOf(v, a.Edge)), to: a.To, system: system})
	}
}

// to lists the exits that may be taken to a leaf.
func (b *balancer) to(leaf int32) []int32 {
	if b.stamp[leaf] != b.v+1 {
		b.stamp[leaf] = b.v + 1
		b.arcs = b.choose(b.v, leaf, b.arcs[:0])
		first := int32(len(b.options))
		for _, a := range b.arcs {
			b.options = append(b.options, b.number[a.Edge])
		}
		b.span[leaf] = [2]int32{first, int32(len(b.options))}
	}
	return b.options[b.span[leaf][0]:b.span[leaf][1]]
}

// pick chooses an exit for a LID, -1 where there is none: for a further LID of
// one port, one towards another system than those before, or at least another
// switch; of these the one that fewest LIDs were given, then the one to the
// switch that fewest were sent to, then the one of the lowest port number.
func (b *balancer) pick(goal target) int32 {
	if !goal.next {
		b.used = b.used[:0]
	}
	best, rank := int32(-1), 0
	for _, i := range b.to(goal.leaf) {
		r := b.sameness(i)
		if best < 0 || r < rank || r == rank && b.lighter(i, best) {
			best, rank = i, r
		}
	}
	if best < 0 {
		return best
	}
	b.used = append(b.used, best)
	if goal.host {
		b.exits[best].paths++
		b.remote[b.exits[best].to]++
	}
	return best
}

func (b *balancer) lighter(i, j int32) bool {
	x, y := &b.exits[i], &b.exits[j]
	if x.paths != y.paths {
		return x.paths < y.paths
	}
	return b.remote[x.to] < b.remote[y.to]
}

// sameness is 2 where an earlier LID of the port took an exit to the same
// switch, 1 to the same system, 0 if neither.
func (b *balancer) sameness(i int32) int {
	rank := 0
	for _, j := range b.used {
		switch {
		case b.exits[j].to == b.exits[i].to:
			return 2
		case b.exits[j].system == b.exits[i].system:
			rank = 1
		}
	}
	return rank
}
