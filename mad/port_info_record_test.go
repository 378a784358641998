package mad

import (
	"fmt"
	"testing"

	"heddle/ib"
)

func (r PortInfoRecord) saquery() []string {
	lines := []string{
		"PortInfoRecord dump:", "RID", line("EndPortLid", r.LID), line("PortNum", r.PortNum),
		fmt.Sprintf("Options %#x", r.Options), "PortInfo dump:",
	}
	return append(lines, r.Info.diags()...)
}

// sampleHca2 is a port of ibsim's, as OpenSM sets it up.
var sampleHca2 = PortInfoRecord{
	LID: 4, PortNum: 1,
	Info: PortInfo{
		GidPrefix: ib.DefaultPrefix, LID: 4, MasterSMLID: 1, CapabilityMask: 0x50c048,
		MKeyLeasePeriod: 4089, LocalPortNum: 1,
		LinkWidthEnabled: 2, LinkWidthSupported: 0x1F, LinkWidthActive: 2, LinkSpeedSupported: 7,
		PortState: PortActive, PortPhysicalState: PhysLinkUp, LinkDownDefaultState: PhysPolling,
		LinkSpeedActive: 1, LinkSpeedEnabled: 1, NeighborMTU: ib.MTU2048, VLCap: DataVLs8,
		VLArbitrationHighCap: 8, VLArbitrationLowCap: 8, MTUCap: ib.MTU2048, VLStallCount: 7, OperationalVLs: DataVLs8,
		GUIDCap: 32, SubnetTimeOut: 31, CapabilityMask2: 0x30,
	},
}

func TestPortInfoRecord(t *testing.T) {
	other := sampleHca2
	other.PortNum = 2
	checkRecorded(t, "port_info_record.hex", ParsePortInfoRecord, PortInfoRecordLID|PortInfoRecordPortNum,
		PortInfoRecord{LID: 4, PortNum: 1}, other, sampleHca2)
}

// TestMatchCapabilities: saquery -s asks for the ports whose capability mask
// has IsSM, among others.
func TestMatchCapabilities(t *testing.T) {
	d := recorded(t, "port_info_record.hex")[3]
	checkRequest(t, d, ParsePortInfoRecord, PortInfoRecordCapabilityMask, PortInfoRecord{Info: PortInfo{CapabilityMask: CapIsSM}})
	if d.Modifier() != PortInfoMatchCapabilities {
		t.Fatalf("modifier is %#x", d.Modifier())
	}
	f, err := NewFilter(d.Attr(), d.ComponentMask(), d.Data())
	if err != nil {
		t.Fatal(err)
	}
	contain := f.Contain(PortInfoRecordCapabilityMask)
	for _, c := range []struct {
		mask             CapabilityMask
		equal, contained bool
	}{
		{CapIsSM, true, true},
		{CapIsSM | CapTrap, false, true},
		{CapTrap, false, false},
		{0, false, false},
	} {
		b := PortInfoRecord{LID: 3, Info: PortInfo{CapabilityMask: c.mask}}.AppendTo(nil)
		if f.Match(b) != c.equal || contain.Match(b) != c.contained {
			t.Errorf("%v: matches %v, contained %v", c.mask, f.Match(b), contain.Match(b))
		}
	}
}
