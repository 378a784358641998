package ib

import (
	"errors"
	"net/netip"
	"testing"

	"pgregory.net/rapid"
)

func TestParseMGID(t *testing.T) {
	runParse(t, ParseMGID, []parseCase[MGID]{
		{text: "ff12:401b:ffff::1", want: MGID{0xff, 0x12, 0x40, 0x1b, 0xff, 0xff, 15: 1}},
		{text: "ff00::", want: MGID{0: 0xff}},
		{text: "fe80::1", err: ErrRange},
		{text: "::", err: ErrRange},
		{text: "fe12:401b:ffff::1", err: ErrRange},
		{text: "ff12:401b:ffff", err: ErrSyntax},
		{text: "ff12::1%ib0", err: ErrSyntax},
		{text: "", err: ErrSyntax},
	})
}

func TestNewMGID(t *testing.T) {
	g := MustParseGID("ff12::7")
	if m, err := NewMGID(g); err != nil || m.GID() != g {
		t.Errorf("NewMGID(%v) = %v, %v", g, m, err)
	}
	g = MustParseGID("fe80::7")
	if m, err := NewMGID(g); !errors.Is(err, ErrNotMulticast) || m.IsValid() {
		t.Errorf("NewMGID(%v) = %v, %v; want ErrNotMulticast", g, m, err)
	}
}

func TestMGIDFields(t *testing.T) {
	for _, c := range []struct {
		mgid      string
		flags     uint8
		scope     Scope
		signature uint16
		pkey      PKey
		broadcast bool
		solicited bool
	}{
		{"ff12:401b:ffff::ffff:ffff", 1, ScopeLinkLocal, SignatureIPv4, DefaultPKey, true, false},
		{"ff15:401b:8001::ffff:ffff", 1, ScopeSiteLocal, SignatureIPv4, 0x8001, true, false},
		{"ff12:401b:ffff::fff:ffff", 1, ScopeLinkLocal, SignatureIPv4, DefaultPKey, false, false},
		{"ff12:401b:ffff::1", 1, ScopeLinkLocal, SignatureIPv4, DefaultPKey, false, false},
		{"ff12:601b:ffff::ffff:ffff", 1, ScopeLinkLocal, SignatureIPv6, DefaultPKey, false, false},
		{"ff12:601b:ffff::1:ff00:1234", 1, ScopeLinkLocal, SignatureIPv6, DefaultPKey, false, true},
		{"ff12:601b:ffff::2:ff00:1234", 1, ScopeLinkLocal, SignatureIPv6, DefaultPKey, false, false},
		{"ff12:401b:ffff::1:ff00:1234", 1, ScopeLinkLocal, SignatureIPv4, DefaultPKey, false, false},
		{"ff0e:401a:ffff::1", 0, ScopeGlobal, 0x401a, 0, false, false},
		{"fff8::", 15, ScopeOrganization, 0, 0, false, false},
	} {
		m := MustParseMGID(c.mgid)
		if m.Flags() != c.flags || m.IsTransient() != (c.flags&1 == 1) || m.Scope() != c.scope || m.Signature() != c.signature {
			t.Errorf("%v: flags %#x, scope %v, signature %#x", m, m.Flags(), m.Scope(), m.Signature())
		}
		if m.PKey() != c.pkey || m.IsIPoIB() != (c.pkey != 0) || m.IsBroadcast() != c.broadcast || m.IsSolicitedNode() != c.solicited {
			t.Errorf("%v: P_Key %v, broadcast %v, solicited %v", m, m.PKey(), m.IsBroadcast(), m.IsSolicitedNode())
		}
	}
	unicast := MGID(MustParseGID("fe12:401b:ffff::ffff:ffff"))
	if unicast.IsValid() || unicast.IsIPoIB() || unicast.IsBroadcast() || unicast.PKey() != 0 {
		t.Errorf("%v passes for a group", unicast)
	}
}

func TestIPoIBMGID(t *testing.T) {
	for _, c := range []struct {
		scope Scope
		pkey  PKey
		addr  string
		want  string
		err   error
	}{
		{ScopeLinkLocal, DefaultPKey, "255.255.255.255", "ff12:401b:ffff::ffff:ffff", nil},
		{ScopeLinkLocal, DefaultPKey, "224.0.0.1", "ff12:401b:ffff::1", nil},
		{ScopeLinkLocal, 0x0001, "239.255.255.255", "ff12:401b:8001::fff:ffff", nil},
		{ScopeLinkLocal, DefaultPKey, "::ffff:224.0.0.251", "ff12:401b:ffff::fb", nil},
		{ScopeLinkLocal, DefaultPKey, "ff02::1", "ff12:601b:ffff::1", nil},
		{ScopeSiteLocal, 0xaa00, "ff02::1:ff12:3456", "ff15:601b:aa00::1:ff12:3456", nil},
		{ScopeGlobal, DefaultPKey, "ff0e:1:2:3:4:5:6:7", "ff1e:601b:ffff:3:4:5:6:7", nil},
		{ScopeLinkLocal, DefaultPKey, "192.0.2.1", "", ErrNotMulticast},
		{ScopeLinkLocal, DefaultPKey, "fe80::1", "", ErrNotMulticast},
		{ScopeLinkLocal, 0x8000, "224.0.0.1", "", ErrRange},
		{0, DefaultPKey, "224.0.0.1", "", ErrRange},
		{15, DefaultPKey, "224.0.0.1", "", ErrRange},
		{16, DefaultPKey, "224.0.0.1", "", ErrRange},
	} {
		got, err := IPoIBMGID(c.scope, c.pkey, netip.MustParseAddr(c.addr))
		if !errors.Is(err, c.err) || (err == nil && got.String() != c.want) || (err != nil && got.IsValid()) {
			t.Errorf("IPoIBMGID(%v, %v, %s) = %v, %v; want %s, %v", c.scope, c.pkey, c.addr, got, err, c.want, c.err)
		}
	}
	if m, err := IPoIBMGID(ScopeGlobal, DefaultPKey, netip.Addr{}); !errors.Is(err, ErrNotMulticast) {
		t.Errorf("the zero address gave %v, %v", m, err)
	}
}

func TestIPoIBMGIDKeepsItsParts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		scope := Scope(rapid.Uint8Range(1, 14).Draw(t, "scope"))
		pkey := PKey(rapid.Uint16Range(1, 0x7fff).Draw(t, "pkey"))
		ip := rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "ip")
		ip[0] = 0xff
		v6 := netip.AddrFrom16([16]byte(ip))
		v4 := netip.AddrFrom4([4]byte{0xe0 | ip[1]&0x0f, ip[2], ip[3], ip[4]})
		for _, addr := range []netip.Addr{v4, v6} {
			m, err := IPoIBMGID(scope, pkey, addr)
			if err != nil {
				t.Fatalf("%v: %v", addr, err)
			}
			signature := SignatureIPv6
			if addr.Is4() {
				signature = SignatureIPv4
			}
			if m.Scope() != scope || m.PKey() != pkey|0x8000 || m.Signature() != signature || !m.IsTransient() {
				t.Errorf("%v became %v", addr, m)
			}
			checkText(t, m, true)
		}
	})
}

func TestMGIDRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := MGID(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "mgid"))
		if rapid.Bool().Draw(t, "multicast") {
			m[0] = 0xff
		}
		got, err := ParseMGID(m.String())
		if (err == nil) != m.IsValid() || (err == nil && got != m) {
			t.Errorf("ParseMGID(%v) = %v, %v", m, got, err)
		}
		checkText(t, m, m.IsValid())
	})
}

func TestScopeString(t *testing.T) {
	for s, want := range map[Scope]string{
		ScopeLinkLocal: "link-local", ScopeSiteLocal: "site-local",
		ScopeOrganization: "organization-local", ScopeGlobal: "global",
		0: "Scope(0)", 3: "Scope(3)", 200: "Scope(200)",
	} {
		if s.String() != want {
			t.Errorf("got %v, want %v", s, want)
		}
	}
}

func FuzzParseMGID(f *testing.F) {
	seeds := []string{"ff12:401b:ffff::ffff:ffff", "ff12:601b:ffff::1:ff00:1234", "fe80::1", "::"}
	fuzzParse(f, ParseMGID, seeds, func(t *testing.T, s string) {
		m, err := ParseMGID(s)
		g, gerr := ParseGID(s)
		if (err == nil) != (gerr == nil && g.IsMulticast()) || m.IsValid() != (err == nil) {
			t.Errorf("ParseMGID(%q) = %v, %v; ParseGID gave %v, %v", s, m, err, g, gerr)
		}
	})
}
