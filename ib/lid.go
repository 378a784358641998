package ib

import "strconv"

// LID is the address of a port within one subnet, given by the subnet
// manager. Ports have the unicast range 0x0001..0xBFFF; with LMC n, a port
// answers to 2^n of them. Zero is reserved and means "none yet".
type LID uint16

// Bounds of the unicast range, and the address that every port takes as its
// own, used for packets that are routed by the path they carry.
const (
	MinUnicastLID LID = 0x0001
	MaxUnicastLID LID = 0xBFFF
	PermissiveLID LID = 0xFFFF
)

// NumUnicastLIDs is the number of unicast LIDs, and so the most that the ports
// of one subnet can have together.
const NumUnicastLIDs = 49151

var lidForm = numeral{form{"LID", "1 to 49151 (0xbfff)"}, uint64(MinUnicastLID), uint64(MaxUnicastLID)}

// ParseLID reads a unicast LID, decimal or as 0x and hexadecimal digits. All
// others are refused with the range, among them 0, negative numbers and the
// permissive LID.
func ParseLID(s string) (LID, error) {
	v, err := lidForm.parse(s)
	return LID(v), err
}

// IsUnicast tells whether l may be the address of a port.
func (l LID) IsUnicast() bool { return l >= MinUnicastLID && l <= MaxUnicastLID }

// String gives the decimal number.
func (l LID) String() string { return strconv.Itoa(int(l)) }

// AppendTo appends the form of String to b.
func (l LID) AppendTo(b []byte) []byte { return strconv.AppendUint(b, uint64(l), 10) }

// MLID is the address of a multicast group within one subnet, 0xC000..0xFFFE.
// It indexes the forwarding tables of the switches. Several groups can share
// one. Zero is invalid.
type MLID uint16

// Bounds of the MLID range.
const (
	FirstMLID MLID = 0xC000
	LastMLID  MLID = 0xFFFE
)

// NumMLIDs is the number of MLIDs. The table of a switch can hold fewer.
const NumMLIDs = 16383

var mlidForm = numeral{form{"MLID", "0xc000 to 0xfffe"}, uint64(FirstMLID), uint64(LastMLID)}

// ParseMLID reads an MLID, decimal or as 0x and hexadecimal digits.
func ParseMLID(s string) (MLID, error) {
	v, err := mlidForm.parse(s)
	return MLID(v), err
}

// IsValid tells whether m may be the address of a group.
func (m MLID) IsValid() bool { return m >= FirstMLID && m <= LastMLID }

// String gives 0x and 4 digits: 0xc000.
func (m MLID) String() string { return string(m.AppendTo(make([]byte, 0, 6))) }

// AppendTo appends the form of String to b.
func (m MLID) AppendTo(b []byte) []byte { return appendHex(b, uint64(m), 4) }

// MarshalText gives the form of String.
func (m MLID) MarshalText() ([]byte, error) { return marshalText(m) }

// UnmarshalText reads what ParseMLID reads.
func (m *MLID) UnmarshalText(text []byte) error { return unmarshalText(m, text, ParseMLID) }
