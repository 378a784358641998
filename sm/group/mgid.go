package group

import (
	"encoding/binary"

	"heddle/ib"
)

// ownSignature marks MGIDs that the manager makes up: FF1s:A01B, the subnet's
// prefix and a number of 32 bits (IBTA 1, 15.2.5.17.2).
const ownSignature uint16 = 0xA01B

// generate gives an MGID that no group has.
func (t *Table) generate(scope ib.Scope) ib.MGID {
	m := ib.MGID{0: 0xff, 1: ib.FlagTransient<<4 | byte(scope)}
	binary.BigEndian.PutUint16(m[2:], ownSignature)
	binary.BigEndian.PutUint64(m[4:], t.config.Prefix)
	for n := t.generated; ; n++ {
		binary.BigEndian.PutUint32(m[12:], n)
		if t.groups[m] == nil {
			return m
		}
	}
}

// ownNumber gives the number in an MGID that a table made up.
func ownNumber(m ib.MGID) (uint32, bool) {
	return binary.BigEndian.Uint32(m[12:]), m.Signature() == ownSignature
}

// mayCreate tells whether a client may create a group of an MGID: transient or
// well-known, in a scope that is not reserved, and not of those that the manager
// makes up, unless the group had it before.
func (t *Table) mayCreate(m ib.MGID) bool {
	if !m.IsValid() || m.Flags()&^ib.FlagTransient != 0 || !m.Scope().IsValid() {
		return false
	}
	_, known := t.memory[m]
	return known || m.Signature() != ownSignature
}

// broadcastOf gives the broadcast group of the partition of an MGID of IP over
// InfiniBand, whose parameters the group follows (RFC 4391, 5).
func broadcastOf(m ib.MGID) ib.MGID {
	b := ib.MGID{0: 0xff, 1: m[1], 4: m[4], 5: m[5], 12: 0xff, 13: 0xff, 14: 0xff, 15: 0xff}
	binary.BigEndian.PutUint16(b[2:], ib.SignatureIPv4)
	return b
}
