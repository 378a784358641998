package plan

import (
	"heddle/mad"
	"heddle/sm/subnet"
)

// SMP is one Set, to be sent by directed route.
type SMP struct {
	Node *subnet.Node
	// Port is the port whose route the SMP takes: that of an adapter which is
	// set up, 0 in a switch.
	Port     uint8
	Attr     mad.AttrID
	Modifier uint32
	Data     [64]byte
}

// Stage is a set of SMPs with a barrier after them.
type Stage struct {
	// Name says what the stage does, for the log and the metrics: "lids".
	Name string
	SMPs []SMP
}

// set makes the SMP of an attribute.
func set(n *subnet.Node, port uint8, attr mad.AttrID, modifier uint32, a mad.Attribute) SMP {
	s := SMP{Node: n, Port: port, Attr: attr, Modifier: modifier}
	a.AppendTo(s.Data[:0])
	return s
}

// Path is the directed route of the SMP.
func (s *SMP) Path() []uint8 { return s.Node.Ports[s.Port].Path }
