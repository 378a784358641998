package mad

import (
	"fmt"
	"testing"

	"heddle/ib"
)

func (r PathRecord) saquery() []string {
	b := r.AppendTo(nil)
	return []string{
		"PathRecord dump:", fmt.Sprintf("service_id %#016x", r.ServiceID), line("dgid", r.DGID), line("sgid", r.SGID),
		line("dlid", r.DLID), line("slid", r.SLID),
		hexLine("hop_flow_raw", uint32(flag(r.RawTraffic, 0x80))<<24|r.FlowLabel<<8|uint32(r.HopLimit)),
		hexLine("tclass", r.TClass), hexLine("num_path_revers", flag(r.Reversible, 0x80)|r.NumbPath),
		hexLine("pkey", r.PKey), hexLine("qos_class", r.QoSClass), hexLine("sl", r.SL),
		hexLine("mtu", selected(r.MTUSelector, r.MTU)), hexLine("rate", selected(r.RateSelector, r.Rate)),
		hexLine("pkt_life", selected(r.LifetimeSelector, r.Lifetime)), hexLine("preference", b[57]),
		"resv2 0x000000000000",
	}
}

func TestPathRecord(t *testing.T) {
	request := PathRecord{DGID: ib.MustParseGID("fe80::10:1"), SGID: ib.MustParseGID("fe80::10:4")}
	want := request
	want.DLID, want.SLID, want.Reversible, want.PKey = 1, 4, true, ib.DefaultPKey
	want.MTUSelector, want.MTU = SelectExactly, ib.MTU2048
	want.RateSelector, want.Rate = SelectExactly, ib.Rate10
	want.LifetimeSelector, want.Lifetime = SelectExactly, 18
	other := want
	other.DGID[15] = 7
	checkRecorded(t, "path_record.hex", ParsePathRecord, PathRecordDGID|PathRecordSGID, request, other, want)
}

// TestPathRecordRequest: saquery asks by nearly all components at once. It has
// 8 bits for the flow label.
func TestPathRecordRequest(t *testing.T) {
	want := PathRecord{
		ServiceID: 0x1122334455667788, DGID: ib.MustParseGID("fe80::10:1"), SGID: ib.MustParseGID("fe80::10:4"), DLID: 1, SLID: 4,
		FlowLabel: 0x45, HopLimit: 3, TClass: 5, Reversible: true, NumbPath: 7, PKey: 0xFFFF, QoSClass: 5, SL: 3,
		MTUSelector: SelectExactly, MTU: ib.MTU2048, RateSelector: SelectExactly, Rate: ib.Rate10,
		LifetimeSelector: SelectExactly, Lifetime: 18,
	}
	all := PathRecordPreference - 1
	checkRequest(t, recorded(t, "path_record.hex")[2], ParsePathRecord,
		all&^(PathRecordRawTraffic|PathRecordRawTraffic<<1), want)
}

// TestPathRecordPcap reads frames 32 and 33 of Wireshark's sample capture
// infiniband.pcap, which a host and a subnet manager on hardware exchanged.
func TestPathRecordPcap(t *testing.T) {
	request := PathRecord{
		DGID: ib.MustParseGID("fe80::2:c903:0:1895"), SGID: ib.MustParseGID("fe80::2:c902:24:f636"), NumbPath: 1, PKey: 0xFFFF,
	}
	want := request
	want.DLID, want.SLID, want.NumbPath, want.Reversible = 2, 4, 0, true
	want.MTUSelector, want.MTU = SelectExactly, ib.MTU2048
	want.RateSelector, want.Rate = SelectExactly, ib.Rate10
	want.LifetimeSelector, want.Lifetime = SelectExactly, 18
	list := recorded(t, "path_record_pcap.hex")
	checkRequest(t, list[0], ParsePathRecord,
		PathRecordDGID|PathRecordSGID|PathRecordTClass|PathRecordNumbPath|PathRecordPKey, request)
	checkAnswer(t, list[1], ParsePathRecord, want)
}
