package plan

import "heddle/mad"

// Disable is the SMP that disables a switch's port: its link goes down and stays
// so, until somebody enables the port again.
func Disable(p PortRef) SMP {
	want := quiet(p.At())
	want.PortState, want.PortPhysicalState = mad.PortDown, mad.PhysDisabled
	return set(p.Node, p.Port, mad.AttrPortInfo, modifier(p), want)
}
