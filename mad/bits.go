package mad

import (
	"fmt"
	"strings"
)

// nibbles packs two fields of 4 bits into a byte.
func nibbles[H, L ~uint8](high H, low L) byte { return byte(high)<<4 | byte(low)&0x0F }

// flag is mask where on, else 0.
func flag(on bool, mask byte) byte {
	if on {
		return mask
	}
	return 0
}

// uint24 reads the first 24 bits of b.
func uint24(b []byte) uint32 { return uint32(b[0])<<16 | uint32(b[1])<<8 | uint32(b[2]) }

// putUint24 writes the low 24 bits of v.
func putUint24(b []byte, v uint32) { b[0], b[1], b[2] = byte(v>>16), byte(v>>8), byte(v) }

// listBits names the bits of v: names[i] is that of bit i, and what has no name
// stays a number.
func listBits[T ~uint8 | ~uint16 | ~uint32](v T, names []string) string {
	if v == 0 {
		return "none"
	}
	var set []string
	for i, name := range names {
		if bit := T(1) << i; v&bit != 0 && name != "" {
			set = append(set, name)
			v &^= bit
		}
	}
	if v != 0 {
		set = append(set, fmt.Sprintf("%#x", uint32(v)))
	}
	return strings.Join(set, "|")
}
