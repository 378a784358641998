package ib

import (
	"bytes"
	"encoding/binary"
	"net/netip"
)

// GID is a global address in network byte order: a subnet prefix and a GUID,
// or a multicast address. RoCE uses IP addresses as GIDs. The zero value is
// invalid.
type GID [16]byte

// DefaultPrefix is the subnet prefix of a fabric that was given none: link
// local, never routed.
const DefaultPrefix uint64 = 0xfe80_0000_0000_0000

// NewGID puts a subnet prefix and a port's GUID together.
func NewGID(prefix uint64, guid GUID) GID {
	var g GID
	binary.BigEndian.PutUint64(g[:8], prefix)
	binary.BigEndian.PutUint64(g[8:], uint64(guid))
	return g
}

var gidForm = form{"GID", "the form of an IPv6 address without zone, such as fe80::2:c903:0:1234"}

// ParseGID reads the form of an IPv6 address, short or in full, without a
// zone. The address :: is read; IsValid tells.
func ParseGID(s string) (GID, error) {
	// The longest form is six groups and a dotted quad. A zone could be longer.
	if len(s) > len("ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255") {
		return GID{}, gidForm.malformed(s)
	}
	a, err := netip.ParseAddr(s)
	if err != nil || a.Is4() || a.Zone() != "" {
		return GID{}, gidForm.malformed(s)
	}
	return a.As16(), nil
}

// MustParseGID is ParseGID for literals: it panics where s is malformed.
func MustParseGID(s string) GID { return must(ParseGID(s)) }

// Prefix gives the upper 64 bits, the subnet prefix of a unicast GID.
func (g GID) Prefix() uint64 { return binary.BigEndian.Uint64(g[:8]) }

// GUID gives the lower 64 bits, the port's GUID of a unicast GID.
func (g GID) GUID() GUID { return GUID(binary.BigEndian.Uint64(g[8:])) }

// IsValid tells whether g is not zero.
func (g GID) IsValid() bool { return g != GID{} }

// IsMulticast tells whether g is the address of a group: its first byte is
// 0xFF. NewMGID makes an MGID of it.
func (g GID) IsMulticast() bool { return g[0] == 0xff }

// IsLinkLocal tells whether g has a link-local prefix, fe80::/10.
func (g GID) IsLinkLocal() bool { return g[0] == 0xfe && g[1]&0xc0 == 0x80 }

// Compare orders GIDs as numbers: -1, 0 or 1.
func (g GID) Compare(other GID) int { return bytes.Compare(g[:], other[:]) }

// String gives the short form of an IPv6 address: fe80::2:c903:0:1234.
func (g GID) String() string { return netip.AddrFrom16(g).String() }

// AppendTo appends the form of String to b.
func (g GID) AppendTo(b []byte) []byte { return netip.AddrFrom16(g).AppendTo(b) }

// MarshalText gives the form of String, for every value.
func (g GID) MarshalText() ([]byte, error) { return g.AppendTo(nil), nil }

// UnmarshalText reads what ParseGID reads; the empty text is zero.
func (g *GID) UnmarshalText(text []byte) error { return unmarshalText(g, text, ParseGID) }
