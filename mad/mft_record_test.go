package mad

import (
	"fmt"
	"testing"

	"heddle/ib"
)

func (r MFTRecord) saquery() []string {
	lines := []string{
		"MFT Record dump:", line("LID", r.LID), line("Position", r.Position), line("Block", r.Block), "MFT:", "MLID\tPort Mask",
	}
	for i, mask := range r.Ports {
		mlid := int(ib.FirstMLID) + len(r.Ports)*int(r.Block) + i
		lines = append(lines, fmt.Sprintf("%#x\t%#04x", mlid, mask))
	}
	return lines
}

func TestMFTRecord(t *testing.T) {
	request := MFTRecord{LID: 2}
	want := request
	want.Ports[1] = 1<<2 | 1<<3
	other := want
	other.Position = 1
	checkRecorded(t, "mft_record.hex", ParseMFTRecord, MFTRecordLID|MFTRecordPosition|MFTRecordBlock, request, other, want)
}
