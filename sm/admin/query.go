package admin

import (
	"iter"

	"heddle/ib"
	"heddle/mad"
)

// query answers a Get or a GetTable.
func (r *request) query() mad.Status {
	var records func(*request)
	ignored := byLID
	switch r.head.Attr {
	case mad.AttrClassPortInfo:
		return r.classPortInfo()
	case mad.AttrPathRecord:
		return r.path()
	case mad.AttrMCGStateRecord:
		return r.groupState()
	case mad.AttrNodeRecord:
		records = (*request).nodeRecords
	case mad.AttrPortInfoRecord:
		records, ignored = (*request).portInfoRecords, byLID|mad.PortInfoRecordOptions
	case mad.AttrSwitchInfoRecord:
		records = (*request).switchInfoRecords
	case mad.AttrLFTRecord:
		records = (*request).lftRecords
	case mad.AttrMFTRecord:
		records = (*request).mftRecords
	case mad.AttrSLtoVLRecord:
		records = (*request).slToVLRecords
	case mad.AttrVLArbitrationRecord:
		records = (*request).vlArbitrationRecords
	case mad.AttrPKeyRecord:
		records = (*request).pkeyRecords
	case mad.AttrGUIDInfoRecord:
		records = (*request).guidInfoRecords
	case mad.AttrLinkRecord:
		records, ignored = (*request).linkRecords, mad.LinkRecordFromLID
	case mad.AttrSMInfoRecord:
		records, ignored = (*request).smInfoRecords, 0
	case mad.AttrInformInfoRecord:
		records, ignored = (*request).informInfoRecords, 0
	case mad.AttrServiceRecord:
		records, ignored = (*request).serviceRecords, 0
	case mad.AttrMCMemberRecord:
		records, ignored = (*request).memberRecords, 0
	default:
		return mad.StatusBadAttribute
	}
	if !r.want(ignored) {
		return mad.StatusSARequestInvalid
	}
	if r.head.Attr == mad.AttrPortInfoRecord && r.head.Modifier&mad.PortInfoMatchCapabilities != 0 {
		r.filter = r.filter.Contain(mad.PortInfoRecordCapabilityMask)
	}
	r.withTables(records)
	return r.found()
}

// byLID is the first component of all records of ports: a LID, which is looked
// up, so that each of a port's LIDs names the port.
const byLID mad.ComponentMask = 1

// ends yields the ports with an address that the requester sees: all, or the one
// with the LID that it asks for.
func (r *request) ends() iter.Seq[*end] {
	return func(yield func(*end) bool) {
		if r.mask.Has(byLID) {
			if e := r.snapshot.at(ib.LID(be.Uint16(r.data))); e != nil && r.sees(e) {
				yield(e)
			}
			return
		}
		for i := range r.snapshot.ends {
			r.work++
			if e := &r.snapshot.ends[i]; r.sees(e) && !yield(e) {
				return
			}
		}
	}
}

// switches yields those of ends that are switches.
func (r *request) switches() iter.Seq2[*end, *Node] {
	return func(yield func(*end, *Node) bool) {
		for e := range r.ends() {
			if n := r.snapshot.node(e); n.IsSwitch() && !yield(e, n) {
				return
			}
		}
	}
}

// portsOf yields the ports that belong to an address: all that answered of a
// switch, and that of an adapter itself.
func (r *request) portsOf(e *end) iter.Seq2[uint8, *Port] {
	return func(yield func(uint8, *Port) bool) {
		n := r.snapshot.node(e)
		if !n.IsSwitch() {
			yield(e.port, r.snapshot.port(e))
			return
		}
		for i := range n.Ports {
			if n.Ports[i].Known && !yield(uint8(i), &n.Ports[i]) {
				return
			}
		}
	}
}

// ports yields the ports of all ends.
func (r *request) ports() iter.Seq2[*end, uint8] {
	return func(yield func(*end, uint8) bool) {
		for e := range r.ends() {
			for number := range r.portsOf(e) {
				if !yield(e, number) {
					return
				}
			}
		}
	}
}

func (r *request) classPortInfo() mad.Status {
	if !r.one() {
		return mad.StatusBadAttribute
	}
	return answer(r, mad.ClassPortInfo{
		BaseVersion: 1, ClassVersion: classVersion, RespTimeValue: r.server.config.RespTime,
		CapabilityMask: mad.SACapOptionalRecords | mad.SACapUDMulticast | mad.SACapMultiPath | mad.SACapPortInfoCapabilityMatch,
		CapabilityMask2: mad.SACap2FullPortInfo | mad.SACap2ExtendedSpeeds | mad.SACap2SendOnlyFull | mad.SACap2MulticastFDBTop |
			mad.SACap2LinkWidth2x | mad.SACap2LinkSpeedHDR | mad.SACap2LinkSpeedNDR,
	})
}
