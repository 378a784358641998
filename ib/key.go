package ib

// PKey names a partition in its low 15 bits; the top bit says whether its
// holder is a full or a limited member. P_Keys whose low 15 bits are zero,
// among them the zero value, are invalid.
type PKey uint16

// DefaultPKey is the full membership of the partition that always exists.
const DefaultPKey PKey = 0xFFFF

const fullBit PKey = 0x8000

var pkeyForm = numeral{form{"P_Key", "0x0001 to 0xffff, but not 0x8000"}, 1, 0xffff}

// ParsePKey reads a P_Key, decimal or as 0x and hexadecimal digits. Invalid
// ones are refused.
func ParsePKey(s string) (PKey, error) {
	v, err := pkeyForm.parse(s)
	if err != nil {
		return 0, err
	}
	if !PKey(v).IsValid() {
		return 0, pkeyForm.outOfRange(s)
	}
	return PKey(v), nil
}

// Base gives the low 15 bits, which name the partition.
func (p PKey) Base() uint16 { return uint16(p &^ fullBit) }

// Full tells whether the holder is a full member.
func (p PKey) Full() bool { return p&fullBit != 0 }

// IsValid tells whether the low 15 bits are not zero.
func (p PKey) IsValid() bool { return p.Base() != 0 }

// Matches tells whether a holder of p and a holder of other may talk: both are
// of one partition, and at least one is a full member. An invalid P_Key
// matches none.
func (p PKey) Matches(other PKey) bool {
	return p.IsValid() && p.Base() == other.Base() && (p.Full() || other.Full())
}

// String gives 0x and 4 digits: 0xffff.
func (p PKey) String() string { return string(appendHex(nil, uint64(p), 4)) }

// MarshalText gives the form of String.
func (p PKey) MarshalText() ([]byte, error) { return marshalText(p) }

// UnmarshalText reads what ParsePKey reads.
func (p *PKey) UnmarshalText(text []byte) error { return unmarshalText(p, text, ParsePKey) }

// QKey is what a datagram must show for a queue pair to take it.
type QKey uint32

// GSIQKey is the Q_Key of QP 1, the general services interface, everywhere.
const GSIQKey QKey = 0x80010000

var qkeyForm = numeral{form{"Q_Key", "0 to 0xffffffff"}, 0, 0xffffffff}

// ParseQKey reads a Q_Key, decimal or as 0x and hexadecimal digits.
func ParseQKey(s string) (QKey, error) {
	v, err := qkeyForm.parse(s)
	return QKey(v), err
}

// IsPrivileged tells whether the top bit is set. A send request that asks for
// such a Q_Key is sent with the one of its queue pair instead.
func (q QKey) IsPrivileged() bool { return q>>31 != 0 }

// String gives 0x and 8 digits: 0x80010000.
func (q QKey) String() string { return string(appendHex(nil, uint64(q), 8)) }

// MarshalText gives the form of String, for every value.
func (q QKey) MarshalText() ([]byte, error) { return appendHex(nil, uint64(q), 8), nil }

// UnmarshalText reads what ParseQKey reads; the empty text is zero.
func (q *QKey) UnmarshalText(text []byte) error { return unmarshalText(q, text, ParseQKey) }
