package ib

import "strconv"

// MTU is the code of a largest payload, as in PortInfo and in path and group
// records. Codes compare as their sizes do. Zero is invalid.
type MTU uint8

// All MTUs.
const (
	MTU256 MTU = 1 + iota
	MTU512
	MTU1024
	MTU2048
	MTU4096
)

var mtuForm = numeral{form{"MTU", "256, 512, 1024, 2048 or 4096 bytes, or their codes 1 to 5"}, 1, 4096}

// ParseMTU reads a number of bytes, 256 to 4096, or a code, 1 to 5.
func ParseMTU(s string) (MTU, error) {
	v, err := mtuForm.parse(s)
	if err != nil {
		return 0, err
	}
	if v <= uint64(MTU4096) {
		return MTU(v), nil
	}
	if m := MTUFromBytes(int(v)); m.IsValid() {
		return m, nil
	}
	return 0, mtuForm.outOfRange(s)
}

// MTUFromBytes gives the code of a size in bytes, zero where it has none.
func MTUFromBytes(n int) MTU {
	for m := MTU256; m <= MTU4096; m++ {
		if m.Bytes() == n {
			return m
		}
	}
	return 0
}

// Bytes gives the size, 256 to 4096, or 0 where m is not valid.
func (m MTU) Bytes() int {
	if !m.IsValid() {
		return 0
	}
	return 128 << m
}

// IsValid tells whether m is a code: 1 to 5.
func (m MTU) IsValid() bool { return m >= MTU256 && m <= MTU4096 }

// String gives the size in bytes, or MTU(n) where m is not valid.
func (m MTU) String() string {
	if !m.IsValid() {
		return unknown("MTU", uint8(m))
	}
	return strconv.Itoa(m.Bytes())
}

// MarshalText gives the form of String.
func (m MTU) MarshalText() ([]byte, error) { return marshalText(m) }

// UnmarshalText reads what ParseMTU reads.
func (m *MTU) UnmarshalText(text []byte) error { return unmarshalText(m, text, ParseMTU) }
