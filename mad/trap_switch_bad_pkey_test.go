package mad

import (
	"fmt"
	"testing"
)

// OpenSM does not move the SL down from the upper half of its byte.
func (d SwitchBadPKeyDetails) opensm() []string {
	return []string{
		fmt.Sprintf("data_valid %#x", uint16(d.Valid)), line("lid1", d.LID1), line("lid2", d.LID2),
		fmt.Sprintf("pkey %#x", uint16(d.PKey)), line("sl", uint8(d.SL)<<4),
		fmt.Sprintf("qp1 %#x", uint32(d.QP1)), fmt.Sprintf("qp2 %#x", uint32(d.QP2)), line("gid1", d.GID1), line("gid2", d.GID2),
		line("sw_lid", d.SwitchLID), line("port_no", d.Port),
	}
}

// TestSwitchBadPKeyFields: the fields are numbered from the top bit down, as
// Wireshark's dissector for Omni-Path has them, which took the trap over
// (opa.trap.datavalid.lid1 is 0x8000, opa.trap.datavalid.gid2 is 0x100).
func TestSwitchBadPKeyFields(t *testing.T) {
	if ValidLID1 != 0x8000 || ValidPKey != 0x2000 || ValidGID2 != 0x0100 {
		t.Errorf("LID1 %#x, P_Key %#x, GID2 %#x", ValidLID1, ValidPKey, ValidGID2)
	}
}
