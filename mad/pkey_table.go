package mad

import "heddle/ib"

// PKeyTable is a block of 32 entries of a port's P_Key table, 0 for an empty
// one (IBTA 1, 14.2.5.7). PKeyTableModifier names the block.
type PKeyTable [32]ib.PKey

// PKeyTableModifier is the attribute modifier of a block. Only ports of a
// switch are named; port is 0 for the port of an adapter that is asked.
func PKeyTableModifier(port uint8, block uint16) uint32 { return uint32(port)<<16 | uint32(block) }

// SplitPKeyTableModifier is the inverse of PKeyTableModifier.
func SplitPKeyTableModifier(m uint32) (port uint8, block uint16) { return uint8(m >> 16), uint16(m) }

// ParsePKeyTable reads the 64 bytes at the start of b.
func ParsePKeyTable(b []byte) (PKeyTable, error) {
	var t PKeyTable
	if err := need("P_KeyTable", b, t.Len()); err != nil {
		return PKeyTable{}, err
	}
	for i := range t {
		t[i] = ib.PKey(be.Uint16(b[2*i:]))
	}
	return t, nil
}

// Len is 64.
func (t PKeyTable) Len() int { return 2 * len(t) }

// AppendTo appends the 64 bytes.
func (t PKeyTable) AppendTo(b []byte) []byte {
	for _, key := range t {
		b = be.AppendUint16(b, uint16(key))
	}
	return b
}
