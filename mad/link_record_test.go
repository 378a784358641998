package mad

import (
	"testing"
)

func (r LinkRecord) saquery() []string {
	return []string{
		"LinkRecord dump:", line("FromLID", r.FromLID), line("FromPort", r.FromPort), line("ToPort", r.ToPort), line("ToLID", r.ToLID),
	}
}

func TestLinkRecord(t *testing.T) {
	checkRecorded(t, "link_record.hex", ParseLinkRecord, LinkRecordFromLID|LinkRecordToLID, LinkRecord{FromLID: 2, ToLID: 3},
		LinkRecord{FromLID: 2, FromPort: 1, ToPort: 1, ToLID: 1},
		LinkRecord{FromLID: 2, FromPort: 3, ToPort: 3, ToLID: 3}, LinkRecord{FromLID: 2, FromPort: 5, ToPort: 5, ToLID: 3})
	list := recorded(t, "link_record.hex")
	checkRequest(t, list[2], ParseLinkRecord, LinkRecordFromLID|LinkRecordFromPort, LinkRecord{FromLID: 2, FromPort: 3})
	checkRequest(t, list[3], ParseLinkRecord, LinkRecordFromLID|LinkRecordFromPort|LinkRecordToPort|LinkRecordToLID,
		LinkRecord{FromLID: 2, FromPort: 1, ToPort: 1, ToLID: 1})
}
