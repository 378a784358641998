package ib

import (
	"fmt"
	"testing"
)

func TestParseLID(t *testing.T) {
	runParse(t, ParseLID, []parseCase[LID]{
		{text: "1", want: 1},
		{text: "0015", want: 15},
		{text: "49151", want: MaxUnicastLID},
		{text: "0xbfff", want: MaxUnicastLID},
		{text: "0X3E", want: 62},
		// Case T6: what stands for a LID in real dumps, and is none.
		{text: "", err: ErrSyntax},
		{text: "0", err: ErrRange},
		{text: "-1", err: ErrRange},
		{text: "-4", err: ErrRange},
		{text: "61111", err: ErrRange},
		{text: "65535", err: ErrRange},
		{text: "49152", err: ErrRange},
		{text: "65537", err: ErrRange}, // 1 in 16 bits
		{text: "99999999999999999999999", err: ErrRange},
		{text: "-99999999999999999999999", err: ErrRange},
		{text: "3e", err: ErrSyntax},
		{text: "18700000000000000000A", err: ErrSyntax},
		{text: "0xfffffffffffffffffg", err: ErrSyntax},
		{text: "+1", err: ErrSyntax},
		{text: "-", err: ErrSyntax},
		{text: "-0x1", err: ErrSyntax},
		{text: "1 ", err: ErrSyntax},
		{text: "1_0", err: ErrSyntax},
	})
}

func TestParseMLID(t *testing.T) {
	runParse(t, ParseMLID, []parseCase[MLID]{
		{text: "0xc000", want: FirstMLID},
		{text: "0xC001", want: 0xc001},
		{text: "49152", want: FirstMLID},
		{text: "0xfffe", want: LastMLID},
		{text: "0xffff", err: ErrRange},
		{text: "0xbfff", err: ErrRange},
		{text: "0", err: ErrRange},
		{text: "c000", err: ErrSyntax},
		{text: "", err: ErrSyntax},
	})
}

// Each of the 65,536 addresses is a LID, an MLID, or neither.
func TestEveryLIDAndMLID(t *testing.T) {
	var lids, mlids int
	for v := range 1 << 16 {
		l, m := LID(v), MLID(v)
		if l.IsUnicast() && m.IsValid() {
			t.Fatalf("%#x is both", v)
		}
		if got, err := ParseLID(fmt.Sprint(v)); (err == nil) != l.IsUnicast() || (err == nil && got != l) {
			t.Fatalf("ParseLID(%d) = %v, %v", v, got, err)
		}
		if got, err := ParseMLID(m.String()); (err == nil) != m.IsValid() || (err == nil && got != m) {
			t.Fatalf("ParseMLID(%v) = %v, %v", m, got, err)
		}
		if l.String() != fmt.Sprint(v) || m.String() != fmt.Sprintf("0x%04x", v) {
			t.Fatalf("%#x: String gives %v and %v", v, l, m)
		}
		if string(l.AppendTo(nil)) != l.String() {
			t.Fatalf("%#x: AppendTo differs from String", v)
		}
		checkText(t, m, m.IsValid())
		if l.IsUnicast() {
			lids++
		}
		if m.IsValid() {
			mlids++
		}
	}
	if lids != NumUnicastLIDs || mlids != NumMLIDs {
		t.Errorf("counted %d LIDs and %d MLIDs, want %d and %d", lids, mlids, NumUnicastLIDs, NumMLIDs)
	}
	if PermissiveLID.IsUnicast() || MLID(PermissiveLID).IsValid() {
		t.Error("the permissive LID names no port and no group")
	}
}

func FuzzParseLID(f *testing.F) {
	fuzzParse(f, ParseLID, []string{"1", "0xbfff", "61111", "0015"}, likeNumber(ParseLID, 1, 0xbfff))
}

func FuzzParseMLID(f *testing.F) {
	fuzzParse(f, ParseMLID, []string{"0xC000", "49152", "0xffff"}, likeNumber(ParseMLID, 0xc000, 0xfffe))
}
