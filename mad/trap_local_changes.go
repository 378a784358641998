package mad

import "heddle/ib"

// LocalChangesDetails tells of trap 144: what changed at a port other than its
// link's state (IBTA 1, 14.2.5.1).
type LocalChangesDetails struct {
	LID ib.LID
	// Other says that Changes counts, beside the capability mask.
	Other           bool
	CapabilityMask  uint32 // of PortInfo, as it is now
	Changes         LocalChanges
	CapabilityMask2 uint16
}

// LocalChanges is a set of what changed, 6 bits.
type LocalChanges uint16

// What can change.
const (
	ChangedNodeDescription LocalChanges = 1 << iota
	ChangedLinkWidthEnabled
	ChangedLinkSpeedEnabled
	ChangedSMPriority
	ChangedHierarchyInfo
	ChangedCapabilityMask2

	localChanges = 1<<6 - 1
)

// String names what changed.
func (c LocalChanges) String() string {
	return listBits(c, []string{
		"NodeDescription", "LinkWidthEnabled", "LinkSpeedEnabled",
		"SMPriority", "HierarchyInfo", "CapabilityMask2",
	})
}

func parseLocalChangesDetails(b *NoticeDetails) LocalChangesDetails {
	return LocalChangesDetails{
		LID: ib.LID(be.Uint16(b[2:])), Other: b[5]&1 != 0, CapabilityMask: be.Uint32(b[6:]),
		Changes: LocalChanges(be.Uint16(b[10:])) & localChanges, CapabilityMask2: be.Uint16(b[12:]),
	}
}

// Pack gives the details as they stand in a notice.
func (d LocalChangesDetails) Pack() (b NoticeDetails) {
	be.PutUint16(b[2:], uint16(d.LID))
	b[5] = flag(d.Other, 1)
	be.PutUint32(b[6:], d.CapabilityMask)
	be.PutUint16(b[10:], uint16(d.Changes&localChanges))
	be.PutUint16(b[12:], d.CapabilityMask2)
	return b
}
