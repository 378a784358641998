package multicast

import (
	"heddle/fabric"
	"heddle/ib"
	"heddle/route"
	"heddle/sm/group"
	"heddle/sm/plan"
	"heddle/sm/subnet"
)

// Router knows the trees of all MLIDs and what the switches' tables should
// hold. Its methods are for one goroutine at a time.
type Router struct {
	cfg    Config
	fabric *fabric.Fabric // of the last view, in the numbers of its family
	nodes  []*subnet.Node // by NodeID; nil for what the last view has not got
	tiers  []*tier        // the first one has all switches that can multicast
	state  *route.State   // of the trees, by MLID from ib.FirstMLID on
	before *route.State   // has the trees to fall back to
	put    int            // edges put into the state since it was made
	groups []entry        // by MLID, as in the state
	twig   twig
	want   tables
	report Report
	failed []bool  // engines that failed in this call
	fresh  []int   // groups that an engine has to lay
	old    []int32 // edges of the tree at hand
	ports  group.Ports
	plan   planner

	adopting *plan.Held // of the next Update; nil for none
	holders  holders    // in what is adopted
}

// entry is what is known of one MLID.
type entry struct {
	used    bool
	gone    bool      // it was used, and switches may still have entries
	ports   []ib.GUID // receivers, then senders
	receive int       // how many of ports are receivers
	leaves  []int32   // the vertices that the tree has to reach, ascending
	taps    []tap     // the receivers that can be reached
	drawn   []tap     // what the tables should hold
	cut     []CutOff  // the ports that are not reached
}

// tap is a port of a switch.
type tap struct {
	vertex int32
	port   uint16
}

// Source tells who is in the groups of an MLID: a *group.Table.
type Source interface {
	Ports(mlid ib.MLID, into group.Ports) group.Ports
}

// Update takes up a batch: MLIDs that are to be routed with the ports that they
// have now, and those that serve no group any more.
func (r *Router) Update(b group.Batch, src Source) Report {
	r.begin()
	for _, mlid := range b.Vanished {
		if idx, ok := index(mlid); ok && idx < len(r.groups) {
			r.erase(idx)
			r.groups[idx] = entry{gone: true}
			r.setTree(idx, noTree)
		}
	}
	for _, mlid := range b.Changed {
		idx, ok := index(mlid)
		if !ok {
			continue
		}
		r.ports = src.Ports(mlid, r.ports.Reset())
		r.setPorts(idx, r.ports)
		r.settle(idx)
	}
	r.adopting = nil
	r.finish()
	return r.report
}

// Reroute lays all trees anew, in one pass, whatever they are.
func (r *Router) Reroute() Report {
	r.begin()
	if r.state == nil {
		return r.report
	}
	for idx := range r.groups {
		if len(r.groups[idx].leaves) > 0 {
			r.fresh = append(r.fresh, idx)
		}
	}
	r.before = r.state
	r.state, r.put = route.NewState(r.state.Graph, r.state.Hops), 0
	r.finish()
	return r.report
}

// noTree is the tree of a group that has none.
var noTree = route.Tree{Root: -1}

func index(m ib.MLID) (int, bool) { return int(m) - int(ib.FirstMLID), m.IsValid() }

func mlidOf(idx int) ib.MLID { return ib.FirstMLID + ib.MLID(idx) }

func (r *Router) begin() {
	r.report = Report{}
	r.fresh = r.fresh[:0]
	r.failed = make([]bool, len(r.cfg.Engines))
	r.before = nil
}

// setPorts takes the ports of an MLID.
func (r *Router) setPorts(idx int, p group.Ports) {
	for len(r.groups) <= idx {
		r.groups = append(r.groups, entry{})
	}
	e := &r.groups[idx]
	e.used, e.receive = true, len(p.Receivers)
	e.ports = e.ports[:0]
	for _, gid := range p.Receivers {
		e.ports = append(e.ports, gid.GUID())
	}
	for _, gid := range p.Senders {
		e.ports = append(e.ports, gid.GUID())
	}
}

// settle makes a group's tree fit its ports; where only an engine can do that,
// the group waits in fresh.
func (r *Router) settle(idx int) {
	if r.fabric == nil {
		return
	}
	r.resolve(idx)
	r.report.CutOff = append(r.report.CutOff, r.groups[idx].cut...)
	if r.state.Tree(idx).Root < 0 && len(r.groups[idx].leaves) > 0 {
		r.find(idx)
	}
	t := r.state.Tree(idx)
	switch {
	case len(r.groups[idx].leaves) == 0:
		r.setTree(idx, noTree)
		r.draw(idx)
	case t.Root < 0 || !r.adapt(idx, t):
		r.fresh = append(r.fresh, idx)
	default:
		r.draw(idx)
	}
}

// finish lets the engines lay what waits for them.
func (r *Router) finish() {
	for _, idx := range r.fresh {
		r.lay(idx)
	}
	r.improve()
	for _, idx := range r.fresh {
		r.draw(idx)
	}
	r.compact()
}

// adapt changes a tree to the group's leaves by pruning and grafting, and tells
// whether that gave a tree as low as any.
func (r *Router) adapt(idx int, t route.Tree) bool {
	leaves := r.groups[idx].leaves
	w, tier := &r.twig, r.tier(idx)
	w.plant(t)
	if w.prune(leaves) == 0 {
		return false
	}
	before := len(w.edges)
	missing := false
	for _, v := range leaves {
		missing = missing || !w.has(v)
	}
	if missing && !r.graft(tier, leaves) {
		return false
	}
	if len(w.edges) > before {
		r.report.Grafted++
	} else {
		r.report.Kept++
	}
	r.setTree(idx, route.Tree{Root: w.center(), Edges: w.edges})
	return true
}

func (r *Router) graft(t *tier, leaves []int32) bool {
	limit := 2 * int32(t.finder.Find(leaves).Radius)
	w := &r.twig
	if w.measure() > limit {
		return false
	}
	for _, v := range leaves {
		if !w.has(v) && !w.graft(t.g, r.state.Load(), v, limit) {
			return false
		}
	}
	return true
}

// setTree gives a group its tree. Its old memory is kept even where it gets
// none.
func (r *Router) setTree(idx int, t route.Tree) {
	if r.state == nil || t.Root < 0 && r.state.Tree(idx).Root < 0 {
		return
	}
	r.state.Put(idx, t)
	r.put += len(t.Edges)
}

// compact makes the state anew when most of what was put into it is gone, so
// that it does not grow for ever.
func (r *Router) compact() {
	const slack = 1 << 18
	if r.state == nil || r.put < slack {
		return
	}
	live := 0
	for idx := range r.state.NumTrees() {
		live += len(r.state.Tree(idx).Edges)
	}
	if r.put >= 4*live {
		r.renew()
	}
}

// renew makes a state with the same trees in memory of its own.
func (r *Router) renew() {
	old := r.state
	r.state, r.put = route.NewState(old.Graph, old.Hops), 0
	for idx := range old.NumTrees() {
		r.setTree(idx, old.Tree(idx))
	}
}

// draw puts a group's tree and ports into the wanted tables, in place of what
// was there.
func (r *Router) draw(idx int) {
	r.erase(idx)
	e, t := &r.groups[idx], r.state.Tree(idx)
	if t.Root < 0 || len(e.leaves) == 0 {
		return
	}
	g := r.state.Graph
	r.twig.plant(t)
	for _, edge := range t.Edges {
		a, b := g.Ends(edge)
		l := g.Link(edge)
		if l.A.Node != g.Node(a) {
			a, b = b, a
		}
		e.drawn = append(e.drawn, tap{a, l.A.Port}, tap{b, l.B.Port})
	}
	for _, tap := range e.taps {
		if r.twig.has(tap.vertex) {
			e.drawn = append(e.drawn, tap)
		}
	}
	for _, tap := range e.drawn {
		r.want.set(tap, idx, true)
	}
}

// erase takes a group out of the wanted tables.
func (r *Router) erase(idx int) {
	e := &r.groups[idx]
	for _, tap := range e.drawn {
		r.want.set(tap, idx, false)
	}
	e.drawn = e.drawn[:0]
}
