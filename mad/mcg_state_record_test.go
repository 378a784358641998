package mad

import (
	"bytes"
	"slices"
	"testing"
)

// TestMCGStateRecord: the layout is our own, nobody else's program knows it.
func TestMCGStateRecord(t *testing.T) {
	r := MCGStateRecord{MGID: mgidA, State: MCGReady, MemberCount: 0x0102, Joined: 0x0304}
	want := slices.Concat(mgidA[:], []byte{3, 0, 0, 0, 1, 2, 3, 4})
	if b := r.AppendTo(nil); !bytes.Equal(b, want) {
		t.Errorf("encoded %x\nwant    %x", b, want)
	}
	if got, err := ParseMCGStateRecord(want); err != nil || got != r {
		t.Errorf("%v, got %+v", err, got)
	}
}

func TestMCGStateString(t *testing.T) {
	checkStrings(t, []MCGState{0, MCGReceivingJoinReq, MCGComputingRoutes, MCGReady, MCGReceivingLeaveReq, MCGDestroying, 6},
		"MCGState(0)", "ReceivingJoinReq", "ComputingRoutes", "Ready", "ReceivingLeaveReq", "Destroying", "MCGState(6)")
}
