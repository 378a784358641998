package packet

import (
	"encoding/binary"

	"heddle/ib"
)

// BTHSize is the size of a BTH in bytes.
const BTHSize = 12

// BTH is the base transport header (IBTA 9.2).
type BTH struct {
	Opcode    Opcode
	Solicited bool
	Migrated  bool // MigReq: set, where no path is migrated to
	Pad       uint8
	PKey      ib.PKey
	// FECN and BECN are the marks of congestion.
	FECN, BECN bool
	QPN        ib.QPN // whom it is for
	AckReq     bool
	PSN        uint32 // 24 bits
}

// AppendTo appends the header.
func (h *BTH) AppendTo(b []byte) []byte {
	flags := h.Pad & 3 << 4
	if h.Solicited {
		flags |= 0x80
	}
	if h.Migrated {
		flags |= 0x40
	}
	var marks uint32
	if h.FECN {
		marks |= 1 << 31
	}
	if h.BECN {
		marks |= 1 << 30
	}
	psn := h.PSN & 0xff_ffff
	if h.AckReq {
		psn |= 1 << 31
	}
	b = append(b, byte(h.Opcode), flags)
	b = binary.BigEndian.AppendUint16(b, uint16(h.PKey))
	b = binary.BigEndian.AppendUint32(b, marks|uint32(h.QPN)&0xff_ffff)
	return binary.BigEndian.AppendUint32(b, psn)
}

// Parse reads the header; rest is what follows it. The reserved bits are not
// looked at.
func (h *BTH) Parse(b []byte) (rest []byte, err error) {
	if len(b) < BTHSize {
		return nil, errBTH
	}
	if b[1]&0xf != 0 { // the transport version
		return nil, errBTHFormat
	}
	to, psn := binary.BigEndian.Uint32(b[4:]), binary.BigEndian.Uint32(b[8:])
	*h = BTH{
		Opcode: Opcode(b[0]), Solicited: b[1]&0x80 != 0, Migrated: b[1]&0x40 != 0, Pad: b[1] >> 4 & 3,
		PKey: ib.PKey(binary.BigEndian.Uint16(b[2:])), FECN: to>>31 != 0, BECN: to>>30&1 != 0,
		QPN: ib.QPN(to & 0xff_ffff), AckReq: psn>>31 != 0, PSN: psn & 0xff_ffff,
	}
	return b[BTHSize:], nil
}
