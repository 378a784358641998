package mad

import "heddle/ib"

// SLtoVLMapping is the virtual lane of each service level; 15 drops the packet
// (IBTA 1, 14.2.5.8). SLtoVLModifier names the table of a switch.
type SLtoVLMapping [16]ib.VL

// SLtoVLModifier is the attribute modifier of the table of a switch for what
// comes in by one port and goes out by another. It is 0 for an adapter.
func SLtoVLModifier(in, out uint8) uint32 { return uint32(in)<<8 | uint32(out) }

// SplitSLtoVLModifier is the inverse of SLtoVLModifier.
func SplitSLtoVLModifier(m uint32) (in, out uint8) { return uint8(m >> 8), uint8(m) }

// ParseSLtoVLMapping reads the 8 bytes at the start of b.
func ParseSLtoVLMapping(b []byte) (SLtoVLMapping, error) {
	var m SLtoVLMapping
	if err := need("SLtoVLMappingTable", b, m.Len()); err != nil {
		return SLtoVLMapping{}, err
	}
	for i := 0; i < len(m); i += 2 {
		m[i], m[i+1] = ib.VL(b[i/2]>>4), ib.VL(b[i/2]&0x0F)
	}
	return m, nil
}

// Len is 8.
func (m SLtoVLMapping) Len() int { return len(m) / 2 }

// AppendTo appends the 8 bytes.
func (m SLtoVLMapping) AppendTo(b []byte) []byte {
	for i := 0; i < len(m); i += 2 {
		b = append(b, nibbles(m[i], m[i+1]))
	}
	return b
}
