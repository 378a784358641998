package ib

import (
	"strings"
	"testing"
)

func TestParseWidth(t *testing.T) {
	runParse(t, ParseWidth, []parseCase[Width]{
		{text: "1x", want: Width1x},
		{text: "2x", want: Width2x},
		{text: "4X", want: Width4x},
		{text: "8", want: Width8x}, // as in w=8
		{text: "12x", want: Width12x},
		{text: "3x", err: ErrRange},
		{text: "0", err: ErrRange},
		{text: "x", err: ErrSyntax},
		{text: "4xx", err: ErrSyntax},
		{text: "-4x", err: ErrSyntax},
		{text: "?", err: ErrSyntax},
		{text: "", err: ErrSyntax},
	})
}

func TestEveryWidth(t *testing.T) {
	golden := map[Width]struct {
		lanes int
		code  uint8
	}{Width1x: {1, 1}, Width2x: {2, 16}, Width4x: {4, 2}, Width8x: {8, 4}, Width12x: {12, 8}}
	for v := range 256 {
		w := Width(v)
		want, valid := golden[w]
		if w.Lanes() != want.lanes || w.Code() != want.code || w.IsValid() != valid {
			t.Errorf("%v: %d lanes, code %d, valid %v", w, w.Lanes(), w.Code(), w.IsValid())
		}
		got, err := ParseWidth(w.String())
		if (err == nil) != valid || (valid && got != w) {
			t.Errorf("ParseWidth(%v) = %v, %v", w, got, err)
		}
		checkText(t, w, valid)
	}
	if Width(0).String() != "?" || Width(9).String() != "Width(9)" {
		t.Errorf("got %v and %v", Width(0), Width(9))
	}
}

func TestWidthFromCode(t *testing.T) {
	golden := map[uint8]Width{1: Width1x, 2: Width4x, 4: Width8x, 8: Width12x, 16: Width2x}
	for v := range 256 {
		if got := WidthFromCode(uint8(v)); got != golden[uint8(v)] {
			t.Errorf("WidthFromCode(%d) = %v, want %v", v, got, golden[uint8(v)])
		}
	}
}

func TestParseSpeed(t *testing.T) {
	runParse(t, ParseSpeed, []parseCase[Speed]{
		{text: "SDR", want: SDR},
		{text: "hdr", want: HDR},
		{text: "Fdr10", want: FDR10},
		{text: "FDR", want: FDR},
		{text: "2.5 Gbps", want: SDR},
		{text: "5.0 Gbps", want: DDR},
		{text: "10.0 Gbps", want: QDR},
		{text: "10.3125 Gbps", want: FDR10},
		{text: "14.0625 Gbps", want: FDR},
		{text: "25.78125 Gbps", want: EDR},
		{text: "53.125 Gbps", want: HDR},
		{text: "106.25 Gbps", want: NDR},
		{text: "2.5", want: SDR},
		{text: "14", want: FDR},
		{text: "200G", want: XDR},
		{text: "3 Gbps", err: ErrRange},
		{text: "0", err: ErrRange},
		{text: "ZDR", err: ErrSyntax},
		{text: "HDR ", err: ErrSyntax},
		{text: "?", err: ErrSyntax},
		{text: "", err: ErrSyntax},
	})
}

func TestEverySpeed(t *testing.T) {
	golden := map[Speed]struct {
		name         string
		lane, signal float64
	}{
		SDR: {"SDR", 2.5, 2.5}, DDR: {"DDR", 5, 5}, QDR: {"QDR", 10, 10},
		FDR10: {"FDR10", 10, 10.3125}, FDR: {"FDR", 14, 14.0625}, EDR: {"EDR", 25, 25.78125},
		HDR: {"HDR", 50, 53.125}, NDR: {"NDR", 100, 106.25}, XDR: {"XDR", 200, 212.5},
	}
	for n := range 256 {
		v := Speed(n)
		want, valid := golden[v]
		if v.LaneGbps() != want.lane || v.SignalGbps() != want.signal || v.IsValid() != valid {
			t.Errorf("%v: lane %v, signal %v, valid %v", v, v.LaneGbps(), v.SignalGbps(), v.IsValid())
		}
		if valid && v.String() != want.name {
			t.Errorf("String: got %v, want %v", v, want.name)
		}
		got, err := ParseSpeed(v.String())
		if (err == nil) != valid || (valid && got != v) {
			t.Errorf("ParseSpeed(%v) = %v, %v", v, got, err)
		}
		checkText(t, v, valid)
	}
	if Speed(0).String() != "?" || Speed(10).String() != "Speed(10)" {
		t.Errorf("got %v and %v", Speed(0), Speed(10))
	}
}

func TestParseLinkRate(t *testing.T) {
	runParse(t, ParseLinkRate, []parseCase[LinkRate]{
		{text: "4xHDR", want: LinkRate{Width4x, HDR}},
		{text: "4xXDR", want: LinkRate{Width4x, XDR}},
		{text: "12XFdr10", want: LinkRate{Width12x, FDR10}},
		{text: "1xSDR", want: LinkRate{Width1x, SDR}},
		{text: "4x2.5 Gbps", want: LinkRate{Width4x, SDR}},
		{text: "4x 5.0 Gbps", want: LinkRate{Width4x, DDR}},
		{text: "4x?", want: LinkRate{Width: Width4x}},
		{text: "?XDR", want: LinkRate{Speed: XDR}},
		{text: "??", err: ErrRange},
		{text: "3xHDR", err: ErrRange},
		{text: "4x3.5 Gbps", err: ErrRange},
		{text: "?", err: ErrSyntax},
		{text: "4x", err: ErrSyntax},
		{text: "4", err: ErrSyntax},
		{text: "HDR", err: ErrSyntax},
		{text: "xHDR", err: ErrSyntax},
		{text: "4xHDR\"", err: ErrSyntax},
		{text: "4xxHDR", err: ErrSyntax},
		{text: "", err: ErrSyntax},
	})
}

func TestEveryLinkRate(t *testing.T) {
	for w := range Width12x + 2 {
		for v := range XDR + 2 {
			r := LinkRate{w, v}
			readable := w <= Width12x && v <= XDR && r != LinkRate{}
			got, err := ParseLinkRate(r.String())
			if (err == nil) != readable || (readable && got != r) {
				t.Errorf("ParseLinkRate(%v) = %v, %v", r, got, err)
			}
			if r.Gbps() != float64(w.Lanes())*v.LaneGbps() || (r.Gbps() != 0) != r.IsValid() {
				t.Errorf("%v: %v Gb/s, valid %v", r, r.Gbps(), r.IsValid())
			}
			checkText(t, r, readable)
		}
	}
}

// All that links run at today has a code, except the widest at the newest
// speed.
func TestLinkRateRate(t *testing.T) {
	var without []string
	for w := Width1x; w <= Width12x; w++ {
		for v := SDR; v <= XDR; v++ {
			if r := (LinkRate{w, v}); !r.Rate().IsValid() {
				without = append(without, r.String())
			}
		}
	}
	if got := strings.Join(without, " "); got != "12xXDR" {
		t.Errorf("no code for %s", got)
	}
	for r, want := range map[LinkRate]Rate{
		{Width4x, HDR}: Rate200, {Width4x, FDR}: Rate56, {Width2x, FDR}: Rate28,
		{Width4x, FDR10}: Rate40, {Width12x, NDR}: Rate1200, {Width4x, 0}: 0,
	} {
		if r.Rate() != want {
			t.Errorf("%v: got %v, want %v", r, r.Rate(), want)
		}
	}
}

func FuzzParseWidth(f *testing.F) {
	fuzzParse(f, ParseWidth, []string{"4x", "12X", "2", "?"})
}

func FuzzParseSpeed(f *testing.F) {
	fuzzParse(f, ParseSpeed, []string{"HDR", "fdr10", "2.5 Gbps", "10.0", "?"})
}

func FuzzParseLinkRate(f *testing.F) {
	fuzzParse(f, ParseLinkRate, []string{"4xHDR", "4x2.5 Gbps", "4x?", "?XDR", "??", "12xXDR"}, func(t *testing.T, s string) {
		r, err := ParseLinkRate(s)
		if (err == nil) != (r != LinkRate{}) {
			t.Errorf("ParseLinkRate(%q) = %v, %v", s, r, err)
		}
	})
}
