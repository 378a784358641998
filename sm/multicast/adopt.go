package multicast

import (
	"heddle/mad"
	"heddle/route"
	"heddle/sm/plan"
)

// positions is how many times 16 ports a table has at most.
const positions = 16

// Adopt has the next Update take over the trees that the switches' tables have,
// as far as held knows them: who follows on another manager, or on its own
// death, goes on with the trees that it finds, and packets keep their ways. A
// group whose entries are no tree, or lead nowhere, is laid as any other. Nil
// ends that where no Update came.
func (r *Router) Adopt(held *plan.Held) { r.adopting, r.holders = held, holders{} }

// holders are the switches that have entries in a block, of which adjacent MLIDs
// are.
type holders struct {
	known    bool
	block    int
	vertices []int32
}

// holdersOf are those of a block.
func (r *Router) holdersOf(block int) []int32 {
	h := &r.holders
	if h.known && h.block == block {
		return h.vertices
	}
	*h = holders{true, block, h.vertices[:0]}
	for v, positions := range r.want.cells {
		n := r.nodes[r.state.Graph.Node(int32(v))]
		if n == nil {
			continue
		}
		s := r.adopting.Switch(n.GUID())
		for position := range positions {
			b := blockOf(s, &cell{position: uint8(position), block: uint16(block)})
			if b != nil && *b != (mad.MulticastForwarding{}) {
				h.vertices = append(h.vertices, int32(v))
				break
			}
		}
	}
	return h.vertices
}

// find gives a group without a tree the one that is in the tables, if there is
// one.
func (r *Router) find(idx int) {
	if r.adopting == nil {
		return
	}
	g := r.state.Graph
	r.old = r.old[:0]
	for _, v := range r.holdersOf(idx / rows) {
		r.eachInstalled(v, idx, func(e int32) {
			if a, b := g.Ends(e); v == min(a, b) && r.installed(max(a, b), idx, e) {
				r.old = append(r.old, e)
			}
		})
	}
	if len(r.old) == 0 {
		return
	}
	root, _ := g.Ends(r.old[0])
	if tree := (route.Tree{Root: root, Edges: r.old}); r.usable(r.tier(idx), tree) {
		r.setTree(idx, tree)
	}
}

// eachInstalled calls f for each edge that a switch sends packets of an MLID to.
func (r *Router) eachInstalled(v int32, idx int, f func(edge int32)) {
	for position, row := range r.installedRows(v, idx) {
		c := cell{position: uint8(position)}
		for ; row != 0; row &= row - 1 {
			if e := r.edgeAt(v, c.port(row)); e >= 0 {
				f(e)
			}
		}
	}
}

// installed tells whether a switch sends packets of an MLID to an edge of it.
func (r *Router) installed(v int32, idx int, edge int32) (yes bool) {
	r.eachInstalled(v, idx, func(e int32) { yes = yes || e == edge })
	return yes
}

// installedRows are the ports that a switch sends packets of an MLID to, 16 in
// each.
func (r *Router) installedRows(v int32, idx int) (ports [positions]uint16) {
	n := r.nodes[r.state.Graph.Node(v)]
	if n == nil {
		return ports
	}
	s := r.adopting.Switch(n.GUID())
	block, row := idx/rows, idx%rows
	for position, table := range s.MFT {
		if block < len(table) && table[block] != nil {
			ports[position] = table[block][row]
		}
	}
	return ports
}
