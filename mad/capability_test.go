package mad

import (
	"strings"
	"testing"
)

// TestCapabilityBits: the constants are the bits whose names they bear, which
// smpquery confirms (TestDiagsReadStates).
func TestCapabilityBits(t *testing.T) {
	checkStrings(t, []CapabilityMask{
		0, 1, CapIsSM, CapTrap, CapSMDisabled, CapExtendedSpeeds, CapCapabilityMask2, CapClientReregistration, CapHierarchyInfo,
		CapNotice | CapMulticastFDBTop,
	},
		"none", "0x1", "IsSM", "IsTrapSupported", "IsSMdisabled", "IsExtendedSpeedsSupported", "IsCapabilityMask2Supported",
		"IsClientReregistrationSupported", "IsHierarchyInfoSupported", "IsNoticeSupported|IsMulticastFDBTopSupported")
	checkStrings(t, []CapabilityMask2{0, Cap2PortInfoExtended, Cap2LinkSpeedNDR, Cap2LinkSpeedXDR, 1 << 15},
		"none", "IsPortInfoExtendedSupported", "IsLinkSpeedNDRSupported", "IsLinkSpeedXDRSupported", "0x8000")
}

// TestEveryCapabilityHasAName: but bit 0, which is reserved.
func TestEveryCapabilityHasAName(t *testing.T) {
	for bit := 1; bit < 32; bit++ {
		if name := CapabilityMask(1 << bit).String(); !strings.HasPrefix(name, "Is") {
			t.Errorf("bit %d is %s", bit, name)
		}
	}
	if n := strings.Count(CapabilityMask(1<<32-1).String(), "|"); n != 31 {
		t.Errorf("%d bits are listed", n+1)
	}
}
