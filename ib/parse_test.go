package ib

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"regexp"
	"strings"
	"testing"
)

// parseCase is one line of a table: text, and the value or the sentinel.
type parseCase[T any] struct {
	text string
	want T
	err  error
}

func runParse[T comparable](t *testing.T, parse func(string) (T, error), cases []parseCase[T]) {
	t.Helper()
	for _, c := range cases {
		got, err := parse(c.text)
		if got != c.want || !errors.Is(err, c.err) {
			t.Errorf("parse(%q) = %v, %v; want %v, %v", c.text, got, err, c.want, c.err)
		}
	}
}

// reporter is what *testing.T and *rapid.T share.
type reporter interface {
	Helper()
	Errorf(format string, args ...any)
}

// checkParse holds what every ParseX promises: either the zero value and a
// *ParseError about this text, or a value whose String parses to it.
func checkParse[T interface {
	comparable
	fmt.Stringer
}](t reporter, text string, parse func(string) (T, error)) {
	t.Helper()
	v, err := parse(text)
	if err != nil {
		var zero T
		var perr *ParseError
		switch {
		case v != zero:
			t.Errorf("parse(%q) gave both %v and %v", text, v, err)
		case !errors.As(err, &perr) || !strings.Contains(text, perr.Text):
			t.Errorf("parse(%q) gave %v, want a *ParseError about it", text, err)
		case errors.Is(err, ErrSyntax) == errors.Is(err, ErrRange):
			t.Errorf("parse(%q) gave %v, want either ErrSyntax or ErrRange", text, err)
		case len(err.Error()) > 6*maxQuoted+200:
			t.Errorf("parse of %d bytes gave an error of %d bytes", len(text), len(err.Error()))
		}
		return
	}
	if back, err := parse(v.String()); err != nil || back != v {
		t.Errorf("parse(%q) gave %v, which parses to %v, %v", text, v, back, err)
	}
}

// fuzzParse fuzzes one ParseX from seeds, with more checks if any.
func fuzzParse[T interface {
	comparable
	fmt.Stringer
}](f *testing.F, parse func(string) (T, error), seeds []string, more ...func(*testing.T, string)) {
	f.Helper()
	for _, s := range seeds {
		f.Add(s)
	}
	f.Add("")
	f.Add("0x")
	f.Add("-1")
	f.Add(" 1")
	f.Add("1_0")
	f.Add(strings.Repeat("9", 100))
	f.Fuzz(func(t *testing.T, text string) {
		checkParse(t, text, parse)
		for _, check := range more {
			check(t, text)
		}
	})
}

var numberSyntax = regexp.MustCompile(`\A(?:([0-9]+)|0[xX]([0-9a-fA-F]+))\z`)

// slowNumber is the readable form of numeral.parse.
func slowNumber(s string, low, high int64) (uint64, error) {
	m := numberSyntax.FindStringSubmatch(s)
	if m == nil {
		if regexp.MustCompile(`\A-[0-9]+\z`).MatchString(s) {
			return 0, ErrRange
		}
		return 0, ErrSyntax
	}
	v, _ := new(big.Int).SetString(m[1]+m[2], map[bool]int{true: 10, false: 16}[m[1] != ""])
	if v.Cmp(big.NewInt(low)) < 0 || v.Cmp(big.NewInt(high)) > 0 {
		return 0, ErrRange
	}
	return v.Uint64(), nil
}

// likeNumber compares a ParseX of a plain number with slowNumber.
func likeNumber[T ~uint8 | ~uint16 | ~uint32](parse func(string) (T, error), low, high int64) func(*testing.T, string) {
	return func(t *testing.T, text string) {
		t.Helper()
		want, wantErr := slowNumber(text, low, high)
		got, err := parse(text)
		if uint64(got) != want || !errors.Is(err, wantErr) {
			t.Errorf("parse(%q) = %d, %v; want %d, %v", text, got, err, want, wantErr)
		}
	}
}

// checkText holds what MarshalText and UnmarshalText promise.
func checkText[T interface {
	comparable
	fmt.Stringer
	MarshalText() ([]byte, error)
}, P interface {
	*T
	UnmarshalText([]byte) error
}](t reporter, v T, valid bool) {
	t.Helper()
	text, err := v.MarshalText()
	var zero T
	if !valid && v != zero {
		if !errors.Is(err, ErrRange) || text != nil {
			t.Errorf("MarshalText of %v = %q, %v; want ErrRange", v, text, err)
		}
		return
	}
	if err != nil || (valid && string(text) != v.String()) {
		t.Errorf("MarshalText of %v = %q, %v", v, text, err)
	}
	var back T
	if err := P(&back).UnmarshalText(text); err != nil || back != v {
		t.Errorf("UnmarshalText(%q) = %v, %v; want %v", text, back, err, v)
	}
}

func TestParseErrorText(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{second(ParseLID("0")), `LID "0" is out of range: want 1 to 49151 (0xbfff)`},
		{second(ParseMLID("c000")), `MLID "c000" is malformed: want 0xc000 to 0xfffe`},
		{second(ParseLinkRate("4xZDR")), `link speed "ZDR" is malformed: want SDR, DDR, QDR, FDR10, FDR, EDR, HDR, NDR, XDR or the rate of a lane such as 2.5 Gbps`},
		{second(ParseWidth(strings.Repeat("x", 70))), `link width "` + strings.Repeat("x", 64) + `"... is malformed: want 1x, 2x, 4x, 8x or 12x`},
	} {
		if c.err.Error() != c.want {
			t.Errorf("got  %v\nwant %v", c.err, c.want)
		}
	}
}

func second[T any](_ T, err error) error { return err }

// everything has a field of each type that has a text form of its own, and of
// those that are plain numbers.
type everything struct {
	GUID     GUID
	LID      LID
	MLID     MLID
	GID      GID
	MGID     MGID
	PKey     PKey
	QKey     QKey
	QPN      QPN
	SL       SL
	VL       VL
	MTU      MTU
	Rate     Rate
	Width    Width
	Speed    Speed
	LinkRate LinkRate
	Groups   map[MGID]MLID
}

func TestJSON(t *testing.T) {
	full := everything{
		GUID: 0x2c90300001234, LID: 7, MLID: FirstMLID,
		GID: MustParseGID("fe80::2:c903:0:1234"), MGID: MustParseMGID("ff12:401b:ffff::1"),
		PKey: DefaultPKey, QKey: 0xb1b, QPN: 0x48, SL: 3, VL: ManagementVL,
		MTU: MTU4096, Rate: Rate200, Width: Width4x, Speed: HDR,
		LinkRate: LinkRate{Width4x, 0},
		Groups:   map[MGID]MLID{MustParseMGID("ff12:601b:ffff::1"): LastMLID},
	}
	const fullJSON = `{"GUID":"0x0002c90300001234","LID":7,"MLID":"0xc000","GID":"fe80::2:c903:0:1234",` +
		`"MGID":"ff12:401b:ffff::1","PKey":"0xffff","QKey":"0x00000b1b","QPN":72,"SL":3,"VL":15,` +
		`"MTU":"4096","Rate":"200 Gb/s","Width":"4x","Speed":"HDR","LinkRate":"4x?",` +
		`"Groups":{"ff12:601b:ffff::1":"0xfffe"}}`
	const zeroJSON = `{"GUID":"0x0000000000000000","LID":0,"MLID":"","GID":"::","MGID":"","PKey":"",` +
		`"QKey":"0x00000000","QPN":0,"SL":0,"VL":0,"MTU":"","Rate":"","Width":"","Speed":"","LinkRate":"","Groups":null}`
	for _, c := range []struct {
		value everything
		text  string
	}{{full, fullJSON}, {everything{}, zeroJSON}} {
		text, err := json.Marshal(c.value)
		if err != nil || string(text) != c.text {
			t.Errorf("Marshal:\ngot  %s, %v\nwant %s", text, err, c.text)
		}
		var back everything
		if err := json.Unmarshal([]byte(c.text), &back); err != nil {
			t.Errorf("Unmarshal: %v", err)
		}
		if again, _ := json.Marshal(back); string(again) != c.text {
			t.Errorf("read back:\ngot  %s\nwant %s", again, c.text)
		}
	}
}

func TestUnmarshalKeepsTheValueOnError(t *testing.T) {
	m := MTU2048
	if err := m.UnmarshalText([]byte("9000")); !errors.Is(err, ErrRange) || m != MTU2048 {
		t.Errorf("UnmarshalText left %v, %v", m, err)
	}
}

// Readers of dumps parse and writers append once for each port line.
func TestNoAllocs(t *testing.T) {
	var buf [64]byte
	guid, gid, mgid := GUID(0x2c90300001234), NewGID(DefaultPrefix, 1), MGID{0: 0xff, 1: 0x12}
	for name, f := range map[string]func(){
		"ParseGUID":     func() { _, _ = ParseGUID("0x2c90300001234") },
		"ParseLID":      func() { _, _ = ParseLID("49151") },
		"ParseMLID":     func() { _, _ = ParseMLID("0xC001") },
		"ParseGID":      func() { _, _ = ParseGID("fe80::2:c903:0:1234") },
		"ParseMGID":     func() { _, _ = ParseMGID("ff12:401b:ffff::1") },
		"ParseLinkRate": func() { _, _ = ParseLinkRate("12xFDR10") },
		"AppendGUID":    func() { _ = guid.AppendTo(buf[:0]) },
		"AppendLID":     func() { _ = LID(49151).AppendTo(buf[:0]) },
		"AppendMLID":    func() { _ = FirstMLID.AppendTo(buf[:0]) },
		"AppendGID":     func() { _ = gid.AppendTo(buf[:0]) },
		"AppendMGID":    func() { _ = mgid.AppendTo(buf[:0]) },
	} {
		if n := testing.AllocsPerRun(100, f); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}
