package mad

import (
	"bytes"
	"testing"
)

// TestSAHeader: a request of saquery's with an SM_Key and a mask, and OpenSM's
// answer with an attribute offset.
func TestSAHeader(t *testing.T) {
	list := recorded(t, "mcmember_record.hex")
	for i, want := range []SAHeader{
		{SMKey: 1, ComponentMask: MCMemberRecordMGID | MCMemberRecordPortGID},
		{RMPP: RMPPHeader{Flags: RMPPActive}, AttributeOffset: 7, ComponentMask: MCMemberRecordMGID | MCMemberRecordPortGID},
	} {
		d := list[i]
		if got := d.SAHeader(); got != want {
			t.Errorf("%s: got %+v, want %+v", d.title, got, want)
		}
		if got, err := ParseSAHeader(d.Datagram[24:56]); err != nil || got != want {
			t.Errorf("%s: %v, got %+v", d.title, err, got)
		}
		if b := want.AppendTo(nil); !bytes.Equal(b, d.Datagram[24:56]) {
			t.Errorf("%s: encoded %x", d.title, b)
		}
	}
	if _, err := ParseSAHeader(make([]byte, 31)); err == nil {
		t.Error("31 bytes are a header")
	}
}

func TestSAHeaderInPlace(t *testing.T) {
	want := SAHeader{
		RMPP:  RMPPHeader{Version: 1, Type: RMPPData, RespTime: 3, Flags: RMPPFirst, Status: 4, Data1: 5, Data2: 6},
		SMKey: 0x1122334455667788, AttributeOffset: 0x0102, ComponentMask: 0x8000000000000001,
	}
	var whole, parts Datagram
	whole.SetSAHeader(want)
	parts.SetRMPP(want.RMPP)
	parts.SetSMKey(want.SMKey)
	parts.SetAttributeOffset(want.AttributeOffset)
	parts.SetComponentMask(want.ComponentMask)
	if whole != parts || whole.SAHeader() != want {
		t.Errorf("whole %x\nparts %x", whole, parts)
	}
	if got := want.ComponentMask.String(); got != "0x8000000000000001" {
		t.Errorf("mask %q", got)
	}
}

// TestSACapabilities: what OpenSM says that it can, recorded by saquery -c.
func TestSACapabilities(t *testing.T) {
	const openSM, openSM2 = 0x2602, 0xB5EA
	if got := ClassCapNotices | SACapUDMulticast | SACapMultiPath | SACapPortInfoCapabilityMatch; got != openSM {
		t.Errorf("%#x", got)
	}
	if got := SACap2QoS | SACap2MulticastFDBTop | SACap2AliasGUIDs | SACap2FullPortInfo | SACap2ExtendedSpeeds |
		SACap2MulticastServiceRecords | SACap2PortInfoMask2Match | SACap2SendOnlyFull | SACap2LinkWidth2x |
		SACap2LinkSpeedHDR; got != openSM2 {
		t.Errorf("%#x", got)
	}
}
