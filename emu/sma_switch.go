package emu

import (
	"heddle/fabric"
	"heddle/ib"
	"heddle/mad"
)

// switchInfo is what a switch has beyond a node: its tables, in blocks that
// exist once they were written.
type switchInfo struct {
	info mad.SwitchInfo
	lft  []*mad.LinearForwarding
	mft  [16][]*mad.MulticastForwarding // by position and block
}

const (
	noRoute    = mad.NoPort
	noMFTTop   = 0xBFFF // no MLID is forwarded, or the top is not used
	mlidsBlock = 32
	lidsBlock  = 64
)

func (s *Subnet) newSwitch(n fabric.Node) *switchInfo {
	mlids := max(s.cfg.MLIDs, 0)
	if n.MulticastCap != fabric.CapUnknown {
		mlids = int(n.MulticastCap)
	}
	return &switchInfo{info: mad.SwitchInfo{
		LinearFDBCap: uint16(s.cfg.LIDs), MulticastFDBCap: uint16(mlids),
		LIDsPerPort: 1, PartitionEnforcementCap: uint16(s.cfg.SwitchPKeys),
		InboundEnforcementCap: s.cfg.SwitchPKeys > 0, OutboundEnforcementCap: s.cfg.SwitchPKeys > 0,
		EnhancedPort0:   n.EnhancedPort0 || s.cfg.EnhancedPort0,
		MulticastFDBTop: noMFTTop,
	}}
}

// lookup is the port that leads to a LID, noRoute for none.
func (w *switchInfo) lookup(lid ib.LID) uint8 {
	block := int(lid) / lidsBlock
	if uint16(lid) > w.info.LinearFDBTop || block >= len(w.lft) || w.lft[block] == nil {
		return noRoute
	}
	return w.lft[block][lid%lidsBlock]
}

func (s *Subnet) switchInfo(q *request) mad.Status {
	w := s.nodes[q.at.Node].sw
	if w == nil {
		return mad.StatusBadAttribute
	}
	if q.set {
		want, err := mad.ParseSwitchInfo(q.data)
		if err != nil || !w.accepts(&want) {
			return mad.StatusBadField
		}
		w.set(&want)
	}
	return q.reply(w.info)
}

func (w *switchInfo) accepts(want *mad.SwitchInfo) bool {
	top := int(want.MulticastFDBTop)
	return want.LinearFDBTop < max(w.info.LinearFDBCap, 1) &&
		(top == 0 || top == noMFTTop || top >= int(ib.FirstMLID) && top-int(ib.FirstMLID) < int(w.info.MulticastFDBCap))
}

// set takes over what a manager may write; PortStateChange is cleared by
// writing it.
func (w *switchInfo) set(want *mad.SwitchInfo) {
	i := &w.info
	i.LinearFDBTop = want.LinearFDBTop
	i.DefaultPort = want.DefaultPort
	i.DefaultMulticastPrimaryPort = want.DefaultMulticastPrimaryPort
	i.DefaultMulticastNotPrimaryPort = want.DefaultMulticastNotPrimaryPort
	i.LifeTimeValue = want.LifeTimeValue
	if want.PortStateChange {
		i.PortStateChange = false
	}
	if want.MulticastFDBTop != 0 {
		i.MulticastFDBTop = want.MulticastFDBTop
	}
}

func (s *Subnet) linearForwarding(q *request) mad.Status {
	w := s.nodes[q.at.Node].sw
	if w == nil {
		return mad.StatusBadAttribute
	}
	block := q.m.Modifier()
	if block >= (uint32(w.info.LinearFDBCap)+lidsBlock-1)/lidsBlock {
		return mad.StatusBadField
	}
	if q.set {
		s.stats.LFTSets++
		w.lft = reach(w.lft, int(block))
		if w.lft[block] == nil {
			w.lft[block] = new(mad.LinearForwarding)
		}
		copy(w.lft[block][:], q.data)
	}
	if int(block) >= len(w.lft) || w.lft[block] == nil {
		for i := range q.data {
			q.data[i] = noRoute
		}
		return mad.StatusOK
	}
	copy(q.data, w.lft[block][:])
	return mad.StatusOK
}

func (s *Subnet) multicastForwarding(q *request) mad.Status {
	n := &s.nodes[q.at.Node]
	if n.sw == nil {
		return mad.StatusBadAttribute
	}
	block, position := mad.SplitMulticastModifier(q.m.Modifier())
	blocks := (int(n.sw.info.MulticastFDBCap) + mlidsBlock - 1) / mlidsBlock
	if int(block) >= blocks || int(position) > int(n.numPorts)/16 {
		return mad.StatusBadField
	}
	table := &n.sw.mft[position]
	if q.set {
		masks, err := mad.ParseMulticastForwarding(q.data)
		if err != nil {
			return mad.StatusBadField
		}
		s.stats.MFTSets++
		s.stats.LastMFTSet = s.now
		*table = reach(*table, int(block))
		if (*table)[block] == nil {
			(*table)[block] = new(mad.MulticastForwarding)
		}
		*(*table)[block] = masks
	}
	clear(q.data)
	if int(block) < len(*table) && (*table)[block] != nil {
		(*table)[block].AppendTo(q.data[:0])
	}
	return mad.StatusOK
}

// reach makes a table long enough for an index.
func reach[T any](table []*T, i int) []*T {
	for len(table) <= i {
		table = append(table, nil)
	}
	return table
}
