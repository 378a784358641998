package mad

import (
	"fmt"
	"testing"
)

func (r GUIDInfoRecord) saquery() []string {
	lines := []string{"GUIDInfo Record dump:", line("LID", r.LID), line("Block", r.Block)}
	for i, guid := range r.GUIDs {
		lines = append(lines, line(fmt.Sprintf("GUID %d", i), guid))
	}
	return lines
}

func TestGUIDInfoRecord(t *testing.T) {
	request := GUIDInfoRecord{LID: 4}
	want := request
	want.GUIDs = GUIDInfo{0x100004, 0x1111222233334444, 0x5555}
	other := want
	other.Block = 1
	checkRecorded(t, "guid_info_record.hex", ParseGUIDInfoRecord, GUIDInfoRecordLID|GUIDInfoRecordBlock, request, other, want)
}
