package mad

import "fmt"

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

// Attribute is what all attributes have in common. Len is the number of bytes
// that AppendTo appends: the length of the attribute's layout, without the
// padding to the end of a datagram.
type Attribute interface {
	Len() int
	AppendTo(b []byte) []byte
}
