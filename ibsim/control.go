package ibsim

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Sizes in bytes of a control message and of the data in it.
const (
	ControlSize     = 80
	ControlDataSize = 64
)

const controlMagic = 0xdeadbeef

var host = binary.NativeEndian

// ErrMalformed is the error of bytes that are no message of the protocol.
var ErrMalformed = errors.New("malformed")

// ErrNoRoom says that a datagram would have had to wait until its receiver
// reads what it has.
var ErrNoRoom = errors.New("the receiver has no room")

func malformed(format string, args ...any) error {
	return fmt.Errorf(format+": %w", append(args, ErrMalformed)...)
}

// Type says what a control message asks.
type Type uint32

// The types. The data of a request, and of its answer:
const (
	TypeError      Type = iota // only an answer: the request failed
	TypeConnect                // Connect; Connect
	TypeDisconnect             // nothing; nothing
	TypePort                   // nothing; Port
	TypeVendor                 // nothing; Vendor
	TypeGID                    // nothing; GID
	TypeGUID                   // nothing; GUID
	TypeNodeInfo               // nothing; the attribute NodeInfo
	TypePortInfo               // PortNumber; the attribute PortInfo
	TypeIsSM                   // IsSM; IsSM
	TypePKeys                  // nothing; PKeys

	// TypeRegister is heddle's own: Register; Register.
	TypeRegister Type = 0x68656401
)

// String names the type.
func (t Type) String() string {
	names := [...]string{
		"ERROR", "CONNECT", "DISCONNECT", "GET_PORT", "GET_VENDOR", "GET_GID",
		"GET_GUID", "GET_NODEINFO", "GET_PORTINFO", "SET_ISSM", "GET_PKEYS",
	}
	switch {
	case int64(t) < int64(len(names)):
		return names[t]
	case t == TypeRegister:
		return "REGISTER"
	default:
		return fmt.Sprintf("type(%#x)", uint32(t))
	}
}

// Body is the data of a control message. Len is at most ControlDataSize.
// Attributes of package mad are bodies too.
type Body interface {
	Len() int
	AppendTo(b []byte) []byte
}

// Control is a control message.
type Control struct {
	// Client is the number that the answer to Connect gave; 0 before.
	Client uint32
	Type   Type
	// Len is the length of the data as the sender tells it. Nobody relies on
	// it: Data is whole in any case.
	Len  uint32
	Data [ControlDataSize]byte
}

// NewControl is the request of a client; a nil body is no data.
func NewControl(client uint32, t Type, body Body) Control {
	return Control{Client: client, Type: t}.withBody(body)
}

// Answer is the answer to the request c with the given data; a nil body leaves
// the data of the request.
func (c Control) Answer(body Body) Control { return c.withBody(body) }

// Failed is the answer that says that the request c failed.
func (c Control) Failed() Control {
	c.Type = TypeError
	return c
}

// withBody puts a body into the data; what does not fit is cut.
func (c Control) withBody(body Body) Control {
	if body == nil {
		return c
	}
	b := body.AppendTo(make([]byte, 0, ControlDataSize))
	clear(c.Data[:])
	c.Len = uint32(copy(c.Data[:], b))
	return c
}

// ParseControl reads a control message, which is all of b.
func ParseControl(b []byte) (Control, error) {
	if len(b) != ControlSize {
		return Control{}, malformed("control message of %d bytes, want %d", len(b), ControlSize)
	}
	if magic := host.Uint32(b); magic != controlMagic {
		return Control{}, malformed("control message begins with %#x, want %#x", magic, controlMagic)
	}
	c := Control{Client: host.Uint32(b[4:]), Type: Type(host.Uint32(b[8:])), Len: host.Uint32(b[12:])}
	copy(c.Data[:], b[16:])
	return c, nil
}

// AppendTo appends the ControlSize bytes of the message.
func (c Control) AppendTo(b []byte) []byte {
	b = host.AppendUint32(b, controlMagic)
	b = host.AppendUint32(b, c.Client)
	b = host.AppendUint32(b, uint32(c.Type))
	b = host.AppendUint32(b, c.Len)
	return append(b, c.Data[:]...)
}
