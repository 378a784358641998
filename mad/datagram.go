package mad

import (
	"encoding/binary"
	"errors"
	"fmt"

	"heddle/ib"
)

// Size is the length of a datagram in bytes (IBTA 1, 13.4.2).
const Size = 256

// Where things stand in a datagram.
const (
	offMKey        = 24
	offDrSLID      = 32
	offDrDLID      = 34
	offSMPData     = 64
	offInitialPath = 128
	offReturnPath  = 192
	offSAData      = 56

	smpDataLen = 64
	maxHops    = 63
)

var be = binary.BigEndian

// ErrShort is the error of a buffer that ends within what is to be read from
// it.
var ErrShort = errors.New("too short")

// need tells what is too short, or nil.
func need(what string, b []byte, n int) error {
	if len(b) >= n {
		return nil
	}
	return fmt.Errorf("%s of %d bytes, needs %d: %w", what, len(b), n, ErrShort)
}

// grow appends n zero bytes and returns the whole and the new part. It does not
// allocate where b has room.
func grow(b []byte, n int) (whole, part []byte) {
	b = append(b, make([]byte, n)...)
	return b, b[len(b)-n:]
}

// Datagram is a management datagram as it travels. Its methods read and write
// the header in place; none of them allocates. A datagram that came from a
// stranger is safe to be read with all of them.
type Datagram [Size]byte

// Header is the common header of all datagrams (IBTA 1, 13.4.3). Those of
// directed-route SMPs hold their hop counts in Specific.
type Header struct {
	Class        Class
	ClassVersion uint8
	Method       Method
	// Status has the direction bit of a directed-route SMP at the top.
	Status   Status
	Specific uint16
	TID      uint64
	Attr     AttrID
	Modifier uint32
}

const (
	headerLen   = 24
	baseVersion = 1
)

// ParseHeader reads the header at the start of b.
func ParseHeader(b []byte) (Header, error) {
	if err := need("header", b, headerLen); err != nil {
		return Header{}, err
	}
	if b[0] != baseVersion {
		return Header{}, fmt.Errorf("header of base version %d, want %d", b[0], baseVersion)
	}
	return Header{
		Class: Class(b[1]), ClassVersion: b[2], Method: Method(b[3]),
		Status: Status(be.Uint16(b[4:])), Specific: be.Uint16(b[6:]),
		TID: be.Uint64(b[8:]), Attr: AttrID(be.Uint16(b[16:])), Modifier: be.Uint32(b[20:]),
	}, nil
}

// AppendTo appends the 24 bytes of the header.
func (h Header) AppendTo(b []byte) []byte {
	b = append(b, baseVersion, byte(h.Class), h.ClassVersion, byte(h.Method))
	b = be.AppendUint16(b, uint16(h.Status))
	b = be.AppendUint16(b, h.Specific)
	b = be.AppendUint64(b, h.TID)
	b = be.AppendUint16(b, uint16(h.Attr))
	b = be.AppendUint16(b, 0)
	return be.AppendUint32(b, h.Modifier)
}

// Header reads the header; the base version is not looked at.
func (d *Datagram) Header() Header {
	return Header{
		Class: d.Class(), ClassVersion: d[2], Method: d.Method(),
		Status: Status(be.Uint16(d[4:])), Specific: be.Uint16(d[6:]),
		TID: d.TID(), Attr: d.Attr(), Modifier: d.Modifier(),
	}
}

// SetHeader writes the header and leaves the rest as it is.
func (d *Datagram) SetHeader(h Header) { h.AppendTo(d[:0]) }

// BaseVersion is 1 in all datagrams of today.
func (d *Datagram) BaseVersion() uint8 { return d[0] }

// Class is the management class.
func (d *Datagram) Class() Class { return Class(d[1]) }

// ClassVersion is the version of the class.
func (d *Datagram) ClassVersion() uint8 { return d[2] }

// Method is what is asked or answered.
func (d *Datagram) Method() Method { return Method(d[3]) }

// SetMethod writes the method.
func (d *Datagram) SetMethod(m Method) { d[3] = byte(m) }

// Status is the status without the direction bit.
func (d *Datagram) Status() Status {
	s := Status(be.Uint16(d[4:]))
	if d.Class() == ClassDirected {
		s &^= statusDirection
	}
	return s
}

// SetStatus writes the status and leaves the direction bit as it is.
func (d *Datagram) SetStatus(s Status) {
	if d.Class() == ClassDirected {
		s = s&^statusDirection | Status(be.Uint16(d[4:]))&statusDirection
	}
	be.PutUint16(d[4:], uint16(s))
}

// TID is the transaction ID.
func (d *Datagram) TID() uint64 { return be.Uint64(d[8:]) }

// SetTID writes the transaction ID.
func (d *Datagram) SetTID(tid uint64) { be.PutUint64(d[8:], tid) }

// Attr is the attribute that the datagram is about.
func (d *Datagram) Attr() AttrID { return AttrID(be.Uint16(d[16:])) }

// Modifier is the attribute modifier: a port, a block, or what the attribute
// makes of it.
func (d *Datagram) Modifier() uint32 { return be.Uint32(d[20:]) }

// Data is the part of a datagram that holds the attribute: 64 bytes of an SMP,
// 200 of subnet administration, 192 of every other class.
func (d *Datagram) Data() []byte {
	switch d.Class() {
	case ClassLID, ClassDirected:
		return d[offSMPData : offSMPData+smpDataLen : offSMPData+smpDataLen]
	case ClassSA:
		return d[offSAData:]
	default:
		return d[offSMPData:]
	}
}

// MKey is the management key of an SMP.
func (d *Datagram) MKey() MKey { return MKey(be.Uint64(d[offMKey:])) }

// SetMKey writes the management key of an SMP.
func (d *Datagram) SetMKey(k MKey) { be.PutUint64(d[offMKey:], uint64(k)) }

// IsResponse tells whether the datagram answers another: by its method, or by
// TrapRepress, which ends a trap.
func (d *Datagram) IsResponse() bool { return d.Method().IsResponse() }

// What follows is for directed-route SMPs (IBTA 1, 14.2.2).

// MaxHops is the longest path of a directed route.
const MaxHops = maxHops

// Returning is the direction bit: set on the way back.
func (d *Datagram) Returning() bool { return d[4]&0x80 != 0 }

// SetReturning writes the direction bit.
func (d *Datagram) SetReturning(on bool) {
	if on {
		d[4] |= 0x80
	} else {
		d[4] &^= 0x80
	}
}

// HopPointer is the index of the current hop.
func (d *Datagram) HopPointer() uint8 { return d[6] }

// SetHopPointer writes the index of the current hop.
func (d *Datagram) SetHopPointer(n uint8) { d[6] = n }

// HopCount is the number of hops of the path.
func (d *Datagram) HopCount() uint8 { return d[7] }

// DrSLID is the LID at which the directed part of the path starts,
// PermissiveLID for its sender.
func (d *Datagram) DrSLID() ib.LID { return ib.LID(be.Uint16(d[offDrSLID:])) }

// DrDLID is the LID that follows the directed part, PermissiveLID for none.
func (d *Datagram) DrDLID() ib.LID { return ib.LID(be.Uint16(d[offDrDLID:])) }

// InitialPath is the 64 ports through which the datagram goes out; those of
// hop n at index n, index 0 is not used.
func (d *Datagram) InitialPath() *[64]byte { return (*[64]byte)(d[offInitialPath:]) }

// ReturnPath is the 64 ports through which the answer goes back.
func (d *Datagram) ReturnPath() *[64]byte { return (*[64]byte)(d[offReturnPath:]) }

// SetPath makes the datagram one that leaves its sender on the directed route
// through the given ports: path[0] is the port of the sender, path[1] that of
// the first switch. It fails for more than MaxHops.
func (d *Datagram) SetPath(path []uint8) error {
	if len(path) > MaxHops {
		return fmt.Errorf("directed route of %d hops, at most %d", len(path), MaxHops)
	}
	d.SetReturning(false)
	d[6], d[7] = 0, uint8(len(path))
	be.PutUint16(d[offDrSLID:], uint16(ib.PermissiveLID))
	be.PutUint16(d[offDrDLID:], uint16(ib.PermissiveLID))
	clear(d[offInitialPath:])
	copy(d[offInitialPath+1:], path)
	return nil
}
