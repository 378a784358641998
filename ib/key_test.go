package ib

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

func TestParsePKey(t *testing.T) {
	runParse(t, ParsePKey, []parseCase[PKey]{
		{text: "0xffff", want: DefaultPKey},
		{text: "0x7FFF", want: 0x7fff},
		{text: "32767", want: 0x7fff},
		{text: "0x1", want: 1},
		{text: "0", err: ErrRange},
		{text: "0x8000", err: ErrRange},
		{text: "0x10000", err: ErrRange},
		{text: "-1", err: ErrRange},
		{text: "ffff", err: ErrSyntax},
		{text: "", err: ErrSyntax},
	})
}

func TestEveryPKey(t *testing.T) {
	for v := range 1 << 16 {
		p := PKey(v)
		got, err := ParsePKey(p.String())
		if (err == nil) != p.IsValid() || (err == nil && got != p) {
			t.Fatalf("ParsePKey(%v) = %v, %v", p, got, err)
		}
		if p.String() != fmt.Sprintf("0x%04x", v) || int(p.Base()) != v%0x8000 || p.Full() != (v >= 0x8000) {
			t.Fatalf("%#x: %v, base %#x, full %v", v, p, p.Base(), p.Full())
		}
		checkText(t, p, p.IsValid())
	}
}

// Case M6.
func TestPKeyMatches(t *testing.T) {
	for _, c := range []struct {
		a, b PKey
		want bool
	}{
		{0x2a00, 0xaa00, true},
		{0xaa00, 0xaa00, true},
		{0x2a00, 0x2a00, false}, // two limited members
		{0xaa00, 0xaa01, false},
		{DefaultPKey, 0x7fff, true},
		{DefaultPKey, 0x8001, false},
		{0x8000, 0x8000, false}, // invalid
		{0x8000, 0, false},
		{0, 0, false},
	} {
		if c.a.Matches(c.b) != c.want || c.b.Matches(c.a) != c.want {
			t.Errorf("%v and %v: got %v", c.a, c.b, c.a.Matches(c.b))
		}
	}
}

func TestParseQKey(t *testing.T) {
	runParse(t, ParseQKey, []parseCase[QKey]{
		{text: "0x80010000", want: GSIQKey},
		{text: "0xb1b", want: 0xb1b},
		{text: "0", want: 0},
		{text: "4294967295", want: 0xffffffff},
		{text: "4294967296", err: ErrRange},
		{text: "b1b", err: ErrSyntax},
		{text: "", err: ErrSyntax},
	})
	if !GSIQKey.IsPrivileged() || QKey(0x7fffffff).IsPrivileged() {
		t.Error("privileged are those with the top bit")
	}
}

func TestQKeyRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := QKey(rapid.Uint32().Draw(t, "qkey"))
		if got, err := ParseQKey(q.String()); got != q || err != nil {
			t.Errorf("ParseQKey(%v) = %v, %v", q, got, err)
		}
		if want := fmt.Sprintf("0x%08x", uint32(q)); q.String() != want {
			t.Errorf("String: got %v, want %v", q, want)
		}
		checkText(t, q, true)
	})
}

func FuzzParsePKey(f *testing.F) {
	fuzzParse(f, ParsePKey, []string{"0xffff", "32767", "0x8000"}, func(t *testing.T, s string) {
		want, wantErr := slowNumber(s, 1, 0xffff)
		got, err := ParsePKey(s)
		if ok := wantErr == nil && want != 0x8000; ok != (err == nil) || (ok && uint64(got) != want) {
			t.Errorf("ParsePKey(%q) = %v, %v; want %#x, %v", s, got, err, want, wantErr)
		}
	})
}

func FuzzParseQKey(f *testing.F) {
	fuzzParse(f, ParseQKey, []string{"0x80010000", "2843"}, likeNumber(ParseQKey, 0, 0xffffffff))
}
