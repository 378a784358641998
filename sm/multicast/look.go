package multicast

import (
	"errors"
	"slices"

	"heddle/fabric"
	"heddle/ib"
	"heddle/route"
)

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
