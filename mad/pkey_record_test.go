package mad

import (
	"fmt"
	"testing"

	"heddle/ib"
)

// saquery does not swap the bytes of the block.
func (r PKeyRecord) saquery() []string {
	lines := []string{
		"PKeyTableRecord dump:", line("LID", r.LID), line("Port", r.Port), line("Block", r.Block), "PKey Table:",
	}
	for i := 0; i < len(r.PKeys); i += 8 {
		text := fmt.Sprint(r.PKeys[i : i+8])
		lines = append(lines, text[1:len(text)-1])
	}
	return lines
}

func TestPKeyRecord(t *testing.T) {
	request := PKeyRecord{LID: 4, Port: 1}
	want := request
	want.PKeys[0] = ib.DefaultPKey
	other := want
	other.Block = 1
	checkRecorded(t, "pkey_record.hex", ParsePKeyRecord, PKeyRecordLID|PKeyRecordBlock|PKeyRecordPort, request, other, want)
}
