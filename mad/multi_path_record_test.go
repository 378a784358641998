package mad

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/ib"
)

// TestMultiPathRecord: what we asked, and the paths that OpenSM found in it. The
// other fields tshark reads, see TestTsharkSA.
func TestMultiPathRecord(t *testing.T) {
	gids := []ib.GID{ib.MustParseGID("fe80::10:4"), ib.MustParseGID("fe80::10:1"), ib.MustParseGID("fe80::10:7")}
	want := MultiPathRecord{Reversible: true, NumbPath: 3, PKey: ib.DefaultPKey, SGIDs: gids[:1], DGIDs: gids[1:]}
	list := recorded(t, "multi_path_record.hex")
	checkRequest(t, list[0], ParseMultiPathRecord,
		MultiPathRecordReversible|MultiPathRecordNumbPath|MultiPathRecordPKey|MultiPathRecordSGIDCount|MultiPathRecordDGIDCount, want)
	path := PathRecord{
		SGID: gids[0], DGID: gids[1], SLID: 4, DLID: 1, Reversible: true, PKey: ib.DefaultPKey,
		MTUSelector: SelectExactly, MTU: ib.MTU2048, RateSelector: SelectExactly, Rate: ib.Rate10,
		LifetimeSelector: SelectExactly, Lifetime: 18,
	}
	second := path
	second.DGID, second.DLID = gids[2], 5
	checkAnswer(t, list[1], ParsePathRecord, path, second)
}

// TestMultiPathRecordLayout: bits as a PathRecord has them, at other places.
func TestMultiPathRecordLayout(t *testing.T) {
	b := sampleMultiPathRecord.AppendTo(nil)
	want := []byte{
		0x8A, 0xBC, 0xDE, 0x42, 0x55, 0xAA, 0x8A, 0xBC, 0xCD, 0xEB, 0x85, 0x40 | byte(ib.Rate200), 0xC0 | 18,
		0x11, 0x40, 2, 1, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88,
	}
	if !bytes.Equal(b[:24], want) || len(b) != 24+3*16 {
		t.Errorf("encoded %x\nwant    %x and 3 GIDs", b, want)
	}
}

func TestMultiPathRecordTooLong(t *testing.T) {
	r := MultiPathRecord{SGIDs: make([]ib.GID, 256), DGIDs: make([]ib.GID, 1)}
	if r.Check() == nil || sampleMultiPathRecord.Check() != nil {
		t.Error("256 GIDs are not refused, or few are")
	}
	got, err := ParseMultiPathRecord(r.AppendTo(nil))
	r.SGIDs = r.SGIDs[:255]
	if diff := cmp.Diff(r, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
}
