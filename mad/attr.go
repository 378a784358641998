package mad

import (
	"errors"
	"fmt"
)

// AttrID names what a datagram is about. The same number means different
// things in different classes (IBTA 1, 13.4.8, 14.2.5, 15.2.5, 16.1.2).
type AttrID uint16

// Attributes of all classes.
const (
	AttrClassPortInfo AttrID = 0x0001
	AttrNotice        AttrID = 0x0002
	AttrInformInfo    AttrID = 0x0003
)

// Attributes of subnet management.
const (
	AttrNodeDescription     AttrID = 0x0010
	AttrNodeInfo            AttrID = 0x0011
	AttrSwitchInfo          AttrID = 0x0012
	AttrGUIDInfo            AttrID = 0x0014
	AttrPortInfo            AttrID = 0x0015
	AttrPKeyTable           AttrID = 0x0016
	AttrSLtoVLMapping       AttrID = 0x0017
	AttrVLArbitration       AttrID = 0x0018
	AttrLinearForwarding    AttrID = 0x0019
	AttrRandomForwarding    AttrID = 0x001A
	AttrMulticastForwarding AttrID = 0x001B
	AttrSMInfo              AttrID = 0x0020
	AttrVendorDiag          AttrID = 0x0030
	AttrLedInfo             AttrID = 0x0031
	AttrPortInfoExtended    AttrID = 0x0033
	AttrMlnxExtPortInfo     AttrID = 0xFF90 // of one vendor, for FDR10
)

// Attributes of performance management.
const (
	AttrPortSamplesControl   AttrID = 0x0010
	AttrPortSamplesResult    AttrID = 0x0011
	AttrPortCounters         AttrID = 0x0012
	AttrPortCountersExtended AttrID = 0x001D
)

// Attributes of subnet administration.
const (
	AttrNodeRecord          AttrID = 0x0011
	AttrPortInfoRecord      AttrID = 0x0012
	AttrSLtoVLRecord        AttrID = 0x0013
	AttrSwitchInfoRecord    AttrID = 0x0014
	AttrLFTRecord           AttrID = 0x0015
	AttrRFTRecord           AttrID = 0x0016
	AttrMFTRecord           AttrID = 0x0017
	AttrSMInfoRecord        AttrID = 0x0018
	AttrInformInfoRecord    AttrID = 0x00F3
	AttrLinkRecord          AttrID = 0x0020
	AttrGUIDInfoRecord      AttrID = 0x0030
	AttrServiceRecord       AttrID = 0x0031
	AttrPKeyRecord          AttrID = 0x0033
	AttrPathRecord          AttrID = 0x0035
	AttrVLArbitrationRecord AttrID = 0x0036
	AttrMCMemberRecord      AttrID = 0x0038
	AttrTraceRecord         AttrID = 0x0039
	AttrMultiPathRecord     AttrID = 0x003A
	AttrServiceAssocRecord  AttrID = 0x003B
	AttrMCGStateRecord      AttrID = 0xFF40 // heddle's own: see MCGStateRecord
)

// String is the number; Name knows the class and so the name.
func (a AttrID) String() string { return fmt.Sprintf("%#04x", uint16(a)) }

// Name is the specification's name of the attribute in a class, or the number
// where none is known.
func (a AttrID) Name(c Class) string {
	name := ""
	switch c {
	case ClassLID, ClassDirected:
		name = a.subnName()
	case ClassSA:
		name = a.saName()
	case ClassPerf:
		name = a.perfName()
	default: // only what all classes have
	}
	if name == "" {
		name = a.commonName()
	}
	if name == "" {
		name = a.String()
	}
	return name
}

func (a AttrID) commonName() string {
	switch a {
	case AttrClassPortInfo:
		return "ClassPortInfo"
	case AttrNotice:
		return "Notice"
	case AttrInformInfo:
		return "InformInfo"
	default:
		return ""
	}
}

func (a AttrID) subnName() string {
	switch a {
	case AttrNodeDescription:
		return "NodeDescription"
	case AttrNodeInfo:
		return "NodeInfo"
	case AttrSwitchInfo:
		return "SwitchInfo"
	case AttrGUIDInfo:
		return "GUIDInfo"
	case AttrPortInfo:
		return "PortInfo"
	case AttrPKeyTable:
		return "P_KeyTable"
	case AttrSLtoVLMapping:
		return "SLtoVLMappingTable"
	case AttrVLArbitration:
		return "VLArbitrationTable"
	case AttrLinearForwarding:
		return "LinearForwardingTable"
	case AttrRandomForwarding:
		return "RandomForwardingTable"
	case AttrMulticastForwarding:
		return "MulticastForwardingTable"
	case AttrSMInfo:
		return "SMInfo"
	case AttrVendorDiag:
		return "VendorDiag"
	case AttrLedInfo:
		return "LedInfo"
	case AttrPortInfoExtended:
		return "PortInfoExtended"
	case AttrMlnxExtPortInfo:
		return "MlnxExtPortInfo"
	default:
		return ""
	}
}

func (a AttrID) perfName() string {
	switch a {
	case AttrPortSamplesControl:
		return "PortSamplesControl"
	case AttrPortSamplesResult:
		return "PortSamplesResult"
	case AttrPortCounters:
		return "PortCounters"
	case AttrPortCountersExtended:
		return "PortCountersExtended"
	default:
		return ""
	}
}

func (a AttrID) saName() string {
	switch a {
	case AttrNodeRecord:
		return "NodeRecord"
	case AttrPortInfoRecord:
		return "PortInfoRecord"
	case AttrSLtoVLRecord:
		return "SLtoVLMappingTableRecord"
	case AttrSwitchInfoRecord:
		return "SwitchInfoRecord"
	case AttrLFTRecord:
		return "LinearForwardingTableRecord"
	case AttrRFTRecord:
		return "RandomForwardingTableRecord"
	case AttrMFTRecord:
		return "MulticastForwardingTableRecord"
	case AttrSMInfoRecord:
		return "SMInfoRecord"
	case AttrInformInfoRecord:
		return "InformInfoRecord"
	case AttrLinkRecord:
		return "LinkRecord"
	case AttrGUIDInfoRecord:
		return "GuidInfoRecord"
	case AttrServiceRecord:
		return "ServiceRecord"
	case AttrPKeyRecord:
		return "P_KeyTableRecord"
	case AttrPathRecord:
		return "PathRecord"
	case AttrVLArbitrationRecord:
		return "VLArbitrationTableRecord"
	case AttrMCMemberRecord:
		return "MCMemberRecord"
	case AttrTraceRecord:
		return "TraceRecord"
	case AttrMultiPathRecord:
		return "MultiPathRecord"
	case AttrServiceAssocRecord:
		return "ServiceAssociationRecord"
	case AttrMCGStateRecord:
		return "MCGStateRecord"
	default:
		return ""
	}
}

// Attribute is what all attributes have in common. Len is the number of bytes
// that AppendTo appends: the length of the attribute's layout, without the
// padding to the end of a datagram. A value that has more bits than its field
// is cut to those that fit.
type Attribute interface {
	Len() int
	AppendTo(b []byte) []byte
}

// ErrUnknownAttribute is the error of an attribute that heddle cannot read.
var ErrUnknownAttribute = errors.New("unknown attribute")

// ParseAttribute reads the attribute of a class from the data of a datagram.
// The error wraps ErrUnknownAttribute or ErrShort.
func ParseAttribute(c Class, a AttrID, data []byte) (Attribute, error) {
	if a == AttrClassPortInfo && !c.IsSMP() {
		return attribute(ParseClassPortInfo(data))
	}
	switch c {
	case ClassLID, ClassDirected:
		return parseSubn(c, a, data)
	case ClassSA:
		return parseSA(a, data)
	case ClassPerf:
		return parsePerf(a, data)
	default:
		return nil, unknownAttribute(c, a)
	}
}

func parseSubn(c Class, a AttrID, data []byte) (Attribute, error) {
	switch a {
	case AttrNotice:
		return attribute(ParseNotice(data))
	case AttrNodeDescription:
		return attribute(ParseNodeDescription(data))
	case AttrNodeInfo:
		return attribute(ParseNodeInfo(data))
	case AttrSwitchInfo:
		return attribute(ParseSwitchInfo(data))
	case AttrGUIDInfo:
		return attribute(ParseGUIDInfo(data))
	case AttrPortInfo:
		return attribute(ParsePortInfo(data))
	case AttrPKeyTable:
		return attribute(ParsePKeyTable(data))
	case AttrSLtoVLMapping:
		return attribute(ParseSLtoVLMapping(data))
	case AttrVLArbitration:
		return attribute(ParseVLArbitration(data))
	case AttrLinearForwarding:
		return attribute(ParseLinearForwarding(data))
	case AttrMulticastForwarding:
		return attribute(ParseMulticastForwarding(data))
	case AttrSMInfo:
		return attribute(ParseSMInfo(data))
	case AttrPortInfoExtended:
		return attribute(ParsePortInfoExtended(data))
	case AttrMlnxExtPortInfo:
		return attribute(ParseMlnxExtPortInfo(data))
	default:
		return nil, unknownAttribute(c, a)
	}
}

func parsePerf(a AttrID, data []byte) (Attribute, error) {
	switch a {
	case AttrPortCounters:
		return attribute(ParsePortCounters(data))
	case AttrPortCountersExtended:
		return attribute(ParsePortCountersExtended(data))
	default:
		return nil, unknownAttribute(ClassPerf, a)
	}
}

// attribute is what a ParseX function returned, and nil where that failed.
func attribute[A Attribute](a A, err error) (Attribute, error) {
	if err != nil {
		return nil, err
	}
	return a, nil
}

func unknownAttribute(c Class, a AttrID) error {
	return fmt.Errorf("%v %v: %w", c, a, ErrUnknownAttribute)
}
