package packet

import (
	"encoding/binary"

	"heddle/ib"
)

// GRHSize is the size of a GRH in bytes.
const GRHSize = 40

// nextBTH is the next header of a GRH before a BTH.
const nextBTH = 0x1b

// GRH is the global routing header (IBTA 8.3): an IPv6 header.
type GRH struct {
	Class uint8  // traffic class
	Flow  uint32 // flow label, 20 bits
	// Length is the number of bytes behind the GRH, with the ICRC.
	Length     uint16
	Hops       uint8
	Next       uint8 // 0x1b before a BTH
	SGID, DGID ib.GID
}

// AppendTo appends the header. A Next of 0 is that of a BTH.
func (h *GRH) AppendTo(b []byte) []byte {
	next := h.Next
	if next == 0 {
		next = nextBTH
	}
	b = binary.BigEndian.AppendUint32(b, 6<<28|uint32(h.Class)<<20|h.Flow&0xf_ffff)
	b = binary.BigEndian.AppendUint16(b, h.Length)
	b = append(b, next, h.Hops)
	b = append(b, h.SGID[:]...)
	return append(b, h.DGID[:]...)
}

// Parse reads the header; rest is what follows it.
func (h *GRH) Parse(b []byte) (rest []byte, err error) {
	if len(b) < GRHSize {
		return nil, errGRH
	}
	first := binary.BigEndian.Uint32(b)
	if first>>28 != 6 || b[6] == 0 {
		return nil, errGRHFormat
	}
	*h = GRH{
		Class: uint8(first >> 20), Flow: first & 0xf_ffff, Length: binary.BigEndian.Uint16(b[4:]), Next: b[6], Hops: b[7],
		SGID: ib.GID(b[8:24]), DGID: ib.GID(b[24:40]),
	}
	return b[GRHSize:], nil
}
