package mad

import (
	"testing"
)

func (r SMInfoRecord) saquery() []string {
	return []string{
		"SMInfoRecord dump:", "RID", line("LID", r.LID), "SMInfo dump:", line("GUID", r.Info.GUID), line("SM_Key", r.Info.SMKey),
		line("ActCount", r.Info.ActCount), line("Priority", r.Info.Priority), line("SMState", uint8(r.Info.SMState)),
	}
}

func TestSMInfoRecord(t *testing.T) {
	request := SMInfoRecord{LID: 1}
	want := request
	want.Info = SMInfo{GUID: 0x100001, ActCount: 489, SMState: SMMaster}
	other := want
	other.LID = 2
	checkRecorded(t, "sm_info_record.hex", ParseSMInfoRecord, SMInfoRecordLID, request, other, want)
}
