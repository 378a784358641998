package emu

import (
	"time"

	"heddle/fabric"
	"heddle/ib"
	"heddle/mad"
)

// request is a request to a node's agent of subnet management.
type request struct {
	at   fabric.End // the port on which it came; port 0 in a switch's own
	m    *mad.Datagram
	data []byte
	set  bool
	from ib.LID
}

// answerSMP answers a request in place. false means that no answer is due.
func (s *Subnet) answerSMP(p *Packet) bool {
	q := request{at: p.at, m: &p.MAD, data: p.MAD.Data(), set: p.MAD.Method() == mad.MethodSet, from: p.SLID}
	if !s.admits(&q) {
		return false
	}
	s.stats.SMPs++
	status := mad.StatusBadVersion
	if q.m.BaseVersion() == 1 && q.m.ClassVersion() == 1 {
		status = s.attribute(&q)
	}
	q.m.SetStatus(status)
	p.turn(mad.MethodGetResp)
	return true
}

// attribute is the literal list of what the agent knows. A handler of a Set
// does it, and then answers as to a Get.
func (s *Subnet) attribute(q *request) mad.Status {
	switch q.m.Attr() {
	case mad.AttrNodeDescription:
		return s.nodeDescription(q)
	case mad.AttrNodeInfo:
		return s.nodeInfo(q)
	case mad.AttrSwitchInfo:
		return s.switchInfo(q)
	case mad.AttrGUIDInfo:
		return s.guidInfo(q)
	case mad.AttrPortInfo:
		return s.portInfo(q)
	case mad.AttrPKeyTable:
		return s.pkeyTable(q)
	case mad.AttrSLtoVLMapping:
		return s.slToVL(q)
	case mad.AttrVLArbitration:
		return s.vlArbitration(q)
	case mad.AttrLinearForwarding:
		return s.linearForwarding(q)
	case mad.AttrMulticastForwarding:
		return s.multicastForwarding(q)
	case mad.AttrPortInfoExtended:
		return s.portInfoExtended(q)
	case mad.AttrMlnxExtPortInfo:
		return s.mlnxExtPortInfo(q)
	default:
		return mad.StatusBadAttribute
	}
}

// reply writes an attribute as the answer.
func (q *request) reply(a mad.Attribute) mad.Status {
	clear(q.data)
	a.AppendTo(q.data[:0])
	return mad.StatusOK
}

// keyPort is the port whose M_Key guards the node's agent: the one on which
// the request came, or port 0 of a switch.
func (s *Subnet) keyPort(at fabric.End) (fabric.End, *port) {
	if s.isSwitch(at.Node) {
		at.Port = 0
	}
	return at, s.portOf(at)
}

// admits checks the M_Key of a request (IBTA 1, 14.2.4). One that is refused
// gets no answer; the port counts it, and may tell the subnet manager.
func (s *Subnet) admits(q *request) bool {
	e, x := s.keyPort(q.at)
	s.endLease(x)
	info := &x.info
	if info.MKey == 0 || q.m.MKey() == info.MKey {
		if q.set {
			x.mkeyEnd = 0
		}
		return true
	}
	if !q.set && info.MKeyProtectBits < 2 {
		return true
	}
	if info.MKeyViolations < 0xFFFF {
		info.MKeyViolations++
	}
	if info.MKeyLeasePeriod > 0 && x.mkeyEnd == 0 {
		x.mkeyEnd = s.now + time.Duration(info.MKeyLeasePeriod)*time.Second
	}
	s.trapBadMKey(e, q.m, q.from)
	return false
}

// endLease lifts the protection of a port whose subnet manager let the lease
// of its key run out.
func (s *Subnet) endLease(x *port) {
	if x.mkeyEnd > 0 && s.now >= x.mkeyEnd {
		x.mkeyEnd = 0
		x.info.MKeyProtectBits = 0
	}
}

// hidesKey tells whether the key in an answer is left out: the request did not
// know it, and the protection says so. A Set that was done may see what it did.
func (s *Subnet) hidesKey(q *request, x *port) bool {
	return !q.set && x.info.MKeyProtectBits > 0 && x.info.MKey != 0 && q.m.MKey() != x.info.MKey
}
