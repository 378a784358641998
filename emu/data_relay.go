package emu

import (
	"math/bits"

	"heddle/fabric"
	"heddle/ib"
	"heddle/mad"
)

// portSet is a set of a switch's ports.
type portSet [4]uint64

func (p *portSet) add(n uint16)    { p[n>>6&3] |= 1 << (n & 63) }
func (p *portSet) remove(n uint16) { p[n>>6&3] &^= 1 << (n & 63) }
func (p *portSet) empty() bool     { return *p == portSet{} }

// next takes the lowest port out of a set that is not empty.
func (p *portSet) next() uint16 {
	for i, word := range p {
		if word != 0 {
			p[i] &= word - 1
			return uint16(i*64 + bits.TrailingZeros64(word))
		}
	}
	return 0
}

// relay is what a switch's tables make of a packet: the ports that it leaves
// by, port 0 for the switch's own (IBTA 1, 18.2.4.3).
func (w *switchInfo) relay(in uint16, dlid ib.LID) (out portSet, why Loss) {
	switch {
	case ib.MLID(dlid).IsValid():
		out = w.multicast(ib.MLID(dlid))
	case dlid.IsUnicast():
		if p := w.lookup(dlid); p != noRoute {
			out.add(uint16(p))
		}
	}
	if out.empty() {
		return out, LossRoute
	}
	out.remove(in)
	if out.empty() {
		return out, LossBack
	}
	return out, noLoss
}

// multicast is the row of an MLID.
func (w *switchInfo) multicast(m ib.MLID) (out portSet) {
	i := int(m - ib.FirstMLID)
	if i >= int(w.info.MulticastFDBCap) || w.info.MulticastFDBTop != noMFTTop && uint16(m) > w.info.MulticastFDBTop {
		return out
	}
	block := i / mlidsBlock
	for position, table := range w.mft {
		if block < len(table) && table[block] != nil {
			out[position/4] |= uint64(table[block][i%mlidsBlock]) << (position % 4 * 16)
		}
	}
	return out
}

// open tells whether a port's state lets data out (IBTA 1, 7.2.7).
func (x *port) open() bool { return x.linkUp() && x.info.PortState == mad.PortActive }

// leaves tells what keeps a packet from going out of a port: only an Active
// one lets data through.
func (s *Subnet) leaves(e fabric.End, x *port, h *header) Loss {
	switch {
	case !x.open():
		return LossDown
	case h.raw && x.info.FilterRawOutbound && s.isSwitch(e.Node):
		return LossRaw
	case x.info.PartitionEnforcementOutbound && !s.admitsData(e, h):
		return LossKey
	}
	return noLoss
}

// comes tells what keeps a packet from coming in at a port.
func (s *Subnet) comes(e fabric.End, x *port, h *header) Loss {
	if !x.linkUp() || !s.nodes[e.Node].up {
		return LossLink
	}
	if x.info.PortState == mad.PortArmed {
		s.setState(e, mad.PortActive) // what the first data packet does
	}
	switch {
	case x.info.PortState != mad.PortActive:
		return LossInactive
	case h.raw && x.info.FilterRawInbound && s.isSwitch(e.Node):
		return LossRaw
	case x.info.PartitionEnforcementInbound && !s.admitsData(e, h):
		return LossKey
	case !s.isSwitch(e.Node) && !h.multicast() && !s.owns(e, h.dlid):
		return LossStray
	}
	return noLoss
}

// admitsData is partition enforcement at a switch's external port, for data
// (IBTA 1, 18.2.4.2).
func (s *Subnet) admitsData(e fabric.End, h *header) bool {
	if h.raw || !s.isSwitch(e.Node) || s.holds(e, h.pkey) {
		return true
	}
	s.trapSwitchBadPKey(e, &Packet{SLID: h.slid, DLID: h.dlid, PKey: h.pkey, SL: h.sl})
	return false
}

// lane is the VL that a packet takes out of a port. Ports whose table nobody
// wrote spread the SLs over the lanes that they use.
func (s *Subnet) lane(in uint16, out fabric.End, x *port, sl ib.SL) (ib.VL, Loss) {
	lanes := x.info.OperationalVLs.Lanes()
	if !s.isSwitch(out.Node) {
		in = 0
	}
	vl := ib.VL(int(sl) % max(lanes, 1))
	if x.tables != nil {
		if m, ok := x.tables.slvl[uint8(in)]; ok {
			vl = m[sl&15]
		}
	}
	if int(vl) >= min(lanes, s.cfg.VLs) {
		return 0, LossLane
	}
	return vl, noLoss
}
