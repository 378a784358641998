package ib

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestParseGUID(t *testing.T) {
	runParse(t, ParseGUID, []parseCase[GUID]{
		{text: "0x0002c90300001234", want: 0x2c90300001234},
		{text: "0X2C90300001234", want: 0x2c90300001234},
		{text: "2c90300001234", want: 0x2c90300001234},
		{text: "f", want: 0xf},
		{text: "0x0", want: 0},
		{text: "ffffffffffffffff", want: 0xffffffffffffffff},
		{text: "00:02:c9:03:00:00:12:34", want: 0x2c90300001234},
		{text: "0002:c903:0000:1234", want: 0x2c90300001234},
		{text: "0002c903:00001234", want: 0x2c90300001234},
		{text: "00-02-C9-03-00-00-12-34", want: 0x2c90300001234},
		{text: "", err: ErrSyntax},
		{text: "0x", err: ErrSyntax},
		{text: "0x00002c90300001234", err: ErrSyntax}, // 17 digits
		{text: "0002:c903:0000-1234", err: ErrSyntax},
		{text: "0002:c903:1234", err: ErrSyntax},
		{text: "2:c903:0000:1234", err: ErrSyntax},
		{text: "0002:c903:00000:123", err: ErrSyntax},
		{text: "000:2c9:030:000:012:34", err: ErrSyntax},
		{text: "0002:c903:0000:12g4", err: ErrSyntax},
		{text: "0x0002:c903:0000:1234", err: ErrSyntax},
		{text: ":0002:c903:0000:1234", err: ErrSyntax},
		{text: "0002:c903:0000:1234:", err: ErrSyntax},
		{text: "+1", err: ErrSyntax},
		{text: "-1", err: ErrSyntax},
		{text: " 1", err: ErrSyntax},
		{text: "0x0x1", err: ErrSyntax},
		{text: "1_0", err: ErrSyntax},
	})
}

func TestGUIDString(t *testing.T) {
	for g, want := range map[GUID]string{
		0:                  "0x0000000000000000",
		0x2c90300001234:    "0x0002c90300001234",
		0xfedcba9876543210: "0xfedcba9876543210",
	} {
		if got := g.String(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	if GUID(0).IsValid() || !GUID(1).IsValid() {
		t.Error("only zero is invalid")
	}
}

func TestMustParseGUIDPanics(t *testing.T) {
	defer func() {
		if err, ok := recover().(error); !ok || !errors.Is(err, ErrSyntax) {
			t.Errorf("recovered %v, want ErrSyntax", err)
		}
	}()
	t.Errorf("no panic: %v", MustParseGUID("zz"))
}

func TestGUIDRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := GUID(rapid.Uint64().Draw(t, "guid"))
		if want := fmt.Sprintf("0x%016x", uint64(g)); g.String() != want {
			t.Errorf("String: got %v, want %v", g, want)
		}
		full := g.String()[2:]
		width := rapid.SampledFrom([]int{2, 4, 8}).Draw(t, "width")
		var groups []string
		for i := 0; i < 16; i += width {
			groups = append(groups, full[i:i+width])
		}
		forms := []string{
			g.String(), full, strings.ToUpper(full),
			strconv.FormatUint(uint64(g), 16),
			strings.Join(groups, ":"), strings.Join(groups, "-"),
		}
		for _, s := range forms {
			if got, err := ParseGUID(s); got != g || err != nil {
				t.Errorf("ParseGUID(%q) = %v, %v; want %v", s, got, err, g)
			}
		}
		checkText(t, g, true)
	})
}

var guidSyntax = regexp.MustCompile(`\A(?:(?:0[xX])?[0-9a-fA-F]{1,16}|` +
	`[0-9a-fA-F]{2}(?:(?::[0-9a-fA-F]{2}){7}|(?:-[0-9a-fA-F]{2}){7})|` +
	`[0-9a-fA-F]{4}(?:(?::[0-9a-fA-F]{4}){3}|(?:-[0-9a-fA-F]{4}){3})|` +
	`[0-9a-fA-F]{8}[:-][0-9a-fA-F]{8})\z`)

func FuzzParseGUID(f *testing.F) {
	seeds := []string{
		"0x0002c90300001234", "2c9", "00:02:c9:03:00:00:12:34",
		"0002-c903-0000-1234", "0002c903:00001234", "0002:c903:0000-1234",
	}
	fuzzParse(f, ParseGUID, seeds, func(t *testing.T, s string) {
		if _, err := ParseGUID(s); (err == nil) != guidSyntax.MatchString(s) {
			t.Errorf("ParseGUID(%q): %v, the pattern says otherwise", s, err)
		}
	})
}
