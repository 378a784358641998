package emu

import (
	"fmt"

	"heddle/fabric"
	"heddle/ib"
	"heddle/mad"
)

// The methods here write what a subnet manager would, without its datagrams,
// for simulations and tests of data.

// SetLID gives a LID, with an LMC, to a port of an adapter, or to port 0 of a
// switch.
func (s *Subnet) SetLID(e fabric.End, lid ib.LID, lmc uint8) error {
	if !s.has(e) || !s.addressed(e) {
		return fmt.Errorf("LID for port %d of node %d: %w", e.Port, e.Node, ErrNoNode)
	}
	if !lid.IsUnicast() || lmc > 7 || lid&(1<<lmc-1) != 0 {
		return fmt.Errorf("LID %v with LMC %d for %s", lid, lmc, s.fabric.EndLabel(e))
	}
	info := &s.portOf(e).info
	info.LID, info.LMC = lid, lmc
	return nil
}

// SetRoute lets a switch forward a LID by a port.
func (s *Subnet) SetRoute(sw fabric.NodeID, lid ib.LID, port uint8) error {
	w := s.nodes[sw].sw
	if w == nil || lid >= ib.LID(w.info.LinearFDBCap) || uint16(port) > s.nodes[sw].numPorts {
		return fmt.Errorf("route of %s to LID %v by port %d", s.fabric.Node(sw).Label(), lid, port)
	}
	at := int(lid) / lidsBlock
	w.lft = reach(w.lft, at)
	if w.lft[at] == nil {
		w.lft[at] = new(mad.LinearForwarding)
		for i := range w.lft[at] {
			w.lft[at][i] = noRoute
		}
	}
	w.lft[at][lid%lidsBlock] = port
	w.info.LinearFDBTop = max(w.info.LinearFDBTop, uint16(lid))
	return nil
}

// SetMulticast adds a port, 0 for the switch's own, to those by which a switch
// forwards an MLID.
func (s *Subnet) SetMulticast(sw fabric.NodeID, m ib.MLID, port uint16) error {
	w := s.nodes[sw].sw
	if w == nil || !m.IsValid() || int(m-ib.FirstMLID) >= int(w.info.MulticastFDBCap) || port > s.nodes[sw].numPorts {
		return fmt.Errorf("route of %s to MLID %v by port %d", s.fabric.Node(sw).Label(), m, port)
	}
	table, i := &w.mft[port/16], int(m-ib.FirstMLID)
	*table = reach(*table, i/mlidsBlock)
	if (*table)[i/mlidsBlock] == nil {
		(*table)[i/mlidsBlock] = new(mad.MulticastForwarding)
	}
	(*table)[i/mlidsBlock][i%mlidsBlock] |= 1 << (port % 16)
	return nil
}

// Activate takes all ports whose links are up to Active, and sets
// PortInfo:HOQLife of the switches: 20 and more let packets wait for ever.
func (s *Subnet) Activate(hoqLife uint8) {
	for id := range s.nodes {
		for p := range s.nodes[id].ports {
			e := fabric.End{Node: fabric.NodeID(id), Port: uint16(p)}
			x := s.portOf(e)
			if s.has(e) && x.linkUp() {
				x.info.PortState, x.info.HOQLife = mad.PortActive, hoqLife&0x1F
			}
		}
	}
}

// Counters are what a port has counted, as PortCountersExtended tells it.
func (s *Subnet) Counters(e fabric.End) mad.PortCountersExtended { return s.portOf(e).counters.total }

// InTime tells whether data packets take their time: Config.Wire is set.
func (s *Subnet) InTime() bool { return s.data.wires != nil }
