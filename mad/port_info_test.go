package mad

import (
	"fmt"
	"strings"
	"testing"

	"heddle/ib"
	"heddle/internal/testenv"
)

func (i PortInfo) diags() []string {
	list := []string{
		field("Mkey", i.MKey),
		field("GidPrefix", fmt.Sprintf("%#016x", i.GidPrefix)),
		field("Lid", i.LID),
		field("SMLid", i.MasterSMLID),
		field("CapMask", fmt.Sprintf("%#x", uint32(i.CapabilityMask))),
		field("DiagCode", fmt.Sprintf("%#04x", i.DiagCode)),
		field("MkeyLeasePeriod", i.MKeyLeasePeriod),
		field("LocalPort", i.LocalPortNum),
		field("LinkWidthEnabled", widthsOf(i.LinkWidthEnabled)),
		field("LinkWidthSupported", widthsOf(i.LinkWidthSupported)),
		field("LinkWidthActive", widthsOf(i.LinkWidthActive)),
		field("LinkSpeedSupported", speedsOf(i.LinkSpeedSupported)),
		field("LinkState", linkState(i.PortState)),
		field("PhysLinkState", i.PortPhysicalState),
		field("LinkDownDefState", i.LinkDownDefaultState),
		field("ProtectBits", i.MKeyProtectBits),
		field("LMC", i.LMC),
		field("LinkSpeedActive", speedsOf(i.LinkSpeedActive)),
		field("LinkSpeedEnabled", speedsOf(i.LinkSpeedEnabled)),
		field("NeighborMTU", i.NeighborMTU),
		field("SMSL", i.MasterSMSL),
		field("VLCap", i.VLCap),
		field("InitType", fmt.Sprintf("%#02x", i.InitType)),
		field("VLHighLimit", i.VLHighLimit),
		field("VLArbHighCap", i.VLArbitrationHighCap),
		field("VLArbLowCap", i.VLArbitrationLowCap),
		field("InitReply", fmt.Sprintf("%#02x", i.InitTypeReply)),
		field("MtuCap", i.MTUCap),
		field("VLStallCount", i.VLStallCount),
		field("HoqLife", i.HOQLife),
		field("OperVLs", i.OperationalVLs),
		field("PartEnforceInb", oneOrZero(i.PartitionEnforcementInbound)),
		field("PartEnforceOutb", oneOrZero(i.PartitionEnforcementOutbound)),
		field("FilterRawInb", oneOrZero(i.FilterRawInbound)),
		field("FilterRawOutb", oneOrZero(i.FilterRawOutbound)),
		field("MkeyViolations", i.MKeyViolations),
		field("PkeyViolations", i.PKeyViolations),
		field("QkeyViolations", i.QKeyViolations),
		field("GuidCap", i.GUIDCap),
		field("ClientReregister", oneOrZero(i.ClientReregister)),
		field("McastPkeyTrapSuppressionEnabled", i.MulticastPKeyTrapSuppressionEnabled),
		field("SubnetTimeout", uint8(i.SubnetTimeOut)),
		field("RespTimeVal", uint8(i.RespTimeValue)),
		field("LocalPhysErr", i.LocalPhyErrors),
		field("OverrunErr", i.OverrunErrors),
		field("MaxCreditHint", i.MaxCreditHint),
		field("RoundTrip", i.LinkRoundTripLatency),
		field("CapabilityMask2", fmt.Sprintf("%#x", uint16(i.CapabilityMask2))),
		field("LinkSpeedExtActive", speedsExtOf(i.LinkSpeedExtActive, "No Extended Speed")),
		field("LinkSpeedExtSupported", speedsExtOf(i.LinkSpeedExtSupported, "0")),
		field("LinkSpeedExtEnabled", speedsExtOf(i.LinkSpeedExtEnabled, "0")),
	}
	list = append(list, capabilityLines(i.CapabilityMask.String())...)
	return append(list, capabilityLines(i.CapabilityMask2.String())...)
}

// widthsOf is how smpquery lists widths.
func widthsOf(l LinkWidth) string {
	return strings.ReplaceAll(strings.ToUpper(l.String()), "|", " or ")
}

// speedsOf is how smpquery lists speeds: by the rates of their signals.
func speedsOf(l LinkSpeed) string { return ratesOf(l.String()) }

func speedsExtOf(l LinkSpeedExt, none string) string {
	if l == 0 {
		return none
	}
	return ratesOf(l.String())
}

func ratesOf(list string) string {
	return strings.NewReplacer("SDR", "2.5 Gbps", "DDR", "5.0 Gbps", "QDR", "10.0 Gbps", "FDR", "14.0625 Gbps",
		"EDR", "25.78125 Gbps", "HDR", "53.125 Gbps", "|", " or ").Replace(list)
}

func linkState(s PortState) string { return strings.Replace(s.String(), "Init", "Initialize", 1) }

// capabilityLines are the names of capabilities as smpquery spells them, and
// only those that it knows.
func capabilityLines(list string) []string {
	spelling := strings.NewReplacer("IsM_KeyNVRAM", "IsMKeyNVRAM", "IsP_KeyNVRAM", "IsPKeyNVRAM",
		"IsLEDInfo", "IsLedInfo", "GUIDSupported", "GUIDsupported", "IsP_KeySwitch", "IsPkeySwitch",
		"CommunicationManagement", "CommunicatonManagement", "ClientReregistration", "ClientRegistration",
		"MulticastPKeyTrap", "McastPkeyTrap")
	var names []string
	for name := range strings.SplitSeq(list, "|") {
		switch name {
		case "none", "IsCableInfoSupported", "IsExtendedSpeeds2Supported", "IsLinkSpeedXDRSupported":
		default:
			if !strings.HasPrefix(name, "0x") {
				names = append(names, spelling.Replace(name))
			}
		}
	}
	return names
}

// TestDiagsReadStates: smpquery names states, sizes, speeds and capabilities as
// we do, beyond those of the sample.
func TestDiagsReadStates(t *testing.T) {
	all := samplePortInfo
	all.CapabilityMask, all.CapabilityMask2 = 1<<32-1, 1<<16-1
	all.LinkWidthEnabled, all.LinkSpeedEnabled = 31, 7
	all.LinkSpeedExtActive, all.LinkSpeedExtSupported = LinkSpeedExtEDR, LinkSpeedExtEDR
	all.PortState, all.PortPhysicalState, all.LinkDownDefaultState = PortInit, PhysPortConfigurationTraining, PhysPolling
	all.NeighborMTU, all.MTUCap, all.VLCap, all.OperationalVLs = ib.MTU256, ib.MTU512, DataVLs15, DataVLs1
	down := samplePortInfo
	down.PortState, down.PortPhysicalState = PortDown, PhysDisabled
	down.NeighborMTU, down.VLCap, down.OperationalVLs = ib.MTU1024, DataVLs2, DataVLs15
	down.LinkSpeedExtActive, down.LinkSpeedExtEnabled = LinkSpeedExtFDR, LinkSpeedExtFDR
	down.LinkWidthActive, down.LinkSpeedActive = LinkWidthOf(ib.Width12x), LinkSpeedDDR
	up := samplePortInfo
	up.PortState, up.PortPhysicalState, up.LinkWidthActive = PortActive, PhysLinkUp, LinkWidthOf(ib.Width8x)
	test := samplePortInfo
	test.PortPhysicalState, test.LinkWidthActive = PhysTest, LinkWidthOf(ib.Width2x)
	for _, info := range []PortInfo{all, down, up, test} {
		s := newStandIn(t, []sample{{ClassLID, AttrPortInfo, info}})
		out := testenv.Diag(t, s.name, "", "smpquery", "-K", "portinfo", "1", "1")
		for _, line := range checkDiags(t, info, out) {
			t.Errorf("not shown: %q", line)
		}
	}
}

func TestLinkRate(t *testing.T) {
	for _, c := range []struct {
		info PortInfo
		want ib.LinkRate
	}{
		{PortInfo{}, ib.LinkRate{}},
		{PortInfo{LinkWidthActive: 2, LinkSpeedActive: LinkSpeedQDR}, ib.LinkRate{Width: ib.Width4x, Speed: ib.QDR}},
		{PortInfo{LinkWidthActive: 16, LinkSpeedActive: LinkSpeedQDR, LinkSpeedExtActive: LinkSpeedExtNDR}, ib.LinkRate{Width: ib.Width2x, Speed: ib.NDR}},
		{
			PortInfo{LinkWidthActive: 8, LinkSpeedExtActive: LinkSpeedExtNDR, LinkSpeedExtActive2: LinkSpeedExt2XDR},
			ib.LinkRate{Width: ib.Width12x, Speed: ib.XDR},
		},
	} {
		if got := c.info.LinkRate(); got != c.want {
			t.Errorf("got %v, want %v", got, c.want)
		}
	}
}

func TestDataVLs(t *testing.T) {
	all := []DataVLs{0, DataVLs1, DataVLs2, DataVLs4, DataVLs8, DataVLs15, 6}
	checkStrings(t, all, "DataVLs(0)", "VL0", "VL0-1", "VL0-3", "VL0-7", "VL0-14", "DataVLs(6)")
	for i, lanes := range []int{0, 1, 2, 4, 8, 15, 0} {
		if all[i].Lanes() != lanes {
			t.Errorf("%v has %d lanes, want %d", all[i], all[i].Lanes(), lanes)
		}
	}
}
