package multicast

import (
	"fmt"

	"heddle/fabric"
	"heddle/route"
	"heddle/sm/subnet"
)

// Rebase moves all to the fabric of a new view. Where that has nothing that the
// fabrics of before had not, nodes and links keep their numbers, and only what
// is gone or back is worked on; else all is numbered anew, and the trees are
// carried over. Trees that used what is gone are laid anew. Call it too after
// held was made to forget something. The error is of a fabric too wide to route;
// then all stays as it was.
func (r *Router) Rebase(v *subnet.View) (Report, error) {
	r.begin()
	before := r.fabric
	if err := r.move(v.Fabric); err != nil {
		return r.report, fmt.Errorf("multicast: %w", err)
	}
	r.meet(v)
	for idx := range r.groups {
		if e := &r.groups[idx]; e.used && (r.fabric != before || len(e.cut) > 0) {
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
