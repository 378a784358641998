package ib

import (
	"testing"

	"pgregory.net/rapid"
)

func TestParseQPN(t *testing.T) {
	runParse(t, ParseQPN, []parseCase[QPN]{
		{text: "0", want: SMIQPN},
		{text: "1", want: GSIQPN},
		{text: "0xffffff", want: MulticastQPN},
		{text: "0x1000000", err: ErrRange},
		{text: "qp1", err: ErrSyntax},
	})
}

func TestQPNRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := QPN(rapid.Uint32Range(0, 1<<25).Draw(t, "qpn"))
		got, err := ParseQPN(q.String())
		if (err == nil) != q.IsValid() || (err == nil && got != q) {
			t.Errorf("ParseQPN(%v) = %v, %v", q, got, err)
		}
	})
}

func TestQPNString(t *testing.T) {
	for q, want := range map[QPN]string{0: "0x000000", 0x48: "0x000048", MulticastQPN: "0xffffff", 0x1000000: "0x1000000"} {
		if q.String() != want {
			t.Errorf("got %v, want %v", q, want)
		}
	}
	if !MulticastQPN.IsValid() || QPN(1<<24).IsValid() {
		t.Error("valid are those of 24 bits")
	}
}

func TestEverySLAndVL(t *testing.T) {
	for v := range 256 {
		s, l := SL(v), VL(v)
		if s.IsValid() != (v <= 15) || l.IsValid() != (v <= 15) || l.IsData() != (v <= 14) {
			t.Errorf("%d: SL %v, VL %v, data %v", v, s.IsValid(), l.IsValid(), l.IsData())
		}
		gotS, errS := ParseSL(s.String())
		gotL, errL := ParseVL(l.String())
		if (errS == nil) != s.IsValid() || (errL == nil) != l.IsValid() {
			t.Errorf("%d: %v, %v", v, errS, errL)
		}
		if v <= 15 && (gotS != s || gotL != l) {
			t.Errorf("%d: read back as %v and %v", v, gotS, gotL)
		}
	}
	if SL(16).String() != "SL(16)" || VL(255).String() != "VL(255)" {
		t.Errorf("got %v and %v", SL(16), VL(255))
	}
}

func FuzzParseQPN(f *testing.F) {
	fuzzParse(f, ParseQPN, []string{"0xffffff", "1", "16777216"}, likeNumber(ParseQPN, 0, 0xffffff))
}

func FuzzParseSL(f *testing.F) {
	fuzzParse(f, ParseSL, []string{"0", "15", "16", "0xf"}, likeNumber(ParseSL, 0, 15))
}

func FuzzParseVL(f *testing.F) {
	fuzzParse(f, ParseVL, []string{"0", "15", "16", "0xf"}, likeNumber(ParseVL, 0, 15))
}
