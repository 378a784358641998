package mad

import (
	"fmt"
	"testing"

	"heddle/ib"
)

func (r InformInfoRecord) saquery() []string {
	return []string{
		"InformInfoRecord dump:", "RID", line("SubscriberGID", r.SubscriberGID), hexLine("SubscriberEnum", r.Enum),
		"InformInfo dump:", line("gid", r.Info.GID),
		line("lid_range_begin", r.Info.LIDRangeBegin), line("lid_range_end", r.Info.LIDRangeEnd),
		hexLine("is_generic", flag(r.Info.IsGeneric, 1)), hexLine("subscribe", flag(r.Info.Subscribe, 1)),
		hexLine("trap_type", r.Info.Type), line("trap_num", uint16(r.Info.Trap)),
		fmt.Sprintf("qpn 0x%06X", uint32(r.Info.QPN)), hexLine("resp_time_val", r.Info.RespTime),
		fmt.Sprintf("node_type 0x%06X", uint32(r.Info.Producer)),
	}
}

// TestInformInfoRecord: OpenSM hides the queue pair.
func TestInformInfoRecord(t *testing.T) {
	request := InformInfoRecord{SubscriberGID: ib.MustParseGID("fe80::10:4")}
	want := request
	want.Info = InformInfo{
		LIDRangeBegin: 0xFFFF, IsGeneric: true, Subscribe: true, Type: InformAll, Trap: TrapAll, RespTime: 19, Producer: ProducerAll,
	}
	other := want
	other.SubscriberGID = ib.MustParseGID("fe80::10:1")
	checkRecorded(t, "inform_info_record.hex", ParseInformInfoRecord, InformInfoRecordSubscriberGID, request, other, want)
}
