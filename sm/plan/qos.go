package plan

import (
	"heddle/ib"
	"heddle/mad"
)

// QoSRules say which lanes service levels go by and how lanes share links, by
// what a port belongs to.
type QoSRules struct {
	// Always has the tables written in any case. Otherwise the manager does so
	// only where a service level other than 0 is in use, see the package's text.
	Always bool
	// Adapter is for adapters' ports, External for those of switches, Port0 for
	// the enhanced port 0 of a switch, Router for routers' ports.
	Adapter, External, Port0, Router LaneRules
}

// LaneRules are those of one kind of port.
type LaneRules struct {
	// MaxVLs is how many data lanes are used at most, from 1 to 15.
	MaxVLs int
	// HighLimit is how much may be sent with high priority while low priority
	// waits, in units of 4096 bytes; 0 is one packet, 255 no limit.
	HighLimit uint8
	// High and Low are the entries of the arbitration tables, up to 64 each.
	// Those of lanes that a link does not have are left out.
	High, Low []mad.VLWeight
	// SLtoVL is the lane of each service level, taken modulo the lanes of the
	// link; 15 drops the packet.
	SLtoVL mad.SLtoVLMapping
}

// DefaultQoSRules are those that OpenSM's manual gives for all kinds of ports:
// 15 lanes, level i by lane i and 15 by lane 7, lane 0 with high priority, and
// the others alike with low.
func DefaultQoSRules() *QoSRules {
	l := LaneRules{MaxVLs: maxLanes}
	for i := range maxLanes {
		high, low := mad.VLWeight{VL: ib.VL(i)}, mad.VLWeight{VL: ib.VL(i), Weight: 4}
		if i == 0 {
			high, low = low, high
		}
		l.High, l.Low = append(l.High, high), append(l.Low, low)
		l.SLtoVL[i] = ib.VL(i)
	}
	l.SLtoVL[15] = 7
	return &QoSRules{Adapter: l, External: l, Port0: l, Router: l}
}

const maxLanes = 15

// of are the rules for a port.
func (q *QoSRules) of(p PortRef) *LaneRules {
	switch {
	case p.Node.Info.NodeType == mad.NodeRouter:
		return &q.Router
	case !p.Node.IsSwitch():
		return &q.Adapter
	case p.Port == 0:
		return &q.Port0
	default:
		return &q.External
	}
}

// mapping is the table of a port with so many lanes.
func (l *LaneRules) mapping(lanes int) (m mad.SLtoVLMapping) {
	for sl, vl := range l.SLtoVL {
		if m[sl] = vl; vl != dropVL {
			m[sl] = vl % ib.VL(lanes)
		}
	}
	return m
}

// dropVL is the lane of management, by which a mapping drops a level.
const dropVL ib.VL = 15

// arbitration is a part of a table: the entries from first on, of a port with
// so many lanes.
func arbitration(list []mad.VLWeight, first, lanes int) (t mad.VLArbitration) {
	if first >= len(list) {
		return t
	}
	for i, e := range list[first:min(len(list), first+len(t))] {
		if int(e.VL) < lanes {
			t[i] = e
		}
	}
	return t
}
