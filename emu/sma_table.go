package emu

import (
	"heddle/fabric"
	"heddle/ib"
	"heddle/mad"
)

// tables are a port's tables once somebody wrote them; nil ones are as at
// power-on.
type tables struct {
	pkeys []ib.PKey
	guids []ib.GUID
	// slvl is the table of what goes out of this port, by the port that it
	// came in; an adapter's only one is that of port 0.
	slvl  map[uint8]mad.SLtoVLMapping
	vlarb [5]*mad.VLArbitration // by part, from 1
}

func (x *port) ownTables() *tables {
	if x.tables == nil {
		x.tables = &tables{}
	}
	return x.tables
}

// tablePort is the port whose table a modifier means: in a switch any, in an
// adapter always its own.
func (s *Subnet) tablePort(q *request, number uint8) (fabric.End, bool) {
	if !s.isSwitch(q.at.Node) {
		return q.at, true
	}
	e := fabric.End{Node: q.at.Node, Port: uint16(number)}
	return e, s.has(e)
}

func (s *Subnet) pkeyTable(q *request) mad.Status {
	number, block := mad.SplitPKeyTableModifier(q.m.Modifier())
	e, ok := s.tablePort(q, number)
	length := s.pkeyCap(e)
	if !ok || int(block) >= (length+31)/32 {
		return mad.StatusBadField
	}
	if q.set {
		keys, err := mad.ParsePKeyTable(q.data)
		if err != nil {
			return mad.StatusBadField
		}
		s.setPKeys(e, int(block), keys)
	}
	var t mad.PKeyTable
	copy(t[:], s.pkeys(e)[min(int(block)*len(t), len(s.pkeys(e))):])
	return q.reply(t)
}

// pkeyCap is the length of a port's P_Key table: the node's, or that for
// enforcement at a switch's external port.
func (s *Subnet) pkeyCap(e fabric.End) int {
	if s.isSwitch(e.Node) && e.Port > 0 {
		return s.cfg.SwitchPKeys
	}
	return s.cfg.PKeys
}

// powerOnPKeys is the table of a port that nobody wrote.
var powerOnPKeys = [...]ib.PKey{ib.DefaultPKey}

func (s *Subnet) pkeys(e fabric.End) []ib.PKey {
	if t := s.portOf(e).tables; t != nil && t.pkeys != nil {
		return t.pkeys
	}
	return powerOnPKeys[:]
}

func (s *Subnet) setPKeys(e fabric.End, block int, keys mad.PKeyTable) {
	t := s.portOf(e).ownTables()
	if t.pkeys == nil {
		t.pkeys = make([]ib.PKey, s.pkeyCap(e))
		copy(t.pkeys, powerOnPKeys[:])
	}
	copy(t.pkeys[block*len(keys):], keys[:])
}

func (s *Subnet) slToVL(q *request) mad.Status {
	in, out := mad.SplitSLtoVLModifier(q.m.Modifier())
	e, ok := s.tablePort(q, out)
	if !ok || uint16(in) > s.nodes[e.Node].numPorts {
		return mad.StatusBadField
	}
	if !s.isSwitch(e.Node) {
		in = 0
	}
	if q.set {
		m, err := mad.ParseSLtoVLMapping(q.data)
		if err != nil {
			return mad.StatusBadField
		}
		s.setSLtoVL(e, in, m)
	}
	return q.reply(s.slvl(e, in))
}

func (s *Subnet) slvl(e fabric.End, in uint8) mad.SLtoVLMapping {
	if t := s.portOf(e).tables; t != nil {
		if m, ok := t.slvl[in]; ok {
			return m
		}
	}
	return s.powerOnSLtoVL()
}

// powerOnSLtoVL spreads the service levels over the lanes that there are.
func (s *Subnet) powerOnSLtoVL() (m mad.SLtoVLMapping) {
	for sl := range m {
		m[sl] = ib.VL(sl % s.cfg.VLs)
	}
	return m
}

func (s *Subnet) setSLtoVL(e fabric.End, in uint8, m mad.SLtoVLMapping) {
	t := s.portOf(e).ownTables()
	if t.slvl == nil {
		t.slvl = map[uint8]mad.SLtoVLMapping{}
	}
	t.slvl[in] = m
}

func (s *Subnet) vlArbitration(q *request) mad.Status {
	part, number := mad.SplitVLArbitrationModifier(q.m.Modifier())
	e, ok := s.tablePort(q, number)
	if !ok || part < mad.VLArbitrationLowFirst || part > mad.VLArbitrationHighSecond {
		return mad.StatusBadField
	}
	if q.set {
		a, err := mad.ParseVLArbitration(q.data)
		if err != nil {
			return mad.StatusBadField
		}
		s.portOf(e).ownTables().vlarb[part] = &a
	}
	if t := s.portOf(e).tables; t != nil && t.vlarb[part] != nil {
		return q.reply(*t.vlarb[part])
	}
	return q.reply(s.powerOnArbitration(part))
}

// powerOnWeight is the weight of each lane after power-on.
const powerOnWeight = 4

// powerOnArbitration gives all lanes the same weight at low priority.
func (s *Subnet) powerOnArbitration(part mad.VLArbitrationPart) (a mad.VLArbitration) {
	if part == mad.VLArbitrationLowFirst {
		for vl := range s.cfg.VLs {
			a[vl] = mad.VLWeight{VL: ib.VL(vl), Weight: powerOnWeight}
		}
	}
	return a
}
