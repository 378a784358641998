package multicast

import (
	"errors"
	"fmt"
	"slices"

	"heddle/fabric"
	"heddle/ib"
	"heddle/route"
	"heddle/sm/subnet"
)

// Rebase moves all to the fabric of a new view. Where that has nothing that the
// fabrics of before had not, nodes and links keep their numbers, and only what
// is gone or back is worked on; else all is numbered anew, and the trees are
// carried over. Trees that used what is gone are laid anew. The error is of a
// fabric too wide to route; then all stays as it was.
func (r *Router) Rebase(v *subnet.View) (Report, error) {
	r.begin()
	if err := r.move(v.Fabric); err != nil {
		return r.report, fmt.Errorf("multicast: %w", err)
	}
	r.meet(v)
	for idx := range r.groups {
		if r.groups[idx].used {
			r.settle(idx)
		}
	}
	r.finish()
	r.want.markAll()
	r.plan.audit = true
	return r.report, nil
}

func (r *Router) move(f *fabric.Fabric) error {
	if r.fabric != nil {
		if g, ok := within(r.fabric, f); ok {
			return r.follow(g)
		}
	}
	return r.carry(f)
}

// follow moves to another fabric of the same family.
func (r *Router) follow(f *fabric.Fabric) error {
	nodes, links := f.Diff(r.fabric)
	if len(nodes)+len(links) == 0 {
		return nil
	}
	g := r.state.Graph.On(f)
	h, err := r.hops(g, len(nodes)+len(links))
	if err != nil {
		return err
	}
	tiers, err := r.makeTiers(g, h)
	if err != nil {
		return err
	}
	r.fabric, r.tiers = f, tiers
	r.twig.on(g)
	r.state.Rebase(g, h)
	return nil
}

// hops is the table of a changed graph.
func (r *Router) hops(g *route.Graph, changes int) (*route.Hops, error) {
	const few = 8
	if changes <= few {
		return r.state.Hops.On(g)
	}
	return route.NewHops(g, r.cfg.Workers)
}

// carry moves to a fabric with other numbers. Trees that are whole in it are
// carried over, if they are as low there as any.
func (r *Router) carry(f *fabric.Fabric) error {
	g := route.NewGraph(f, route.Selection{MulticastOnly: true})
	if err := g.CheckPorts(); err != nil {
		return err
	}
	h, err := route.NewHops(g, r.cfg.Workers)
	if err != nil {
		return err
	}
	tiers, err := r.makeTiers(g, h)
	if err != nil {
		return err
	}
	old := r.state
	r.fabric, r.tiers, r.state, r.put = f, tiers, route.NewState(g, h), 0
	r.twig.on(g)
	r.want = newTables(g)
	r.plan = planner{}
	r.report.Anew = old != nil
	for idx := range r.groups {
		r.groups[idx].drawn = nil
	}
	if old != nil {
		r.translate(old)
	}
	return nil
}

// translate puts the trees of another numbering into the state.
func (r *Router) translate(old *route.State) {
	m := newMapping(old.Graph.Fabric(), r.fabric)
	edges := m.edges(old.Graph, r.state.Graph)
	for idx := range old.NumTrees() {
		t := old.Tree(idx)
		if t.Root < 0 {
			continue
		}
		root := m.node[old.Graph.Node(t.Root)]
		r.old = r.old[:0]
		for _, e := range t.Edges {
			r.old = append(r.old, edges[e])
		}
		if root == fabric.NoNode {
			continue
		}
		moved := route.Tree{Root: r.state.Graph.Vertex(root), Edges: r.old}
		if r.usable(r.tier(idx), moved) {
			r.setTree(idx, moved)
		}
	}
}

// meet finds the view's nodes by our numbers.
func (r *Router) meet(v *subnet.View) {
	r.nodes = make([]*subnet.Node, r.fabric.NumNodes())
	for _, n := range v.Nodes {
		if id, ok := r.fabric.ByGUID(n.GUID()); ok && r.fabric.NodeUp(id) {
			r.nodes[id] = n
		}
	}
}

// mapping tells where the nodes and links of one fabric are in another: nodes by
// GUID, links by the ports of both ends. What is dead in the other is found too.
type mapping struct {
	node []fabric.NodeID // NoNode where there is none
	link []fabric.LinkID // NoLink
}

func newMapping(from, to *fabric.Fabric) mapping {
	m := mapping{make([]fabric.NodeID, from.NumNodes()), make([]fabric.LinkID, from.NumLinks())}
	for i := range m.node {
		m.node[i] = fabric.NoNode
		if guid := from.Node(fabric.NodeID(i)).GUID; guid.IsValid() {
			if id, ok := to.ByGUID(guid); ok {
				m.node[i] = id
			}
		}
	}
	for i := range m.link {
		m.link[i] = m.find(from.Link(fabric.LinkID(i)), to)
	}
	return m
}

// end is where a port is in the other fabric.
func (m mapping) end(e fabric.End, to *fabric.Fabric) (fabric.End, bool) {
	id := m.node[e.Node]
	return fabric.End{Node: id, Port: e.Port}, id != fabric.NoNode && e.Port <= to.Node(id).NumPorts
}

func (m mapping) find(l fabric.Link, to *fabric.Fabric) fabric.LinkID {
	a, okA := m.end(l.A, to)
	b, okB := m.end(l.B, to)
	if !okA || !okB {
		return fabric.NoLink
	}
	id := to.Port(a).Link
	if id == fabric.NoLink || to.Link(id).Other(a) != b {
		return fabric.NoLink
	}
	return id
}

// edges maps edges of a graph of the one fabric to those of one of the other, -1
// where there is none.
func (m mapping) edges(from, to *route.Graph) []int32 {
	list := make([]int32, from.NumEdges())
	for e := range list {
		list[e] = -1
	}
	for i, id := range m.link {
		e := from.Edge(fabric.LinkID(i))
		if e >= 0 && id != fabric.NoLink {
			list[e] = to.Edge(id)
		}
	}
	return list
}

// within finds the fabric of old's family that is like f; ok is false where f
// has what old's family has not.
func within(old, f *fabric.Fabric) (g *fabric.Fabric, ok bool) {
	m := newMapping(f, old)
	nodes, links := make([]bool, old.NumNodes()), make([]bool, old.NumLinks())
	for i, id := range m.node {
		from := fabric.NodeID(i)
		if !f.NodeUp(from) {
			continue
		}
		if id == fabric.NoNode || !alike(f, from, old, id) {
			return nil, false
		}
		nodes[id] = true
	}
	for i, id := range m.link {
		from := fabric.LinkID(i)
		if !f.LinkUp(from) {
			continue
		}
		if id == fabric.NoLink || !samePorts(f, f.Link(from), old, m) {
			return nil, false
		}
		links[id] = true
	}
	back := old.With(unset[fabric.NodeID](nodes, false), unset[fabric.LinkID](links, false))
	return back.Without(unset[fabric.NodeID](nodes, true), unset[fabric.LinkID](links, true)), true
}

// unset lists the indices where set is not, or where it is.
func unset[ID ~int32](set []bool, not bool) (ids []ID) {
	for i, is := range set {
		if is != not {
			ids = append(ids, ID(i))
		}
	}
	return ids
}

// alike tells whether two nodes are the same in all that routing looks at.
func alike(f *fabric.Fabric, x fabric.NodeID, g *fabric.Fabric, y fabric.NodeID) bool {
	a, b := f.Node(x), g.Node(y)
	return a.Kind == b.Kind && a.NumPorts == b.NumPorts && a.MulticastCap == b.MulticastCap &&
		f.Port(fabric.End{Node: x}).GUID == g.Port(fabric.End{Node: y}).GUID
}

// samePorts tells whether the ends of a link have the same GUIDs in both.
func samePorts(f *fabric.Fabric, l fabric.Link, old *fabric.Fabric, m mapping) bool {
	for _, e := range [2]fabric.End{l.A, l.B} {
		x, ok := m.end(e, old)
		if !ok || old.Port(x).GUID != f.Port(e).GUID {
			return false
		}
	}
	return true
}

// errNoFabric tells that there was no Rebase yet.
var errNoFabric = errors.New("multicast: no fabric yet")

// Dependencies looks for a cycle among the channels that wait for each other:
// those of all trees, and of the paths of unicast where tables are given. Their
// graph may be of another numbering.
func (r *Router) Dependencies(unicast *route.LFTs) (route.Cycle, error) {
	if r.state == nil {
		return nil, errNoFabric
	}
	if unicast == nil {
		d := route.NewDependencies(r.state.Graph)
		d.AddTrees(r.state)
		return d.Cycle(), nil
	}
	d := route.NewDependencies(unicast.Graph)
	d.AddPaths(unicast)
	d.AddTrees(r.stateOn(unicast.Graph))
	return d.Cycle(), nil
}

// stateOn is the trees in the numbers of another graph, without the links that
// it has not got.
func (r *Router) stateOn(g *route.Graph) *route.State {
	m := newMapping(r.fabric, g.Fabric())
	edges := m.edges(r.state.Graph, g)
	s := route.NewState(g, nil)
	var list []int32
	for idx := range r.state.NumTrees() {
		t := r.state.Tree(idx)
		if t.Root < 0 || m.node[r.state.Graph.Node(t.Root)] == fabric.NoNode {
			continue
		}
		list = list[:0]
		for _, e := range t.Edges {
			if edges[e] >= 0 {
				list = append(list, edges[e])
			}
		}
		s.Put(idx, route.Tree{Root: g.Vertex(m.node[r.state.Graph.Node(t.Root)]), Edges: list})
	}
	return s
}

// Load tells how the trees load the fabric: the maximum EFI and the links that
// they use, those of all trees together.
func (r *Router) Load() (maxEFI, uses int) {
	if r.state == nil {
		return 0, 0
	}
	for idx := range r.state.NumTrees() {
		uses += len(r.state.Tree(idx).Edges)
	}
	return r.state.Top(), uses
}

// CutOff names all ports that are not reached, by MLID. Those of groups whose
// tree no engine could lay are among them.
func (r *Router) CutOff() (list []CutOff) {
	for idx := range r.groups {
		list = append(list, r.groups[idx].cut...)
	}
	return list
}

// Tables are what the switches should hold; for dumps. Graph is that of the last
// view, in numbers of its own.
func (r *Router) Tables() *route.MFTs {
	if r.state == nil {
		return nil
	}
	t := &route.MFTs{Graph: r.state.Graph, Tables: make([]route.MFT, r.state.Graph.NumVertices())}
	for idx := range r.groups {
		for _, at := range r.groups[idx].drawn {
			table := &t.Tables[at.vertex]
			if n := len(*table); n == 0 || (*table)[n-1].MLID != mlidOf(idx) {
				*table = append(*table, route.MFTEntry{MLID: mlidOf(idx)})
			}
			(*table)[len(*table)-1].Ports.Add(at.port)
		}
	}
	return t
}

// MLIDsThrough lists the MLIDs whose trees use a link, which is named by the
// node GUID and port of one of its ends.
func (r *Router) MLIDsThrough(node ib.GUID, port uint16) (list []ib.MLID) {
	if r.state == nil {
		return nil
	}
	id, ok := r.fabric.ByGUID(node)
	if !ok {
		return nil
	}
	link := r.fabric.Port(fabric.End{Node: id, Port: port}).Link
	if link == fabric.NoLink || r.state.Graph.Edge(link) < 0 {
		return nil
	}
	for idx := range r.state.NumTrees() {
		if slices.Contains(r.state.Tree(idx).Edges, r.state.Graph.Edge(link)) {
			list = append(list, mlidOf(idx))
		}
	}
	return list
}

func sorted(list []int) []int {
	slices.Sort(list)
	return list
}
