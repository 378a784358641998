package mad

import (
	"bytes"
	"testing"
)

// TestRMPPHeader: what OpenSM put on the wire as it answered a GetMulti. Its
// Status and RespTime are zero, so that our sample has them too; the places of
// all are those of IBTA 1, 13.6.2.
func TestRMPPHeader(t *testing.T) {
	d := recorded(t, "multi_path_record.hex")[1]
	want := RMPPHeader{Version: RMPPVersion, Type: RMPPData, Flags: RMPPActive | RMPPFirst | RMPPLast, Data1: 1, Data2: 0x5C}
	if got := d.RMPP(); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	h := RMPPHeader{
		Version: 1, Type: RMPPAck, RespTime: 0x12, Flags: RMPPActive | RMPPLast, Status: RMPPTooManyRetries,
		Data1: 0x01020304, Data2: 0x05060708,
	}
	b := []byte{1, 2, 0x95, 126, 1, 2, 3, 4, 5, 6, 7, 8}
	if got := h.AppendTo(nil); !bytes.Equal(got, b) {
		t.Errorf("encoded %x, want %x", got, b)
	}
	if got, err := ParseRMPPHeader(b); err != nil || got != h {
		t.Errorf("%v, got %+v", err, got)
	}
	if _, err := ParseRMPPHeader(b[:11]); err == nil {
		t.Error("11 bytes are a header")
	}
}

// TestRMPPFlagsStayFlags: what does not fit into the fields touches no other.
func TestRMPPFlagsStayFlags(t *testing.T) {
	h := RMPPHeader{RespTime: 0xFF, Flags: 0xF8}
	if b := h.AppendTo(nil); b[2] != 0xF8 {
		t.Errorf("encoded %#x", b[2])
	}
}

func TestRMPPStrings(t *testing.T) {
	checkStrings(t, []RMPPType{RMPPNone, RMPPData, RMPPAck, RMPPStop, RMPPAbort, 9}, "none", "DATA", "ACK", "STOP", "ABORT", "RMPPType(9)")
	checkStrings(t, []RMPPStatus{RMPPOK, RMPPTooManyRetries, 200}, "ok", "too many retries", "RMPPStatus(200)")
}
