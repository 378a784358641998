package ib

import (
	"fmt"
	"strconv"
)

// QPN is the 24-bit number of a queue pair at its port.
type QPN uint32

// Queue pairs with a meaning of their own.
const (
	SMIQPN       QPN = 0        // subnet management, on every port
	GSIQPN       QPN = 1        // general services, on every port
	MulticastQPN QPN = 0xFFFFFF // destination of every multicast packet
)

var qpnForm = numeral{form{"QPN", "0 to 0xffffff"}, 0, uint64(MulticastQPN)}

// ParseQPN reads a QPN, decimal or as 0x and hexadecimal digits.
func ParseQPN(s string) (QPN, error) {
	v, err := qpnForm.parse(s)
	return QPN(v), err
}

// IsValid tells whether q fits into 24 bits.
func (q QPN) IsValid() bool { return q <= MulticastQPN }

// String gives 0x and 6 digits, more where q does not fit into 24 bits.
func (q QPN) String() string { return fmt.Sprintf("0x%06x", uint32(q)) }

// SL is the service level that a packet carries through the subnet, 0 to 15.
// Each switch and adapter maps it to a virtual lane.
type SL uint8

// MaxSL is the highest service level.
const MaxSL SL = 15

var slForm = numeral{form{"SL", "0 to 15"}, 0, uint64(MaxSL)}

// ParseSL reads a service level, decimal or as 0x and hexadecimal digits.
func ParseSL(s string) (SL, error) {
	v, err := slForm.parse(s)
	return SL(v), err
}

// IsValid tells whether s fits into 4 bits.
func (s SL) IsValid() bool { return s <= MaxSL }

// String gives the decimal number, as SL(n) where it is not valid.
func (s SL) String() string { return small("SL", uint8(s), s.IsValid()) }

// VL is a virtual lane of a link: 0 to 14 carry data, 15 subnet management.
type VL uint8

// ManagementVL carries subnet management only, without flow control.
const ManagementVL VL = 15

var vlForm = numeral{form{"VL", "0 to 15"}, 0, uint64(ManagementVL)}

// ParseVL reads a virtual lane, decimal or as 0x and hexadecimal digits.
func ParseVL(s string) (VL, error) {
	v, err := vlForm.parse(s)
	return VL(v), err
}

// IsValid tells whether v fits into 4 bits.
func (v VL) IsValid() bool { return v <= ManagementVL }

// IsData tells whether v carries data: 0 to 14.
func (v VL) IsData() bool { return v < ManagementVL }

// String gives the decimal number, as VL(n) where it is not valid.
func (v VL) String() string { return small("VL", uint8(v), v.IsValid()) }

// small gives the number of a known value, and name(number) of an unknown one.
func small(name string, v uint8, known bool) string {
	if known {
		return strconv.Itoa(int(v))
	}
	return unknown(name, v)
}

// unknown shows a code that has no meaning: name(code).
func unknown(name string, v uint8) string { return name + "(" + strconv.Itoa(int(v)) + ")" }
