package multicast

import (
	"math/bits"

	"heddle/ib"
	"heddle/mad"
	"heddle/sm/plan"
)

// A switch with a MulticastFDBTop forwards no MLID beyond it, whatever its table
// has there. When the top rises, what another manager left there would come
// alive, and so has to be gone before.

// rise is a switch whose top is too low for what is to be written.
type rise struct {
	vertex int32
	info   mad.SwitchInfo
	from   int // the first MLID index that it does not forward
	need   int // the last one that it has to
}

// topOf is the SwitchInfo of a switch and the last MLID index that it forwards,
// -1 for none; ok is false for one that has no top, and forwards all.
func (r *Router) topOf(held *plan.Held, v int32) (info mad.SwitchInfo, top int, ok bool) {
	n := r.nodes[r.state.Graph.Node(v)]
	if n.Ports[0].Info.CapabilityMask&mad.CapMulticastFDBTop == 0 {
		return info, 0, false
	}
	if info = held.Switch(n.GUID()).Info; info == (mad.SwitchInfo{}) {
		info = n.Switch
	}
	return info, max(int(info.MulticastFDBTop)-int(mlidOf(0)), -1), true
}

// rises lists the switches with work whose tops have to rise.
func (r *Router) rises(held *plan.Held, list []work) (rises []rise) {
	for i := range list {
		v := list[i].vertex
		if r.plan.topped[v] {
			continue
		}
		r.plan.topped[v] = true
		info, top, ok := r.topOf(held, v)
		if need := r.want.top(v); ok && top < need {
			rises = append(rises, rise{v, info, top + 1, need})
		}
	}
	for i := range list {
		r.plan.topped[list[i].vertex] = false
	}
	return rises
}

// exposed calls f for the blocks without a cell that come alive when tops rise as
// far as they have to, and are not known to be empty; b is what such a block
// holds, nil where that is not known. A switch that was reset has nothing.
func (r *Router) exposed(held *plan.Held, list []work, f func(c *cell, b *mad.MulticastForwarding)) {
	if len(list) == 0 {
		return
	}
	r.plan.size(r.state.Graph)
	for _, x := range r.rises(held, list) {
		for block := x.from / rows; block <= x.need/rows; block++ {
			for position, cells := range r.want.cells[x.vertex] {
				c := cell{vertex: x.vertex, position: uint8(position), block: uint16(block)}
				if block < len(cells) && cells[block] != nil {
					continue
				}
				if b := r.leftIn(held, &c); b == nil || *b != (mad.MulticastForwarding{}) {
					f(&c, b)
				}
			}
		}
	}
}

// leftIn is what a block holds that nobody wants anything in, nil where that is
// not known.
func (r *Router) leftIn(held *plan.Held, c *cell) *mad.MulticastForwarding {
	s := held.Switch(r.nodeOf(c).GUID())
	if b := blockOf(s, c); b != nil || !s.Reset {
		return b
	}
	return &mad.MulticastForwarding{}
}

// cover makes cells for what comes alive and is not to, so that it is cleared;
// it tells whether there is such.
func (r *Router) cover(held *plan.Held, list []work) (found bool) {
	r.exposed(held, list, func(c *cell, _ *mad.MulticastForwarding) {
		r.want.cell(c.vertex, c.position, c.block)
		found = true
	})
	return found
}

// isHidden tells whether a switch does not forward all MLIDs of a cell yet.
func (r *Router) isHidden(held *plan.Held, c *cell) bool {
	_, top, ok := r.topOf(held, c.vertex)
	return ok && top < int(c.block)*rows+rows-1
}

// tops writes the tops that have to rise. They grow by powers of two blocks, so
// that a new block seldom needs it, but only over what is known to be empty.
func (r *Router) tops(held *plan.Held, list []work) (smps []plan.SMP) {
	for _, x := range r.rises(held, list) {
		last := x.need / rows
		for most := 1<<bits.Len(uint(last)) - 1; last < most && r.isEmpty(held, x.vertex, last+1); {
			last++
		}
		x.info.MulticastFDBTop, x.info.PortStateChange = uint16(mlidOf(min((last+1)*rows, ib.NumMLIDs)-1)), false
		s := plan.SMP{Node: r.nodes[r.state.Graph.Node(x.vertex)], Attr: mad.AttrSwitchInfo}
		x.info.AppendTo(s.Data[:0])
		smps = append(smps, s)
	}
	return smps
}

// isEmpty tells whether a switch is known to hold nothing in a block.
func (r *Router) isEmpty(held *plan.Held, v int32, block int) bool {
	for position := range r.want.cells[v] {
		c := cell{vertex: v, position: uint8(position), block: uint16(block)}
		if b := r.leftIn(held, &c); b == nil || *b != (mad.MulticastForwarding{}) {
			return false
		}
	}
	return true
}
