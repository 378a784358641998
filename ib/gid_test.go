package ib

import (
	"encoding/binary"
	"net/netip"
	"testing"

	"pgregory.net/rapid"
)

func TestParseGID(t *testing.T) {
	sample := NewGID(DefaultPrefix, 0x2c90300001234)
	runParse(t, ParseGID, []parseCase[GID]{
		{text: "fe80::2:c903:0:1234", want: sample},
		{text: "FE80:0000:0000:0000:0002:c903:0000:1234", want: sample},
		{text: "ff12:401b:ffff::ffff:ffff", want: GID{0xff, 0x12, 0x40, 0x1b, 0xff, 0xff, 12: 0xff, 13: 0xff, 14: 0xff, 15: 0xff}},
		{text: "::ffff:192.0.2.1", want: GID{10: 0xff, 11: 0xff, 12: 192, 14: 2, 15: 1}}, // RoCE over IPv4
		{text: "1111:2222:3333:4444:5555:6666:123.123.123.123", want: GID{0x11, 0x11, 0x22, 0x22, 0x33, 0x33, 0x44, 0x44, 0x55, 0x55, 0x66, 0x66, 123, 123, 123, 123}},
		{text: "::", want: GID{}},
		{text: "", err: ErrSyntax},
		{text: "192.0.2.1", err: ErrSyntax},
		{text: "fe80::1%ib0", err: ErrSyntax},
		{text: "fe80::1%", err: ErrSyntax},
		{text: "::ffff:192.0.2.1%a", err: ErrSyntax},
		{text: "fe80::1::2", err: ErrSyntax},
		{text: "fe80:0:0:0:0:2:c903:0:1234", err: ErrSyntax},
		{text: "0x0002c90300001234", err: ErrSyntax},
		{text: " ::1", err: ErrSyntax},
	})
}

func TestGIDKinds(t *testing.T) {
	for _, c := range []struct {
		gid                         string
		valid, multicast, linkLocal bool
	}{
		{"::", false, false, false},
		{"fe80::1", true, false, true},
		{"febf::1", true, false, true},
		{"fec0::1", true, false, false},
		{"2001:db8::1", true, false, false},
		{"ff02::1", true, true, false},
	} {
		g := MustParseGID(c.gid)
		if g.IsValid() != c.valid || g.IsMulticast() != c.multicast || g.IsLinkLocal() != c.linkLocal {
			t.Errorf("%v: got %v, %v, %v", g, g.IsValid(), g.IsMulticast(), g.IsLinkLocal())
		}
	}
}

func TestGIDRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		prefix := rapid.Uint64().Draw(t, "prefix")
		guid := GUID(rapid.Uint64().Draw(t, "guid"))
		g := NewGID(prefix, guid)
		if g.Prefix() != prefix || g.GUID() != guid {
			t.Errorf("%v gives %#x and %v", g, g.Prefix(), g.GUID())
		}
		if got, err := ParseGID(g.String()); got != g || err != nil {
			t.Errorf("ParseGID(%v) = %v, %v", g, got, err)
		}
		if full := netip.AddrFrom16(g).StringExpanded(); MustParseGID(full) != g {
			t.Errorf("ParseGID(%q) = %v, want %v", full, MustParseGID(full), g)
		}
		checkText(t, g, true)
	})
}

func TestGIDCompareIsNumeric(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		half := rapid.Uint64Range(0, 2)
		a := NewGID(half.Draw(t, "a"), GUID(half.Draw(t, "a")))
		b := NewGID(half.Draw(t, "b"), GUID(half.Draw(t, "b")))
		want := 0
		switch {
		case a.Prefix() < b.Prefix() || (a.Prefix() == b.Prefix() && a.GUID() < b.GUID()):
			want = -1
		case a != b:
			want = 1
		}
		if a.Compare(b) != want || MGID(a).Compare(MGID(b)) != want {
			t.Errorf("%v against %v: got %d, want %d", a, b, a.Compare(b), want)
		}
	})
}

func FuzzParseGID(f *testing.F) {
	seeds := []string{"fe80::2:c903:0:1234", "::", "::ffff:192.0.2.1", "fe80::1%ib0", "ff12:401b:ffff::1"}
	fuzzParse(f, ParseGID, seeds, func(t *testing.T, s string) {
		g, err := ParseGID(s)
		if err == nil && NewGID(g.Prefix(), g.GUID()) != g {
			t.Errorf("%v is not made of %#x and %v", g, g.Prefix(), g.GUID())
		}
		a, aerr := netip.ParseAddr(s)
		if want := aerr == nil && a.Is6() && a.Zone() == ""; want != (err == nil) {
			t.Errorf("ParseGID(%q): %v; net/netip: %v", s, err, aerr)
		}
		if err == nil && binary.BigEndian.Uint64(a.AsSlice()) != g.Prefix() {
			t.Errorf("ParseGID(%q) = %v", s, g)
		}
	})
}
