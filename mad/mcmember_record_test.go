package mad

import (
	"fmt"
	"testing"

	"heddle/ib"
)

// saquery has the lowest bit of the byte for ProxyJoin, and shows no reserved
// bits.
func (r MCMemberRecord) saquery() []string {
	return []string{
		"MCMember Record dump:", line("MGID", r.MGID), line("PortGid", r.PortGID),
		fmt.Sprintf("qkey %#x", uint32(r.QKey)), fmt.Sprintf("mlid %#x", uint16(r.MLID)),
		fmt.Sprintf("mtu %#x", selected(r.MTUSelector, r.MTU)), fmt.Sprintf("TClass %#x", r.TClass),
		fmt.Sprintf("pkey %#x", uint16(r.PKey)), fmt.Sprintf("rate %#x", selected(r.RateSelector, r.Rate)),
		fmt.Sprintf("pkt_life %#x", selected(r.LifetimeSelector, r.Lifetime)), fmt.Sprintf("SL %#x", uint8(r.SL)),
		fmt.Sprintf("FlowLabel %#x", r.FlowLabel), fmt.Sprintf("HopLimit %#x", r.HopLimit),
		fmt.Sprintf("Scope %#x", uint8(r.Scope)), fmt.Sprintf("JoinState %#x", uint8(r.JoinState)),
		fmt.Sprintf("ProxyJoin %#x", flag(r.ProxyJoin, 1)),
	}
}

// recordedGroup is that of the recorded joins.
var recordedGroup = MCMemberRecord{
	MGID: ib.MustParseMGID("ff15:a01b:fe80::77"), PortGID: ib.MustParseGID("fe80::10:4"), QKey: 0x1234, MLID: 0xC001,
	MTUSelector: SelectExactly, MTU: ib.MTU2048, TClass: 7, PKey: ib.DefaultPKey,
	RateSelector: SelectExactly, Rate: ib.Rate10, LifetimeSelector: SelectExactly, Lifetime: 18,
	FlowLabel: 0xABCDE, HopLimit: 9, JoinState: JoinFull, MemberCount: 5,
}

// TestMCMemberRecord: the member joined by proxy. OpenSM has the lowest bit of
// the byte for that, as no other does, and it shows the member count that the
// group's first member, and not this one, had sent.
func TestMCMemberRecord(t *testing.T) {
	request := MCMemberRecord{MGID: recordedGroup.MGID, PortGID: ib.MustParseGID("fe80::10:7")}
	want := recordedGroup
	want.PortGID, want.JoinState, want.ProxyJoin = request.PortGID, JoinSendOnly, true
	list := recorded(t, "mcmember_record.hex")
	checkRequest(t, list[0], ParseMCMemberRecord, MCMemberRecordMGID|MCMemberRecordPortGID, request)
	const proxy = offSAData + 49
	if list[1].Datagram[proxy] != proxyJoinOpen {
		t.Errorf("OpenSM's byte of ProxyJoin is %#x", list[1].Datagram[proxy])
	}
	list[1].Datagram[proxy] |= proxyJoin
	checkAnswer(t, list[1], ParseMCMemberRecord, want)
	checkChosen(t, list[0], []MCMemberRecord{want}, recordedGroup)
}

// TestMCMemberRecordRequest: saquery asks by all components at once.
func TestMCMemberRecordRequest(t *testing.T) {
	want := recordedGroup
	want.SL, want.Scope, want.ProxyJoin, want.MemberCount = 3, ib.ScopeSiteLocal, true, 0
	want.FlowLabel = 0xDE // saquery has 8 bits for it
	d := recorded(t, "mcmember_record.hex")[2]
	d.Datagram[offSAData+49] |= proxyJoin
	checkRequest(t, d, ParseMCMemberRecord, MCMemberRecordProxyJoin<<1-1, want)
}

// TestMemberCount: OpenSM takes a join with MemberCount and its component, and
// sends both back. Nobody but heddle reads them.
func TestMemberCount(t *testing.T) {
	d := recorded(t, "mcmember_record.hex")[3]
	if d.Status() != StatusOK || !d.ComponentMask().Has(MCMemberRecordMemberCount) {
		t.Fatalf("status %v, mask %v", d.Status(), d.ComponentMask())
	}
	checkAnswer(t, d, ParseMCMemberRecord, recordedGroup)
}

func TestJoinState(t *testing.T) {
	for _, c := range []struct {
		state           JoinState
		keeps, receives bool
		text            string
	}{
		{0, false, false, "none"},
		{JoinFull, true, true, "full"},
		{JoinNon, false, true, "non"},
		{JoinSendOnly, false, false, "send-only"},
		{JoinSendOnlyFull, true, false, "send-only-full"},
		{JoinFull | JoinSendOnlyFull, true, true, "full|send-only-full"},
		{0x10, false, false, "0x10"},
	} {
		if c.state.KeepsGroup() != c.keeps || c.state.Receives() != c.receives || c.state.String() != c.text {
			t.Errorf("%v: keeps %v, receives %v", c.state, c.state.KeepsGroup(), c.state.Receives())
		}
	}
}
