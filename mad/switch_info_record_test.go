package mad

import (
	"testing"
)

func (r SwitchInfoRecord) saquery() []string {
	b := r.Info.AppendTo(nil)
	return []string{
		"SwitchInfoRecord dump:", "RID", line("LID", r.LID), "SwitchInfo dump:",
		hexLine("LinearFDBCap", r.Info.LinearFDBCap), hexLine("RandomFDBCap", r.Info.RandomFDBCap),
		hexLine("MulticastFDBCap", r.Info.MulticastFDBCap), hexLine("LinearFDBTop", r.Info.LinearFDBTop),
		line("DefaultPort", r.Info.DefaultPort), line("DefaultMulticastPrimaryPort", r.Info.DefaultMulticastPrimaryPort),
		line("DefaultMulticastNotPrimaryPort", r.Info.DefaultMulticastNotPrimaryPort),
		hexLine("LifeTimeValue/PortStateChange/OpSL2VL", b[11]), hexLine("LIDsPerPort", r.Info.LIDsPerPort),
		hexLine("PartitionEnforcementCap", r.Info.PartitionEnforcementCap), hexLine("flags", b[16]),
		hexLine("MulticastFDBTop", r.Info.MulticastFDBTop),
	}
}

func TestSwitchInfoRecord(t *testing.T) {
	request := SwitchInfoRecord{LID: 2}
	want := request
	want.Info = SwitchInfo{LinearFDBCap: 0x7800, MulticastFDBCap: 0x400, LinearFDBTop: 6, LifeTimeValue: 18, PartitionEnforcementCap: 64, FilterRawInboundCap: true, FilterRawOutboundCap: true}
	other := want
	other.LID = 3
	checkRecorded(t, "switch_info_record.hex", ParseSwitchInfoRecord, SwitchInfoRecordLID, request, other, want)
}
