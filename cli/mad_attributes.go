package cli

import "heddle/mad"

// madAttribute is an attribute that mad get can ask for.
type madAttribute struct {
	name  string
	class mad.Class // mad.ClassLID also stands for the directed route
	attr  mad.AttrID
	about string
	parts []madPart // what selects a part of it
}

// madPart is a number that is part of a request, and where it stands.
type madPart struct {
	flag, about string
	put         func(d *mad.Datagram, n uint32)
}

// inModifier is for a number that stands in the attribute modifier.
func inModifier(shift int) func(*mad.Datagram, uint32) {
	return func(d *mad.Datagram, n uint32) {
		h := d.Header()
		h.Modifier |= n << shift
		d.SetHeader(h)
	}
}

// portSelect is for the port of an attribute of performance management.
func portSelect(d *mad.Datagram, n uint32) { d.Data()[1] = byte(n) }

func port(shift int) madPart { return part("portnum", "number of the port", shift) }

func block() madPart { return part("block", "number of the block", 0) }

func part(flag, about string, shift int) madPart { return madPart{flag, about, inModifier(shift)} }

// madAttributes are all of them.
func madAttributes() []madAttribute {
	const sub, sa, perf = mad.ClassLID, mad.ClassSA, mad.ClassPerf
	perfPort := madPart{"portnum", "number of the port, 255 for all", portSelect}
	return []madAttribute{
		{"node-description", sub, mad.AttrNodeDescription, "name of a node", nil},
		{"node-info", sub, mad.AttrNodeInfo, "what a node is", nil},
		{"switch-info", sub, mad.AttrSwitchInfo, "what a switch can", nil},
		{"guid-info", sub, mad.AttrGUIDInfo, "GUIDs of a port", []madPart{block()}},
		{"port-info", sub, mad.AttrPortInfo, "state of a port", []madPart{port(0)}},
		{"port-info-extended", sub, mad.AttrPortInfoExtended, "more of a port", []madPart{port(0)}},
		{"mlnx-ext-port-info", sub, mad.AttrMlnxExtPortInfo, "FDR10 of a port", []madPart{port(0)}},
		{"pkey-table", sub, mad.AttrPKeyTable, "P_Keys of a port", []madPart{block(), port(16)}},
		{"sl-to-vl", sub, mad.AttrSLtoVLMapping, "virtual lane of each service level", []madPart{part("out", "port that packets leave by", 0), part("in", "port that packets come by", 8)}},
		{"vl-arbitration", sub, mad.AttrVLArbitration, "weights of virtual lanes", []madPart{port(0), part("part", "1, 2 low, 3, 4 high priority", 16)}},
		{"lft", sub, mad.AttrLinearForwarding, "ports for 64 LIDs", []madPart{block()}},
		{"mft", sub, mad.AttrMulticastForwarding, "ports for 32 MLIDs", []madPart{block(), part("position", "which 16 ports", 28)}},
		{"sm-info", sub, mad.AttrSMInfo, "the subnet manager of a node", nil},
		{"port-counters", perf, mad.AttrPortCounters, "what a port has counted", []madPart{perfPort}},
		{"port-counters-extended", perf, mad.AttrPortCountersExtended, "the same in 64 bits", []madPart{perfPort}},
		{"perf-class-port-info", perf, mad.AttrClassPortInfo, "what the agent of counters can", nil},
		{"sa-class-port-info", sa, mad.AttrClassPortInfo, "what subnet administration can", nil},
		{"node-record", sa, mad.AttrNodeRecord, "a node", nil},
		{"port-info-record", sa, mad.AttrPortInfoRecord, "a port", nil},
		{"switch-info-record", sa, mad.AttrSwitchInfoRecord, "a switch", nil},
		{"guid-info-record", sa, mad.AttrGUIDInfoRecord, "GUIDs of a port", nil},
		{"sl-to-vl-record", sa, mad.AttrSLtoVLRecord, "virtual lane of each service level", nil},
		{"vl-arbitration-record", sa, mad.AttrVLArbitrationRecord, "weights of virtual lanes", nil},
		{"pkey-record", sa, mad.AttrPKeyRecord, "P_Keys of a port", nil},
		{"lft-record", sa, mad.AttrLFTRecord, "ports for 64 LIDs", nil},
		{"mft-record", sa, mad.AttrMFTRecord, "ports for 32 MLIDs", nil},
		{"sm-info-record", sa, mad.AttrSMInfoRecord, "a subnet manager", nil},
		{"inform-info-record", sa, mad.AttrInformInfoRecord, "a subscription", nil},
		{"link-record", sa, mad.AttrLinkRecord, "a link", nil},
		{"path-record", sa, mad.AttrPathRecord, "a path from a port to another", nil},
		{"mcmember-record", sa, mad.AttrMCMemberRecord, "a port's membership of a group", nil},
		{"service-record", sa, mad.AttrServiceRecord, "a service", nil},
		{"mcg-state-record", sa, mad.AttrMCGStateRecord, "the state of a group (heddle's own)", nil},
	}
}
