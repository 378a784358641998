package mad

import (
	"fmt"
	"testing"

	"heddle/ib"
)

func (r VLArbitrationRecord) saquery() []string {
	lines := []string{
		"VLArbTableRecord dump:", line("LID", r.LID), line("Port", r.OutputPort), line("Block", uint8(r.Block)),
	}
	for i := 0; i < len(r.Table); i += 16 {
		vls, weights := "VL    :", "Weight:"
		for _, entry := range r.Table[i : i+16] {
			vls += fmt.Sprintf("%2d|", uint8(entry.VL))
			weights += fmt.Sprintf("%2d|", entry.Weight)
		}
		lines = append(lines, vls, weights)
	}
	return lines
}

func TestVLArbitrationRecord(t *testing.T) {
	request := VLArbitrationRecord{LID: 2, OutputPort: 1, Block: VLArbitrationLowFirst}
	want := request
	for vl := range 8 {
		want.Table[vl] = VLWeight{VL: ib.VL(vl), Weight: uint8(min(4*vl, 4))}
	}
	other := want
	other.Block = VLArbitrationHighFirst
	checkRecorded(t, "vl_arbitration_record.hex", ParseVLArbitrationRecord,
		VLArbitrationRecordLID|VLArbitrationRecordOutputPort|VLArbitrationRecordBlock, request, other, want)
}
