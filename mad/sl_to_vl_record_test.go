package mad

import (
	"fmt"
	"testing"

	"heddle/ib"
)

func (r SLtoVLRecord) saquery() []string {
	sls, vls := "SL:", "VL:"
	for sl, vl := range r.Mapping {
		sls += fmt.Sprintf("%2d|", sl)
		vls += fmt.Sprintf("%2d|", uint8(vl))
	}
	return []string{
		"SL2VLTableRecord dump:", line("LID", r.LID), line("InPort", r.InputPort), line("OutPort", r.OutputPort), sls, vls,
	}
}

func TestSLtoVLRecord(t *testing.T) {
	want := SLtoVLRecord{LID: 2, InputPort: 1, OutputPort: 3}
	request := want
	for sl := range want.Mapping {
		want.Mapping[sl] = ib.VL(sl % 8)
	}
	other := want
	other.OutputPort = 4
	checkRecorded(t, "sl_to_vl_record.hex", ParseSLtoVLRecord,
		SLtoVLRecordLID|SLtoVLRecordInputPort|SLtoVLRecordOutputPort, request, other, want)
}
