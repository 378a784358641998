package multicast

import (
	"slices"

	"heddle/fabric"
	"heddle/ib"
)

// resolve finds the leaves and taps of a group in the fabric of today.
func (r *Router) resolve(idx int) {
	e, t := &r.groups[idx], r.tier(idx)
	e.leaves, e.taps, e.cut = e.leaves[:0], e.taps[:0], e.cut[:0]
	part := r.island(e, t)
	kept := 0
	for i, guid := range e.ports {
		at, why := r.leaf(t, guid)
		if why == "" && t.g.Part(at.vertex) != part {
			why = "no path leads to its switch " + t.g.Label(at.vertex)
		}
		if why != "" {
			e.cut = append(e.cut, CutOff{mlidOf(idx), guid, why})
			continue
		}
		kept++
		e.leaves = append(e.leaves, at.vertex)
		if i < e.receive {
			e.taps = append(e.taps, at)
		}
	}
	if kept < 2 || len(e.taps) == 0 {
		e.leaves, e.taps = e.leaves[:0], e.taps[:0]
	}
	slices.Sort(e.leaves)
	e.leaves = slices.Compact(e.leaves)
}

// island is the part of the fabric that most ports of a group are in, of equals
// that of the first; -1 where there is none.
func (r *Router) island(e *entry, t *tier) int32 {
	best := int32(-1)
	for _, guid := range e.ports {
		at, why := r.leaf(t, guid)
		if why != "" {
			continue
		}
		part := t.g.Part(at.vertex)
		if best >= 0 && part != best {
			return r.largest(e, t)
		}
		best = part
	}
	return best
}

func (r *Router) largest(e *entry, t *tier) int32 {
	count, order := map[int32]int{}, []int32(nil)
	for _, guid := range e.ports {
		at, why := r.leaf(t, guid)
		if why != "" {
			continue
		}
		part := t.g.Part(at.vertex)
		if count[part] == 0 {
			order = append(order, part)
		}
		count[part]++
	}
	best := order[0]
	for _, part := range order {
		if count[part] > count[best] {
			best = part
		}
	}
	return best
}

// leaf is the port of a switch that a port hangs on, or why it is not reached.
func (r *Router) leaf(t *tier, guid ib.GUID) (at tap, why string) { return leafOf(r.fabric, t, guid) }

func leafOf(f *fabric.Fabric, t *tier, guid ib.GUID) (at tap, why string) {
	end, ok := f.ByPortGUID(guid)
	if !ok || !f.NodeUp(end.Node) {
		return tap{}, "it is not in the fabric"
	}
	leaf, ok := f.Leaf(end)
	if !ok {
		return tap{}, "it hangs on no live switch"
	}
	at = tap{t.g.Vertex(leaf.Node), leaf.Port}
	if !t.g.Usable(at.vertex) {
		return tap{}, t.whyNot(f, leaf.Node)
	}
	return at, ""
}
