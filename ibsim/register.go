package ibsim

import (
	"encoding/binary"
	"fmt"

	"heddle/mad"
)

// Outcome is what became of a Register.
type Outcome uint32

// The outcomes. A server that does not know Register sends the request's own
// OutcomeUnknown back: it delivers what it delivers.
const (
	OutcomeUnknown Outcome = iota
	OutcomeGranted
	OutcomeTaken       // another client has the class and a method of it
	OutcomeUnsupported // the port does not carry the class
)

// String names the outcome.
func (o Outcome) String() string {
	switch o {
	case OutcomeUnknown:
		return "unknown"
	case OutcomeGranted:
		return "granted"
	case OutcomeTaken:
		return "taken"
	case OutcomeUnsupported:
		return "unsupported"
	default:
		return fmt.Sprintf("outcome(%d)", uint32(o))
	}
}

// MethodSet is a set of the methods 0 to 127: method m is bit m%64 of word
// m/64.
type MethodSet [2]uint64

// NewMethodSet is the set of the given methods; answers are not in a set.
func NewMethodSet(methods ...mad.Method) MethodSet {
	var s MethodSet
	for _, m := range methods {
		if m < 128 {
			s[m/64] |= 1 << (m % 64)
		}
	}
	return s
}

// Has tells whether a method is in the set.
func (s MethodSet) Has(m mad.Method) bool { return m < 128 && s[m/64]>>(m%64)&1 != 0 }

// Intersects tells whether the sets have a method in common.
func (s MethodSet) Intersects(other MethodSet) bool {
	return s[0]&other[0]|s[1]&other[1] != 0
}

const registerLen = 28

// Register asks a server of heddle for the datagrams of a class: the answers
// to the client's requests, and the requests of the given methods that arrive
// at the client's port. A client that has registered gets nothing of classes
// that it did not register.
type Register struct {
	// Outcome is OutcomeUnknown in a request.
	Outcome Outcome
	Class   mad.Class
	Version uint8
	// OUI is 24 bits, of a vendor class with an OUI; 0 for others.
	OUI     uint32
	Methods MethodSet
}

// Len is 28.
func (Register) Len() int { return registerLen }

// AppendTo appends the body: the outcome and the methods in the byte order of
// the host, the OUI in that of the network.
func (r Register) AppendTo(b []byte) []byte {
	b = host.AppendUint32(b, uint32(r.Outcome))
	b = append(b, byte(r.Class), r.Version, 0, 0)
	b = binary.BigEndian.AppendUint32(b, r.OUI)
	b = host.AppendUint64(b, r.Methods[0])
	return host.AppendUint64(b, r.Methods[1])
}

// ParseRegister reads a Register.
func ParseRegister(b []byte) (Register, error) {
	if err := need("REGISTER", b, registerLen); err != nil {
		return Register{}, err
	}
	return Register{
		Outcome: Outcome(host.Uint32(b)), Class: mad.Class(b[4]), Version: b[5],
		OUI:     binary.BigEndian.Uint32(b[8:]),
		Methods: MethodSet{host.Uint64(b[12:]), host.Uint64(b[20:])},
	}, nil
}
