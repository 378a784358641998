package multicast

import (
	"errors"
	"fmt"
	"slices"

	"heddle/fabric"
	"heddle/route"
)

// errTree tells that what an engine returned is no tree of the group.
var errTree = errors.New("what it laid is no tree of the group")

// lay routes a group by the first engine that can. If none can, the old tree
// stays.
func (r *Router) lay(idx int) {
	t, leaves, old := r.tier(idx), r.groups[idx].leaves, r.state.Tree(idx)
	if r.before != nil {
		old = r.before.Tree(idx)
	}
	r.old = append(r.old[:0], old.Edges...)
	old.Edges = r.old
	r.setTree(idx, noTree)
	if len(leaves) == 1 {
		r.setTree(idx, route.Flat(leaves))
		r.report.Laid++
		return
	}
	for k := range r.cfg.Engines {
		if r.failed[k] {
			continue
		}
		tree, err := r.ask(t, k, leaves)
		if err == nil {
			r.setTree(idx, tree)
			r.report.Laid++
			r.report.Engine = r.cfg.Engines[k].Name
			return
		}
		r.fail(t, k, idx, err)
	}
	r.report.Unrouted = append(r.report.Unrouted, mlidOf(idx))
	if old.Root >= 0 && r.usable(t, old) {
		r.setTree(idx, old)
	}
	r.nameMissed(idx)
}

// laying is what an engine is asked for, and gives. It is the engine's until that
// returns.
type laying struct {
	router route.Router
	tree   route.Tree
	err    error
}

// ask lets one engine lay one tree, and looks at what it laid.
func (r *Router) ask(t *tier, engine int, leaves []int32) (tree route.Tree, err error) {
	c := t.finder.Find(leaves)
	if c.Radius == route.Far {
		return tree, &route.NoRootError{}
	}
	e, s, l := &r.cfg.Engines[engine], r.state, &laying{router: t.routers[engine]}
	leaves = slices.Clone(leaves)
	if err := r.cfg.Run(e.Name, func() { l.lay(e, t, s, leaves, c) }); err != nil {
		r.leave(t)
		return tree, err
	}
	if t.routers[engine] = l.router; l.err == nil && !r.reaches(t, l.tree, leaves) {
		l.err = errTree
	}
	return l.tree, l.err
}

func (l *laying) lay(e *Engine, t *tier, s *route.State, leaves []int32, c route.Centers) {
	l.err = guarded(func() error {
		if l.router == nil {
			l.router = e.New(t.g, t.h)
		}
		l.tree = l.router.Route(s, leaves, c)
		return nil
	})
}

// leave leaves what an engine works on to it, which is not waited for.
func (r *Router) leave(t *tier) {
	r.renew()
	t.finder = route.NewFinder(t.h)
}

// fail notes that an engine failed: it is not asked again in this call, and is
// made anew for the next.
func (r *Router) fail(t *tier, engine, idx int, err error) {
	r.failed[engine] = true
	t.routers[engine] = nil
	r.report.Failures = append(r.report.Failures, Failure{r.cfg.Engines[engine].Name, mlidOf(idx), err})
}

// guarded turns a panic of an engine into an error.
func guarded(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return f()
}

// usable tells whether a tree is one, of links that can be used.
func (r *Router) usable(t *tier, tree route.Tree) bool { return r.reaches(t, tree, nil) }

// reaches tells whether that is a tree of usable links that reaches the leaves.
func (r *Router) reaches(t *tier, tree route.Tree, leaves []int32) bool {
	if tree.Root < 0 || int(tree.Root) >= t.g.NumVertices() || !t.g.Usable(tree.Root) {
		return false
	}
	for _, e := range tree.Edges {
		if e < 0 || int(e) >= t.g.NumEdges() || !t.g.EdgeUp(e) {
			return false
		}
	}
	w := &r.twig
	w.plant(tree)
	if len(w.all) != len(tree.Edges)+1 || !w.connected() {
		return false
	}
	for _, v := range leaves {
		if !w.has(v) {
			return false
		}
	}
	return true
}

// nameMissed names the ports that the tree at hand does not reach because no
// engine could lay another.
func (r *Router) nameMissed(idx int) {
	e, t := &r.groups[idx], r.tier(idx)
	tree := r.state.Tree(idx)
	if tree.Root >= 0 {
		r.twig.plant(tree)
	}
	for _, guid := range e.ports {
		if at, why := r.leaf(t, guid); why == "" && (tree.Root < 0 || !r.twig.has(at.vertex)) {
			c := CutOff{mlidOf(idx), guid, "no engine could route the group"}
			e.cut = append(e.cut, c)
			r.report.CutOff = append(r.report.CutOff, c)
		}
	}
}

// improve lets the engine better the trees that it laid in this call, where it
// can, against the load of all others. It does not touch what another one laid.
func (r *Router) improve() {
	const engine = 0
	if r.failed[engine] {
		return
	}
	for _, t := range r.tiers {
		var list []int
		for _, idx := range r.fresh {
			if r.tier(idx) == t && len(r.groups[idx].leaves) > 1 {
				list = append(list, idx)
			}
		}
		if im, ok := t.routers[engine].(route.Improver); ok && len(list) > 1 {
			r.improveTier(t, im, engine, list)
		}
	}
}

// improveTier betters a copy, in which the groups of the list are the first, so
// that whatever the engine does to them, the others stay.
func (r *Router) improveTier(t *tier, im route.Improver, engine int, list []int) {
	s := route.NewState(t.g, t.h)
	demand := make([]fabric.Group, len(list))
	listed := make([]bool, len(r.groups))
	for i, idx := range list {
		s.Put(i, r.state.Tree(idx))
		demand[i] = asGroup(t.g, r.groups[idx].leaves)
		listed[idx] = true
	}
	next := len(list)
	for idx := range r.groups {
		if tree := r.state.Tree(idx); tree.Root >= 0 && !listed[idx] {
			s.Put(next, tree)
			next++
		}
	}
	d := route.NewDemand(t.g, demand)
	failed, finder := new(error), t.finder
	err := r.cfg.Run(r.cfg.Engines[engine].Name, func() {
		*failed = guarded(func() error { im.Improve(s, d, finder); return nil })
	})
	if err != nil {
		r.leave(t)
		r.fail(t, engine, list[0], fmt.Errorf("improving: %w", err))
		return
	}
	err = *failed
	for i, idx := range list {
		tree := s.Tree(i)
		if err == nil && !r.reaches(t, tree, r.groups[idx].leaves) {
			err = errTree
		}
		if err != nil {
			r.fail(t, engine, idx, fmt.Errorf("improving: %w", err))
			return
		}
		r.setTree(idx, tree)
	}
}

// asGroup is a group of switches.
func asGroup(g *route.Graph, leaves []int32) (group fabric.Group) {
	for _, v := range leaves {
		group.Members = append(group.Members, fabric.End{Node: g.Node(v)})
	}
	return group
}
