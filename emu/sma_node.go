package emu

import (
	"heddle/fabric"
	"heddle/ib"
	"heddle/mad"
)

func (s *Subnet) nodeDescription(q *request) mad.Status {
	if q.set {
		return mad.StatusBadAttribute
	}
	clear(q.data)
	copy(q.data, s.fabric.Node(q.at.Node).Name)
	return mad.StatusOK
}

func (s *Subnet) nodeInfo(q *request) mad.Status {
	if q.set {
		return mad.StatusBadAttribute
	}
	clear(q.data)
	s.nodeInfoOf(q.at).AppendTo(q.data[:0])
	return mad.StatusOK
}

func (s *Subnet) nodeInfoOf(at fabric.End) mad.NodeInfo {
	told, n := s.fabric.Node(at.Node), &s.nodes[at.Node]
	info := mad.NodeInfo{
		BaseVersion: 1, ClassVersion: 1, NodeType: nodeType(n.kind), NumPorts: uint8(n.numPorts),
		SystemImageGUID: told.SystemGUID, NodeGUID: n.guid, PortGUID: s.portOf(at).guid,
		PartitionCap: uint16(s.cfg.PKeys), DeviceID: uint16(told.DeviceID),
		LocalPortNum: uint8(at.Port), VendorID: told.VendorID,
	}
	if !info.SystemImageGUID.IsValid() {
		info.SystemImageGUID = n.guid
	}
	return info
}

func nodeType(k fabric.Kind) mad.NodeType {
	switch k {
	case fabric.Switch:
		return mad.NodeSwitch
	case fabric.Router:
		return mad.NodeRouter
	default:
		return mad.NodeCA
	}
}

// guidInfo is a block of eight GUIDs of an adapter's port, or of port 0.
func (s *Subnet) guidInfo(q *request) mad.Status {
	e, x := s.keyPort(q.at)
	block := q.m.Modifier()
	if block >= (uint32(x.info.GUIDCap)+7)/8 {
		return mad.StatusBadField
	}
	if q.set {
		guids, err := mad.ParseGUIDInfo(q.data)
		if err != nil {
			return mad.StatusBadField
		}
		s.setGUIDs(x, block, guids)
	}
	return q.reply(s.guids(e, block))
}

func (s *Subnet) guids(e fabric.End, block uint32) (g mad.GUIDInfo) {
	x := s.portOf(e)
	if x.tables != nil {
		copy(g[:], x.tables.guids[min(int(block)*len(g), len(x.tables.guids)):])
	}
	if block == 0 {
		g[0] = s.portGUID(e) // cannot be written
	}
	return g
}

func (s *Subnet) setGUIDs(x *port, block uint32, g mad.GUIDInfo) {
	t := x.ownTables()
	if t.guids == nil {
		t.guids = make([]ib.GUID, x.info.GUIDCap)
	}
	copy(t.guids[int(block)*len(g):], g[:])
}
