package route

import (
	"math/bits"
	"slices"
	"strings"

	"heddle/fabric"
	"heddle/ib"
)

// Dependencies is a channel-dependency graph: its vertices are the channels,
// one for each direction of each edge, and a channel depends on another when a
// packet may hold the buffer at the end of the first while it waits for the
// second. Where there is no cycle, there can be no deadlock (Dally and Seitz,
// IEEE Transactions on Computers C-36(5), 1987). Channels to and from adapters
// are in no cycle, and left out.
//
// All that depends on each other meets at a switch, so the graph is a matrix of
// bits for each switch: from the ports that a packet comes in by to the ports
// that it leaves by. Add trees, paths or both, then ask for a Cycle.
//
// A Dependencies is not safe for concurrent use.
type Dependencies struct {
	g      *Graph
	first  []int32    // by vertex: its first gate
	gates  [][2]int32 // by edge: the gates at its two ends
	edge   []int32    // by gate
	owner  []int32    // by gate: the vertex
	peer   []int32    // by gate: the gate at the other end of the edge
	row    []int      // by gate: the first word of its row; one more at the end
	matrix []uint64   // bit j of row i: from gate i inwards to gate j outwards
}

// A gate is a port of a switch that has an edge; those of a switch follow each
// other. The channel that leaves by a gate is numbered like it.

// NewDependencies is the graph of all channels without any dependency.
func NewDependencies(g *Graph) *Dependencies {
	n, gates := g.NumVertices(), 2*g.NumEdges()
	d := &Dependencies{
		g: g, first: make([]int32, n+1), gates: make([][2]int32, g.NumEdges()),
		edge: make([]int32, gates), owner: make([]int32, gates), peer: make([]int32, gates), row: make([]int, gates+1),
	}
	for _, ends := range g.ends {
		d.first[ends[0]+1]++
		d.first[ends[1]+1]++
	}
	for v := range n {
		d.first[v+1] += d.first[v]
	}
	fill := slices.Clone(d.first)
	for e, ends := range g.ends {
		for side, v := range ends {
			gate := fill[v]
			fill[v]++
			d.gates[e][side], d.edge[gate], d.owner[gate] = gate, int32(e), v
		}
		d.peer[d.gates[e][0]], d.peer[d.gates[e][1]] = d.gates[e][1], d.gates[e][0]
	}
	for gate, v := range d.owner {
		d.row[gate+1] = d.row[gate] + int(d.first[v+1]-d.first[v]+63)/64
	}
	d.matrix = make([]uint64, d.row[gates])
	return d
}

// add makes the channel that comes in by one gate depend on the one that
// leaves by another gate of the same switch.
func (d *Dependencies) add(in, out int32) {
	j := out - d.first[d.owner[in]]
	d.matrix[d.row[in]+int(j>>6)] |= 1 << (j & 63)
}

// AddTrees adds the dependencies of all trees of a state: whichever way a
// packet comes into a switch of its tree, it leaves by all other edges of the
// tree there. Time is linear in the trees.
func (d *Dependencies) AddTrees(s *State) {
	marks := make([]uint64, len(d.matrix)) // where a switch's first row is: its gates in the tree
	seen := make([]int32, d.g.NumVertices())
	for i := range s.NumTrees() {
		edges := s.Tree(i).Edges
		for _, e := range edges {
			for _, gate := range d.gates[e] {
				v := d.owner[gate]
				first := d.first[v]
				if seen[v] != int32(i+1) {
					seen[v] = int32(i + 1)
					clear(marks[d.row[first]:d.row[first+1]])
				}
				marks[d.row[first]+int((gate-first)>>6)] |= 1 << ((gate - first) & 63)
			}
		}
		for _, e := range edges {
			d.turn(d.gates[e][0], marks)
			d.turn(d.gates[e][1], marks)
		}
	}
}

// turn makes the channel into a gate depend on those out of all other gates of
// its switch that are marked.
func (d *Dependencies) turn(gate int32, marks []uint64) {
	first := d.first[d.owner[gate]]
	row := d.matrix[d.row[gate]:d.row[gate+1]]
	mask := marks[d.row[first]:]
	j := gate - first
	for k := range row {
		m := mask[k]
		if int(j>>6) == k {
			m &^= 1 << (j & 63)
		}
		row[k] |= m
	}
}

// AddPaths adds the dependencies of unicast: those of the paths that the tables
// give from each switch with adapters or routers to each LID of one. Packets to
// and from switches themselves are management, which has a lane of its own.
// Time is one step for each switch and LID.
func (d *Dependencies) AddPaths(t *LFTs) {
	p := newPathWalker(d, t)
	for first := int(ib.MinUnicastLID); first <= int(t.LIDs.Top()); first += pathBlock {
		p.load(ib.LID(first))
		for k := range pathBlock {
			if e, ok := t.LIDs.Owner(ib.LID(first + k)); ok && d.g.vertex[e.Node] < 0 {
				p.walk(k)
			}
		}
	}
}

// pathBlock is how many LIDs are looked at together: a cache line of a table.
const pathBlock = 64

type pathWalker struct {
	d       *Dependencies
	t       *LFTs
	gate    []int32            // by slot: the gate, -1 where there is no edge
	slots   slots              // the ports of all switches
	next    [][pathBlock]int32 // by vertex and LID of the block: the gate out, -1 for none
	sources []int32            // vertices with end nodes
	seen    []int32
	stamp   int32
}

func newPathWalker(d *Dependencies, t *LFTs) *pathWalker {
	n := d.g.NumVertices()
	p := &pathWalker{d: d, t: t, slots: newSlots(d.g), seen: make([]int32, n), next: make([][pathBlock]int32, n)}
	p.gate = make([]int32, p.slots.len())
	for i := range p.gate {
		p.gate[i] = -1
	}
	for e := range d.gates {
		if d.g.EdgeUp(int32(e)) {
			l := d.g.Link(int32(e))
			p.gate[p.slots.of(l.A)], p.gate[p.slots.of(l.B)] = d.gates[e][0], d.gates[e][1]
		}
	}
	for v := range int32(n) {
		if d.g.HostsAt(v) > 0 {
			p.sources = append(p.sources, v)
		}
	}
	return p
}

// load reads the entries of a block of LIDs from all tables.
func (p *pathWalker) load(first ib.LID) {
	for v, table := range p.t.Tables {
		at, end := p.slots.first[v], p.slots.first[v+1]
		for k := range pathBlock {
			p.next[v][k] = -1
			if lid := int(first) + k; lid < len(table) && table[lid] != NoPort && at+int32(table[lid]) < end {
				p.next[v][k] = p.gate[at+int32(table[lid])]
			}
		}
	}
}

// walk follows the paths to one LID of the block from all sources, each switch
// once.
func (p *pathWalker) walk(k int) {
	p.stamp++
	for _, v := range p.sources {
		for p.seen[v] != p.stamp {
			p.seen[v] = p.stamp
			out := p.next[v][k]
			if out < 0 {
				break
			}
			in := p.d.peer[out]
			v = p.d.owner[in]
			if out = p.next[v][k]; out >= 0 {
				p.d.add(in, out)
			}
		}
	}
}

// Channel is one direction of a link between switches.
type Channel struct {
	From, To fabric.End
}

// Cycle is a ring of channels, each of which waits for the next, and the last
// for the first. It is empty where there is none.
type Cycle []Channel

// Cyclic tells whether there is a cycle.
func (c Cycle) Cyclic() bool { return len(c) > 0 }

// Text names the links of the cycle by their ports, in order.
func (c Cycle) Text(f *fabric.Fabric) string {
	var b strings.Builder
	for i, ch := range c {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(f.EndLabel(ch.From) + " -> " + f.EndLabel(ch.To))
	}
	return b.String()
}

// Cycle finds a cycle, and of those through one of its channels a shortest.
// Time is linear in the dependencies.
func (d *Dependencies) Cycle() Cycle {
	s := cycleSearch{d: d, state: make([]uint8, len(d.edge))}
	for gate := range int32(len(d.edge)) {
		if s.state[gate] == unseen && s.search(gate) {
			return d.shortest(s.found)
		}
	}
	return nil
}

// successor is the first gate, from a place on, that the channel out of a gate
// leads on to: its place at the far switch, -1 for none.
func (d *Dependencies) successor(gate, from int32) int32 {
	in := d.peer[gate]
	row := d.matrix[d.row[in]:d.row[in+1]]
	for k := from >> 6; int(k) < len(row); k++ {
		m := row[k]
		if k == from>>6 {
			m &= ^uint64(0) << (from & 63)
		}
		if m != 0 {
			return k*64 + int32(bits.TrailingZeros64(m))
		}
	}
	return -1
}

// The states of a channel in the search.
const (
	unseen = iota
	open   // on the way from the start to the channel at hand
	done   // no cycle can be reached from it
)

// cycleSearch is a depth-first search without recursion: ways can be as long as
// there are channels.
type cycleSearch struct {
	d     *Dependencies
	state []uint8
	way   []step
	found int32 // a channel of the cycle
}

// step is a channel of the way and the next of its successors to look at.
type step struct{ gate, next int32 }

func (s *cycleSearch) search(start int32) bool {
	s.push(start)
	for len(s.way) > 0 {
		top := &s.way[len(s.way)-1]
		j := s.d.successor(top.gate, top.next)
		if j < 0 {
			s.state[top.gate] = done
			s.way = s.way[:len(s.way)-1]
			continue
		}
		top.next = j + 1
		gate := s.d.first[s.d.owner[s.d.peer[top.gate]]] + j
		switch s.state[gate] {
		case open:
			s.found = gate
			return true
		case unseen:
			s.push(gate)
		}
	}
	return false
}

func (s *cycleSearch) push(gate int32) {
	s.state[gate] = open
	s.way = append(s.way, step{gate: gate})
}

// shortest is a shortest cycle through a channel that is in one.
func (d *Dependencies) shortest(start int32) Cycle {
	before := make([]int32, len(d.edge)) // the channel that led to each, plus one
	queue := []int32{start}
	for i := 0; i < len(queue); i++ {
		gate := queue[i]
		base := d.first[d.owner[d.peer[gate]]]
		for j := d.successor(gate, 0); j >= 0; j = d.successor(gate, j+1) {
			to := base + j
			if to == start {
				return d.trace(gate, start, before)
			}
			if before[to] == 0 {
				before[to] = gate + 1
				queue = append(queue, to)
			}
		}
	}
	return nil
}

func (d *Dependencies) trace(last, start int32, before []int32) Cycle {
	c := Cycle{d.channel(last)}
	for gate := last; gate != start; {
		gate = before[gate] - 1
		c = append(c, d.channel(gate))
	}
	slices.Reverse(c)
	return c
}

func (d *Dependencies) channel(gate int32) Channel {
	l := d.g.Link(d.edge[gate])
	if d.gates[d.edge[gate]][0] == gate {
		return Channel{l.A, l.B}
	}
	return Channel{l.B, l.A}
}
