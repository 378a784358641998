package plan

import (
	"iter"

	"heddle/mad"
	"heddle/sm/subnet"
)

// Lanes yields a Set for each table of the lanes that ports should hold, if
// PortRules.QoS says so: SLtoVLMapping of ports that know it and have several
// lanes, by the ports that packets come in by, and VLArbitration. Links without
// anybody behind them are left out. A switch that takes one table for all ports
// that packets come in by gets it.
func Lanes(v *subnet.View, r PortRules) iter.Seq[SMP] {
	return func(yield func(SMP) bool) {
		if r.QoS == nil {
			return
		}
		for _, n := range v.Nodes {
			for i := range n.Ports {
				p := PortRef{n, uint8(i)}
				if p.hasLanes() && !p.lanes(r, yield) {
					return
				}
			}
		}
	}
}

// UnknownLanes yields those tables of Lanes of which it is not known what the
// port holds, to be read; what Held is told of them ends that.
func UnknownLanes(v *subnet.View, r PortRules, h *Held) iter.Seq[SMP] {
	return func(yield func(SMP) bool) {
		for s := range Lanes(v, r) {
			if known, _ := h.table(&s); !known && !s.isWildcard() && !yield(s) {
				return
			}
		}
	}
}

// LaneStage is the stage that writes the tables of the lanes which ports do not
// hold.
func LaneStage(v *subnet.View, r PortRules, h *Held) Stage {
	stage := Stage{Name: "lanes"}
	for s := range Lanes(v, r) {
		if _, held := h.table(&s); !held {
			stage.SMPs = append(stage.SMPs, s)
		}
	}
	return stage
}

// hasLanes tells whether the port may have several lanes, and is in use.
func (p PortRef) hasLanes() bool {
	return p.hasState() && max(p.At().Info.VLCap, p.At().Info.OperationalVLs) > mad.DataVLs1
}

// numLanes is how many data lanes the link will have, and use.
func (p PortRef) numLanes(r PortRules, l *LaneRules) int {
	want, _ := p.wanted(r)
	return max(1, min(want.OperationalVLs.Lanes(), l.MaxVLs))
}

// lanes yields the tables of a port.
func (p PortRef) lanes(r PortRules, yield func(SMP) bool) bool {
	rules := r.QoS.of(p)
	lanes := p.numLanes(r, rules)
	for _, part := range p.arbitrationParts() {
		list := rules.Low
		if part >= mad.VLArbitrationHighFirst {
			list = rules.High
		}
		var out uint8
		if p.Node.IsSwitch() {
			out = p.Port
		}
		first := int(part-mad.VLArbitrationLowFirst) % 2 * len(mad.VLArbitration{})
		table := arbitration(list, first, lanes)
		if !yield(set(p.Node, p.keyPort(), mad.AttrVLArbitration, mad.VLArbitrationModifier(part, out), table)) {
			return false
		}
	}
	if p.Node.Ports[p.keyPort()].Info.CapabilityMask&mad.CapSLMapping == 0 {
		return true
	}
	mapping := rules.mapping(lanes)
	for _, modifier := range p.mappings() {
		if !yield(set(p.Node, p.keyPort(), mad.AttrSLtoVLMapping, modifier, mapping)) {
			return false
		}
	}
	return true
}

// arbitrationParts are those of the tables that the port has.
func (p PortRef) arbitrationParts() (parts []mad.VLArbitrationPart) {
	info, half := &p.At().Info, uint8(len(mad.VLArbitration{}))
	for _, t := range []struct {
		part mad.VLArbitrationPart
		has  bool
	}{
		{mad.VLArbitrationLowFirst, info.VLArbitrationLowCap > 0},
		{mad.VLArbitrationLowSecond, info.VLArbitrationLowCap > half},
		{mad.VLArbitrationHighFirst, info.VLArbitrationHighCap > 0},
		{mad.VLArbitrationHighSecond, info.VLArbitrationHighCap > half},
	} {
		if t.has {
			parts = append(parts, t.part)
		}
	}
	return parts
}

// wildcard is the bit of SLtoVLMapping's modifier that means all ports that
// packets come in by (IBTA 1, 14.2.5.8).
const wildcard uint32 = 1 << 17

func (s *SMP) isWildcard() bool { return s.Attr == mad.AttrSLtoVLMapping && s.Modifier&wildcard != 0 }

// mappings are the modifiers of a port's SLtoVLMappings: one for an adapter's
// port, and one for each port of a switch by which packets may come in.
func (p PortRef) mappings() (modifiers []uint32) {
	if !p.Node.IsSwitch() {
		return []uint32{0}
	}
	if p.Node.Switch.OptimizedSLtoVLMappingProgramming&1 != 0 {
		return []uint32{wildcard | uint32(p.Port)}
	}
	for in := range p.Node.Ports {
		from := PortRef{p.Node, uint8(in)}
		if in == 0 || from.hasState() {
			modifiers = append(modifiers, mad.SLtoVLModifier(uint8(in), p.Port))
		}
	}
	return modifiers
}
