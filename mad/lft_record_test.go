package mad

import (
	"fmt"
	"testing"
)

func (r LFTRecord) saquery() []string {
	lines := []string{"LFT Record dump:", line("LID", r.LID), line("Block", r.Block), "LFT:", "LID\tPort Number"}
	for i, port := range r.Ports {
		lines = append(lines, fmt.Sprintf("%d\t%d", len(r.Ports)*int(r.Block)+i, port))
	}
	return lines
}

func TestLFTRecord(t *testing.T) {
	request := LFTRecord{LID: 2}
	want := request
	for i := range want.Ports {
		want.Ports[i] = 255
	}
	copy(want.Ports[1:], []uint8{1, 0, 3, 3, 2, 5})
	other := want
	other.Block = 1
	checkRecorded(t, "lft_record.hex", ParseLFTRecord, LFTRecordLID|LFTRecordBlock, request, other, want)
}
