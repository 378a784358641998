package emu

import (
	"heddle/fabric"
	"heddle/ib"
)

// holds tells whether a port's P_Key table has a key that matches.
func (s *Subnet) holds(e fabric.End, key ib.PKey) bool {
	for _, k := range s.pkeys(e) {
		if k.Matches(key) {
			return true
		}
	}
	return false
}

// partitionAllows is a switch's enforcement of partitions at an external port
// where its manager switched that on (IBTA 1, 18.2.4.2). Subnet management
// passes always.
func (s *Subnet) partitionAllows(e fabric.End, x *port, p *Packet, inbound bool) bool {
	if !x.info.PartitionEnforcementInbound && inbound || !x.info.PartitionEnforcementOutbound && !inbound {
		return true
	}
	if p.MAD.Class().IsSMP() || !s.isSwitch(e.Node) || s.holds(e, p.PKey) {
		return true
	}
	s.trapSwitchBadPKey(e, p)
	return false
}
