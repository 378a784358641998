package route

import (
	"cmp"
	"fmt"
	"slices"

	"heddle/fabric"
	"heddle/ib"
)

// MFT is the multicast forwarding table of a switch: its entries in ascending
// order of MLID. What has no entry is not forwarded.
type MFT []MFTEntry

// MFTEntry is one row: a packet to the MLID leaves by all of the ports but the
// one that it came in by.
type MFTEntry struct {
	MLID  ib.MLID
	Ports PortSet
}

// Lookup finds the ports of an MLID; none where there is no entry.
func (t MFT) Lookup(m ib.MLID) PortSet {
	i, ok := slices.BinarySearchFunc(t, m, func(e MFTEntry, m ib.MLID) int { return cmp.Compare(e.MLID, m) })
	if !ok {
		return PortSet{}
	}
	return t[i].Ports
}

// MFTs are the multicast forwarding tables of all switches of a graph.
type MFTs struct {
	Graph *Graph
	// Tables has one for each vertex.
	Tables []MFT
}

// PortRangeError tells that a switch has more ports than a table can name.
type PortRangeError struct {
	Switch       string
	Ports, Limit int
}

func (e *PortRangeError) Error() string {
	return fmt.Sprintf("switch %s has %d ports, a table can name %d", e.Switch, e.Ports, e.Limit)
}

// CheckPorts is a PortRangeError where a switch has more ports than an LFT can
// name, whose entries are bytes.
func (g *Graph) CheckPorts() error { return g.portsWithin(fabric.MaxPorts) }

func (g *Graph) portsWithin(limit int) error {
	for v, id := range g.nodes {
		if n := int(g.f.Node(id).NumPorts); n > limit {
			return &PortRangeError{g.Label(int32(v)), n, limit}
		}
	}
	return nil
}

// NewMFTs makes the tables of a state's trees, where group i has MLID mlids[i],
// no two the same. Each edge of a tree is in the tables of both of its ends;
// each member's port is in that of its switch, port 0 for a switch that is
// itself a member. A group of fewer than two members has no entry anywhere. The
// error is a PortRangeError or a TableFullError.
func NewMFTs(s *State, d *Demand, mlids []ib.MLID) (*MFTs, error) {
	if len(mlids) != d.NumGroups() {
		return nil, fmt.Errorf("%d MLIDs for %d groups", len(mlids), d.NumGroups())
	}
	if err := s.Graph.portsWithin(MaxSetPort); err != nil {
		return nil, err
	}
	turn, err := inMLIDOrder(mlids)
	if err != nil {
		return nil, err
	}
	b := mftBuilder{s: s, d: d, t: &MFTs{s.Graph, make([]MFT, s.Graph.NumVertices())}}
	b.size()
	for _, i := range turn {
		b.group(i, mlids[i])
	}
	return b.t, b.err
}

// inMLIDOrder lists the groups by ascending MLID.
func inMLIDOrder(mlids []ib.MLID) ([]int, error) {
	turn := make([]int, len(mlids))
	for i, m := range mlids {
		turn[i] = i
		if !m.IsValid() {
			return nil, fmt.Errorf("group %d has the MLID %v, which is none", i, m)
		}
	}
	slices.SortFunc(turn, func(a, b int) int { return cmp.Compare(mlids[a], mlids[b]) })
	for k := 1; k < len(turn); k++ {
		if a, b := turn[k-1], turn[k]; mlids[a] == mlids[b] {
			return nil, fmt.Errorf("groups %d and %d both have the MLID %v", min(a, b), max(a, b), mlids[a])
		}
	}
	return turn, nil
}

// mftBuilder appends to all tables, one MLID after the other.
type mftBuilder struct {
	s   *State
	d   *Demand
	t   *MFTs
	err error
}

// size gives each table room for as many groups as pass through its switch, all
// in one array.
func (b *mftBuilder) size() {
	total := 0
	for _, n := range b.s.through {
		total += int(n)
	}
	flat := make(MFT, total)
	for v, n := range b.s.through {
		b.t.Tables[v], flat = flat[:0:n], flat[n:]
	}
}

func (b *mftBuilder) group(i int, mlid ib.MLID) {
	t, members := b.s.Tree(i), b.d.Group(i).Members
	if t.Root < 0 || len(members) < 2 {
		return
	}
	g := b.s.Graph
	if b.tooFew(t, members) {
		return
	}
	for _, e := range t.Edges {
		l := g.Link(e)
		b.add(mlid, l.A)
		b.add(mlid, l.B)
	}
	for _, m := range members {
		if leaf, ok := g.f.Leaf(m); ok && b.in(g.vertex[leaf.Node], t, mlid) {
			b.add(mlid, leaf)
		}
	}
}

// tooFew tells whether no two members can be reached.
func (b *mftBuilder) tooFew(t Tree, members []fabric.End) bool {
	if len(t.Edges) > 0 {
		return false
	}
	n := 0
	for _, m := range members {
		if leaf, ok := b.s.Graph.f.Leaf(m); ok && b.s.Graph.vertex[leaf.Node] == t.Root {
			n++
		}
	}
	return n < 2
}

// in tells whether a tree reaches a switch: members that are cut off hang on
// switches that it does not reach.
func (b *mftBuilder) in(v int32, t Tree, mlid ib.MLID) bool {
	if v == t.Root {
		return true
	}
	last := len(b.t.Tables[v]) - 1
	return last >= 0 && b.t.Tables[v][last].MLID == mlid
}

func (b *mftBuilder) add(mlid ib.MLID, port fabric.End) {
	g := b.s.Graph
	v := g.vertex[port.Node]
	table := b.t.Tables[v]
	if last := len(table) - 1; last < 0 || table[last].MLID != mlid {
		if n := g.tableCap(v); int(mlid-ib.FirstMLID) >= n && b.err == nil {
			b.err = &TableFullError{Switch: g.Label(v), Cap: n, Groups: int(b.s.through[v])}
		}
		table = append(table, MFTEntry{MLID: mlid})
		b.t.Tables[v] = table
	}
	table[len(table)-1].Ports.Add(port.Port)
}
