package emu

import (
	"math/bits"

	"heddle/ib"
	"heddle/mad"
)

// arbiter chooses among the lanes of a port (IBTA 1, 7.6.9): by the table of
// high priority until that has sent more than PortInfo:VLHighLimit says while
// others waited, then one packet by the other table. In a table the turn goes
// round, and each entry sends until it has sent as much as its weight.
type arbiter struct {
	at   [2]uint8 // by table: the entry whose turn it is
	left [2]int32 // blocks that it may still send
	used priority // of the last choice
	high int32    // blocks sent by the table of high priority while others had to wait
}

type priority uint8

const (
	lowTable priority = iota
	highTable
)

const (
	tableLen  = 64
	noLimit   = 255
	highUnits = 4096 / block
)

// choose picks a lane among those that are ready; ok is false where no table
// has one of them.
func (a *arbiter) choose(s *Subnet, x *port, ready uint16) (vl ib.VL, ok bool) {
	if !x.arbitrates() && ready&(ready-1) == 0 {
		a.used = lowTable
		return ib.VL(bits.TrailingZeros16(ready)), true
	}
	limit := x.info.VLHighLimit
	if limit == noLimit || a.high <= int32(limit)*highUnits {
		if vl, ok := a.scan(s, x, highTable, ready); ok {
			return vl, true
		}
	}
	a.high = 0
	if vl, ok := a.scan(s, x, lowTable, ready); ok {
		return vl, true
	}
	return a.scan(s, x, highTable, ready)
}

// arbitrates tells whether somebody wrote a table of the port.
func (x *port) arbitrates() bool {
	return x.tables != nil && x.tables.vlarb != [5]*mad.VLArbitration{}
}

// scan finds the entry of a table whose turn it is.
func (a *arbiter) scan(s *Subnet, x *port, t priority, ready uint16) (ib.VL, bool) {
	length := tableLen
	if !x.arbitrates() {
		length = s.cfg.VLs // the rest is empty
	}
	for k := range length + 1 {
		i := (int(a.at[t]) + k) % length
		e := s.arbitration(x, t, i)
		if e.Weight == 0 || ready>>e.VL&1 == 0 || k == 0 && a.left[t] <= 0 {
			continue
		}
		if k > 0 {
			a.at[t], a.left[t] = uint8(i), int32(e.Weight)
		}
		a.used = t
		return e.VL, true
	}
	return 0, false
}

// charge counts what was sent by the last choice.
func (a *arbiter) charge(blocks int32) {
	a.left[a.used] -= blocks
	if a.used == highTable {
		a.high += blocks
	}
}

// arbitration is an entry of one of a port's tables.
func (s *Subnet) arbitration(x *port, t priority, i int) mad.VLWeight {
	part := mad.VLArbitrationLowFirst
	if t == highTable {
		part = mad.VLArbitrationHighFirst
	}
	if i >= tableLen/2 {
		part++
		i -= tableLen / 2
	}
	switch {
	case x.tables != nil && x.tables.vlarb[part] != nil:
		return x.tables.vlarb[part][i]
	case part == mad.VLArbitrationLowFirst && i < s.cfg.VLs:
		return mad.VLWeight{VL: ib.VL(i), Weight: powerOnWeight}
	}
	return mad.VLWeight{}
}
