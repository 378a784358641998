package opensm

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/ib"
	"heddle/sm/plan"
)

func readLIDs(t testing.TB, text string) (map[ib.GUID]plan.LIDRange, []string) {
	t.Helper()
	lids, faults, err := ReadLIDs(strings.NewReader(text), "guid2lid")
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, f := range faults {
		list = append(list, f.Error())
	}
	return lids, list
}

func writeLIDs(t testing.TB, lids map[ib.GUID]plan.LIDRange) string {
	t.Helper()
	var b bytes.Buffer
	if err := WriteLIDs(&b, lids); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestLIDsOfOpenSM reads the guid2lid that Debian's OpenSM 3.3.23 wrote for
// `heddle emu` of fat-tree:k=4 with the option lmc 1, and writes it again.
// OpenSM's order is that of a hash table.
func TestLIDsOfOpenSM(t *testing.T) {
	theirs := readFile(t, "testdata/guid2lid")
	lids, faults := readLIDs(t, theirs)
	if len(faults) > 0 || len(lids) != 36 {
		t.Errorf("%d ports, faults %q", len(lids), faults)
	}
	if got, want := lids[0x02000002000000f1], (plan.LIDRange{First: 64, Last: 65}); got != want {
		t.Errorf("%v, want %v", got, want)
	}
	blocks := func(text string) []string { return slices.Sorted(strings.SplitSeq(text, "\n\n")) }
	if diff := cmp.Diff(blocks(theirs), blocks(writeLIDs(t, lids))); diff != "" {
		t.Errorf("(-OpenSM +ours):\n%s", diff)
	}
}

func TestLIDsFaults(t *testing.T) {
	lids, faults := readLIDs(t, strings.Join([]string{
		"# a comment", "0x01 0x0001 0x0001", "", "0x2 1 1\r", "0x01 0x0003 0x0003", "0x3 0x10 0x13", "0x4 0x12 0x12", "0x5 0x0f 0x0f",
		"0x6 0x20", "0x7 0x21 0x20", "0x8 0 0", "0x9 0xC000 0xC000", "0xg 4 4", "0xa 0x21 0x22", "0xb 0x20 0x22", "0x0 5 5", "0xc 0x100 0x1ff",
		"0xd 0xbfff 0xbfff", "0xe 6 x", "0xf 0x00 0xffff",
	}, "\n"))
	want := map[ib.GUID]plan.LIDRange{1: {First: 1, Last: 1}, 3: {First: 16, Last: 19}, 5: {First: 15, Last: 15}, 13: {First: 0xbfff, Last: 0xbfff}}
	if diff := cmp.Diff(want, lids); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	wantFaults := []string{
		"guid2lid:4: LID 1 of port 0x0000000000000002 is that of port 0x0000000000000001: left out",
		"guid2lid:5: port 0x0000000000000001 has LID 1 already: left out",
		"guid2lid:7: LID 18 of port 0x0000000000000004 is that of port 0x0000000000000003: left out",
		`guid2lid:9: "0x6 0x20": want a GUID and its first and last LID: left out`,
		"guid2lid:10: LIDs 33 to 32: the last is before the first: left out",
		`guid2lid:11: LID "0" is out of range: want 1 to 49151 (0xbfff): left out`,
		`guid2lid:12: LID "0xC000" is out of range: want 1 to 49151 (0xbfff): left out`,
		`guid2lid:13: GUID "0xg" is malformed: want 1 to 16 hexadecimal digits, with or without 0x, or 16 in equal groups split by : or -: left out`,
		"guid2lid:14: LIDs 33 to 34 are not those of any LMC: left out",
		"guid2lid:15: LIDs 32 to 34 are not those of any LMC: left out",
		"guid2lid:16: GUID 0x0000000000000000 is no port's: left out",
		"guid2lid:17: LIDs 256 to 511 are not those of any LMC: left out",
		`guid2lid:19: LID "x" is malformed: want 1 to 49151 (0xbfff): left out`,
		`guid2lid:20: LID "0x00" is out of range: want 1 to 49151 (0xbfff): left out`,
	}
	if diff := cmp.Diff(wantFaults, faults); diff != "" {
		t.Errorf("faults (-want +got):\n%s", diff)
	}
}

func TestLongLine(t *testing.T) {
	text := "0x1 1 1\n" + strings.Repeat("x", maxLine+1)
	lids, faults, err := ReadLIDs(strings.NewReader(text), "guid2lid")
	if err == nil || lids != nil || faults != nil || !strings.HasPrefix(err.Error(), "guid2lid: line 2: ") {
		t.Errorf("%v, %v, %v", lids, faults, err)
	}
	if _, _, err := ReadConfig(strings.NewReader(text), "o"); err == nil {
		t.Error("read a config with a line that is too long")
	}
}

// FuzzReadLIDs: no two ports have a LID, and what was read comes back.
func FuzzReadLIDs(f *testing.F) {
	f.Add("0x0002c90300001234 0x0004 0x0007\n\n0x2 8 8\n0x3 7 7")
	f.Fuzz(func(t *testing.T, text string) {
		lids, _, err := ReadLIDs(strings.NewReader(text), "")
		if err != nil {
			return
		}
		owner := map[ib.LID]ib.GUID{}
		for guid, own := range lids {
			for lid := own.First; lid <= own.Last; lid++ {
				if owner[lid] != 0 || !lid.IsUnicast() {
					t.Fatalf("LID %v of %v and %v", lid, guid, owner[lid])
				}
				owner[lid] = guid
			}
		}
		again, faults := readLIDs(t, writeLIDs(t, lids))
		if diff := cmp.Diff(lids, again); diff != "" || len(faults) > 0 {
			t.Errorf("%q (-first +second):\n%s", faults, diff)
		}
	})
}
