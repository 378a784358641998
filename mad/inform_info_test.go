package mad

import (
	"testing"

	"heddle/ib"
)

// TestInformInfo: the subscription that OpenSM shows in its InformInfoRecord,
// see there, is the one that we sent. Here is what it is for.
func TestInformInfo(t *testing.T) {
	all := InformInfo{IsGeneric: true, Type: InformAll, Trap: TrapAll, Producer: ProducerAll}
	one := InformInfo{IsGeneric: true, Type: InformType(NoticeSubnetManagement), Trap: TrapGroupCreated, Producer: ProducerManager}
	vendor := InformInfo{Type: InformAll, Trap: TrapAll, Producer: 0x2c9}
	created := NewNotice(TrapGroupCreated, ProducerManager, GIDDetails{})
	deleted := NewNotice(TrapGroupDeleted, ProducerManager, GIDDetails{})
	urgent := created
	urgent.Type = NoticeUrgent
	byCA := created
	byCA.Producer = ProducerCA
	for _, c := range []struct {
		name string
		info InformInfo
		n    Notice
		want bool
	}{
		{"all", all, created, true},
		{"this one", one, created, true},
		{"another trap", one, deleted, false},
		{"another type", one, urgent, false},
		{"another producer", one, byCA, false},
		{"a vendor's, not generic", vendor, created, false},
		{"a vendor's", vendor, Notice{Producer: 0x2c9, Trap: 7}, true},
		{"generic, not a vendor's", all, Notice{Producer: 0x2c9, Trap: 7}, false},
	} {
		if got := c.info.Matches(c.n); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

// TestInformInfoBytes: the layout as InformInfoRecord's golden bytes have it,
// with the queue pair that OpenSM does not show there.
func TestInformInfoBytes(t *testing.T) {
	record := recorded(t, "inform_info_record.hex")[1].Data()[24:]
	info, err := ParseInformInfo(record)
	if err != nil {
		t.Fatal(err)
	}
	info.QPN = ib.QPN(42)
	want := append([]byte(nil), record[:info.Len()]...)
	want[30] = 42
	if got := info.AppendTo(nil); string(got) != string(want) {
		t.Errorf("encoded %x\nwant    %x", got, want)
	}
}

func TestInformTypeString(t *testing.T) {
	checkStrings(t, []InformType{InformAll, 2, 0x1234}, "all", "Security", "NoticeType(0xff)")
}
