package emu

import (
	"heddle/fabric"
	"heddle/ib"
)

// Channel is one direction of a link and a VL: that in which a port sends.
type Channel struct {
	From fabric.End
	VL   ib.VL
}

// Deadlock finds channels of which each waits until the next one's far end has
// room, and the last one for the first: a deadlock, which ends only when packets
// there get too old (PortInfo:HOQLife) or a link goes down. It is nil where
// there is none, and without Config.Wire. It takes time linear in the ports.
func (s *Subnet) Deadlock() []Channel {
	w := s.data.wires
	if w == nil {
		return nil
	}
	f := finder{w: w, seen: make([]visit, len(w.sides)*s.cfg.VLs)}
	for slot := range w.sides {
		for vl := range s.cfg.VLs {
			if f.search(int32(slot), ib.VL(vl)) {
				return f.cycle
			}
		}
	}
	return nil
}

type visit uint8

const (
	unseen visit = iota
	onPath
	finished
)

// finder searches what waits for what, depth first.
type finder struct {
	w     *wires
	seen  []visit
	path  []Channel
	cycle []Channel
}

// search looks for a cycle among what a channel waits for.
func (f *finder) search(slot int32, vl ib.VL) bool {
	at := &f.seen[int(slot)*f.w.s.cfg.VLs+int(vl)]
	here := Channel{f.w.sides[slot].end, vl}
	switch *at {
	case onPath:
		for i, c := range f.path {
			if c == here {
				f.cycle = f.path[i:]
			}
		}
		return true
	case finished:
		return false
	case unseen:
	}
	c, peer := f.blockedBy(slot, vl)
	if c == nil {
		*at = finished
		return false
	}
	*at = onPath
	f.path = append(f.path, here)
	if f.waitsFor(c, peer) {
		return true
	}
	f.path = f.path[:len(f.path)-1]
	*at = finished
	return false
}

// waitsFor searches the channels by which a cargo at a node still has to leave.
func (f *finder) waitsFor(c *cargo, node fabric.NodeID) bool {
	for p := 1; p < len(f.w.s.nodes[node].ports); p++ {
		slot := f.w.slot(fabric.End{Node: node, Port: uint16(p)})
		for vl := range f.w.sides[slot].lanes {
			if f.w.sides[slot].lanes[vl].holds(c) && f.search(slot, ib.VL(vl)) {
				return true
			}
		}
	}
	return false
}

// holds tells whether a branch of a cargo waits in a queue.
func (q *queue) holds(c *cargo) bool {
	for b := q.first; b != nil; b = b.next {
		if b.c == c {
			return true
		}
	}
	return false
}

// blockedBy is the cargo whose leaving the first packet of a queue waits for,
// and the node that it is in; nil where the packet can be sent, be it only when
// credits that are on their way have come.
func (f *finder) blockedBy(slot int32, vl ib.VL) (*cargo, fabric.NodeID) {
	a := &f.w.sides[slot]
	b := a.lanes[vl].first
	if b == nil {
		return nil, 0
	}
	far, ok := f.w.far(a)
	if !ok {
		return nil, 0
	}
	q := &f.w.sides[far].lanes[vl]
	if q.room >= blocks(&b.c.p.head) {
		return nil, 0
	}
	return q.in, f.w.sides[far].end.Node
}
