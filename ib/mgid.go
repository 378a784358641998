package ib

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
)

// MGID is the global address of a multicast group: 0xFF, 4 bits of flags, 4
// bits of scope and 112 bits of group. The zero value is invalid.
//
// An MGID of IP over InfiniBand has a signature in bytes 2 and 3, the P_Key of
// its partition in bytes 4 and 5, and the low 28 (IPv4) or 80 (IPv6) bits of
// the IP group at its end.
type MGID [16]byte

// Signatures of IP over InfiniBand, as Signature gives them.
const (
	SignatureIPv4 uint16 = 0x401B
	SignatureIPv6 uint16 = 0x601B
)

// FlagTransient is the bit of Flags that sets a group made at run time apart
// from a well-known one.
const FlagTransient uint8 = 0x1

// ErrNotMulticast means that an address does not name a multicast group.
var ErrNotMulticast = errors.New("not a multicast address")

// NewMGID takes a GID whose first byte is 0xFF. Others are refused with
// ErrNotMulticast.
func NewMGID(g GID) (MGID, error) {
	if !g.IsMulticast() {
		return MGID{}, fmt.Errorf("GID %v: %w", g, ErrNotMulticast)
	}
	return MGID(g), nil
}

var mgidForm = form{"MGID", "a multicast address, ff00::/8, in the form of an IPv6 address without zone"}

// ParseMGID reads what ParseGID reads, and refuses an address that is not
// multicast as out of range.
func ParseMGID(s string) (MGID, error) {
	g, err := ParseGID(s)
	if err != nil {
		return MGID{}, mgidForm.malformed(s)
	}
	if !g.IsMulticast() {
		return MGID{}, mgidForm.outOfRange(s)
	}
	return MGID(g), nil
}

// MustParseMGID is ParseMGID for literals: it panics where s is refused.
func MustParseMGID(s string) MGID { return must(ParseMGID(s)) }

// IPoIBMGID gives the group that carries an IP multicast group, or for
// 255.255.255.255 the IPv4 broadcast, in the partition of pkey. The P_Key
// stands in the MGID as the full member's, whatever pkey says. An address that
// is not multicast is refused with ErrNotMulticast, an invalid P_Key or scope
// with ErrRange.
func IPoIBMGID(scope Scope, pkey PKey, addr netip.Addr) (MGID, error) {
	addr = addr.Unmap()
	broadcast := addr == netip.AddrFrom4([4]byte{255, 255, 255, 255})
	switch {
	case !addr.IsMulticast() && !broadcast:
		return MGID{}, fmt.Errorf("IP group %v: %w", addr, ErrNotMulticast)
	case !pkey.IsValid():
		return MGID{}, fmt.Errorf("P_Key %v: %w", pkey, ErrRange)
	case !scope.IsValid():
		return MGID{}, fmt.Errorf("scope %v: %w", scope, ErrRange)
	}
	m := MGID{0: 0xff, 1: FlagTransient<<4 | byte(scope)}
	binary.BigEndian.PutUint16(m[4:], uint16(pkey|fullBit))
	if addr.Is6() {
		ip := addr.As16()
		binary.BigEndian.PutUint16(m[2:], SignatureIPv6)
		copy(m[6:], ip[6:])
		return m, nil
	}
	ip := addr.As4()
	binary.BigEndian.PutUint16(m[2:], SignatureIPv4)
	copy(m[12:], ip[:])
	if !broadcast {
		m[12] &= 0x0f // the four bits that every IPv4 group has in common
	}
	return m, nil
}

// GID gives the same address as a GID.
func (m MGID) GID() GID { return GID(m) }

// IsValid tells whether the first byte is 0xFF.
func (m MGID) IsValid() bool { return m.GID().IsMulticast() }

// Flags gives the 4 bits of flags.
func (m MGID) Flags() uint8 { return m[1] >> 4 }

// IsTransient tells whether the group was made at run time.
func (m MGID) IsTransient() bool { return m.Flags()&FlagTransient != 0 }

// Scope gives the 4 bits that say how far the group reaches.
func (m MGID) Scope() Scope { return Scope(m[1] & 0x0f) }

// Signature gives bytes 2 and 3, which for IP over InfiniBand are
// SignatureIPv4 or SignatureIPv6.
func (m MGID) Signature() uint16 { return binary.BigEndian.Uint16(m[2:]) }

// IsIPoIB tells whether the MGID is one of IP over InfiniBand.
func (m MGID) IsIPoIB() bool {
	s := m.Signature()
	return m.IsValid() && (s == SignatureIPv4 || s == SignatureIPv6)
}

// PKey gives the P_Key in an MGID of IP over InfiniBand, and the invalid zero
// for any other.
func (m MGID) PKey() PKey {
	if !m.IsIPoIB() {
		return 0
	}
	return PKey(binary.BigEndian.Uint16(m[4:]))
}

// IsBroadcast tells whether m is the IPv4 broadcast group of its partition,
// whose parameters the other groups of IP over InfiniBand take over.
func (m MGID) IsBroadcast() bool {
	return m.IsIPoIB() && m.Signature() == SignatureIPv4 &&
		[10]byte(m[6:]) == [10]byte{6: 0xff, 7: 0xff, 8: 0xff, 9: 0xff}
}

// IsSolicitedNode tells whether m carries an IPv6 solicited-node group,
// ff02::1:ffXX:XXXX. There is one for nearly every address in use, so that
// those of one partition are let share an MLID.
func (m MGID) IsSolicitedNode() bool {
	return m.IsIPoIB() && m.Signature() == SignatureIPv6 &&
		[7]byte(m[6:]) == [7]byte{5: 0x01, 6: 0xff}
}

// Compare orders MGIDs as numbers: -1, 0 or 1.
func (m MGID) Compare(other MGID) int { return bytes.Compare(m[:], other[:]) }

// String gives the short form of an IPv6 address: ff12:401b:ffff::1.
func (m MGID) String() string { return m.GID().String() }

// AppendTo appends the form of String to b.
func (m MGID) AppendTo(b []byte) []byte { return m.GID().AppendTo(b) }

// MarshalText gives the form of String.
func (m MGID) MarshalText() ([]byte, error) { return marshalText(m) }

// UnmarshalText reads what ParseMGID reads.
func (m *MGID) UnmarshalText(text []byte) error { return unmarshalText(m, text, ParseMGID) }
