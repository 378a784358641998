package mad

import "heddle/ib"

// VLWeight is an entry of a VL arbitration table: how much a virtual lane may
// send in its turn, in units of 64 bytes. Weight 0 skips the entry.
type VLWeight struct {
	VL     ib.VL // 4 bits
	Weight uint8
}

// VLArbitration is a part of 32 entries of a port's VL arbitration tables
// (IBTA 1, 14.2.5.9). VLArbitrationModifier names the part.
type VLArbitration [32]VLWeight

// VLArbitrationPart is one of the four parts of a port's tables.
type VLArbitrationPart uint8

// The parts.
const (
	VLArbitrationLowFirst VLArbitrationPart = 1 + iota
	VLArbitrationLowSecond
	VLArbitrationHighFirst
	VLArbitrationHighSecond
)

// VLArbitrationModifier is the attribute modifier of a part of the tables of a
// port; the port is 0 for an adapter.
func VLArbitrationModifier(part VLArbitrationPart, port uint8) uint32 {
	return uint32(part)<<16 | uint32(port)
}

// SplitVLArbitrationModifier is the inverse of VLArbitrationModifier.
func SplitVLArbitrationModifier(m uint32) (part VLArbitrationPart, port uint8) {
	return VLArbitrationPart(m >> 16), uint8(m)
}

// ParseVLArbitration reads the 64 bytes at the start of b.
func ParseVLArbitration(b []byte) (VLArbitration, error) {
	var t VLArbitration
	if err := need("VLArbitrationTable", b, t.Len()); err != nil {
		return VLArbitration{}, err
	}
	for i := range t {
		t[i] = VLWeight{VL: ib.VL(b[2*i] & 0x0F), Weight: b[2*i+1]}
	}
	return t, nil
}

// Len is 64.
func (t VLArbitration) Len() int { return 2 * len(t) }

// AppendTo appends the 64 bytes.
func (t VLArbitration) AppendTo(b []byte) []byte {
	for _, e := range t {
		b = append(b, byte(e.VL)&0x0F, e.Weight)
	}
	return b
}
