package mad

import "fmt"

// SAHeader is what stands between the common header and the data in a
// datagram of subnet administration: RMPP and the class's own header
// (IBTA 1, 15.2.1.1).
type SAHeader struct {
	RMPP RMPPHeader
	// SMKey is 0, or shows that the requester may be told everything.
	SMKey SMKey
	// AttributeOffset is the distance from a record to the next in a table, in
	// words of 8 bytes; 0 where there is no table.
	AttributeOffset uint16
	// ComponentMask says which fields of a request's record count.
	ComponentMask ComponentMask
}

const (
	offSMKey           = 36
	offAttributeOffset = 44
	offComponentMask   = 48

	saHeaderLen = offSAData - headerLen
)

// ComponentMask is a set of fields of a record: each record's constants name
// its own bits (IBTA 1, 15.2.5).
type ComponentMask uint64

// Has tells whether all fields of c are in the mask.
func (m ComponentMask) Has(c ComponentMask) bool { return m&c == c }

// String is the mask in hexadecimal.
func (m ComponentMask) String() string { return fmt.Sprintf("%#x", uint64(m)) }

// SMKey is the key of subnet managers and of whom they trust.
type SMKey uint64

// String is the key in hexadecimal.
func (k SMKey) String() string { return fmt.Sprintf("%#016x", uint64(k)) }

// ParseSAHeader reads the 32 bytes at the start of b, which follow the common
// header.
func ParseSAHeader(b []byte) (SAHeader, error) {
	if err := need("SA header", b, saHeaderLen); err != nil {
		return SAHeader{}, err
	}
	return SAHeader{
		RMPP: rmppHeader(b), SMKey: SMKey(be.Uint64(b[12:])),
		AttributeOffset: be.Uint16(b[20:]), ComponentMask: ComponentMask(be.Uint64(b[24:])),
	}, nil
}

// AppendTo appends the 32 bytes of the header.
func (h SAHeader) AppendTo(b []byte) []byte {
	b = h.RMPP.AppendTo(b)
	b = be.AppendUint64(b, uint64(h.SMKey))
	b = be.AppendUint16(b, h.AttributeOffset)
	b = be.AppendUint16(b, 0)
	return be.AppendUint64(b, uint64(h.ComponentMask))
}

// What follows is for datagrams of subnet administration.

// SAHeader reads RMPP and the class's header.
func (d *Datagram) SAHeader() SAHeader {
	return SAHeader{
		RMPP: d.RMPP(), SMKey: d.SMKey(),
		AttributeOffset: d.AttributeOffset(), ComponentMask: d.ComponentMask(),
	}
}

// SetSAHeader writes RMPP and the class's header and leaves the rest as it is.
func (d *Datagram) SetSAHeader(h SAHeader) { h.AppendTo(d[headerLen:headerLen]) }

// SMKey is the key that the requester shows.
func (d *Datagram) SMKey() SMKey { return SMKey(be.Uint64(d[offSMKey:])) }

// SetSMKey writes the key.
func (d *Datagram) SetSMKey(k SMKey) { be.PutUint64(d[offSMKey:], uint64(k)) }

// AttributeOffset is the distance from a record to the next in words of 8
// bytes.
func (d *Datagram) AttributeOffset() uint16 { return be.Uint16(d[offAttributeOffset:]) }

// SetAttributeOffset writes the distance from a record to the next in words of
// 8 bytes.
func (d *Datagram) SetAttributeOffset(words uint16) { be.PutUint16(d[offAttributeOffset:], words) }

// ComponentMask says which fields of the record count.
func (d *Datagram) ComponentMask() ComponentMask {
	return ComponentMask(be.Uint64(d[offComponentMask:]))
}

// SetComponentMask writes which fields of the record count.
func (d *Datagram) SetComponentMask(m ComponentMask) { be.PutUint64(d[offComponentMask:], uint64(m)) }
