package packet

import (
	"encoding/binary"

	"heddle/ib"
)

// LRHSize is the size of an LRH in bytes.
const LRHSize = 8

// NextHeader is what follows an LRH (its LNH).
type NextHeader uint8

// What can follow.
const (
	NextRaw  NextHeader = 0 // not InfiniBand's transport
	NextIPv6 NextHeader = 1
	NextBTH  NextHeader = 2
	NextGRH  NextHeader = 3 // and then a BTH
)

// LRH is the local routing header (IBTA 7.7).
type LRH struct {
	VL   ib.VL
	SL   ib.SL
	Next NextHeader
	// Words is the length of the packet from the LRH to the ICRC, in 4 bytes; 11
	// bits.
	Words uint16
	// DLID and SLID are LIDs, DLID perhaps an MLID.
	DLID, SLID uint16
}

// AppendTo appends the header.
func (h *LRH) AppendTo(b []byte) []byte {
	b = append(b, byte(h.VL)<<4, byte(h.SL)<<4|byte(h.Next)&3)
	b = binary.BigEndian.AppendUint16(b, h.DLID)
	b = binary.BigEndian.AppendUint16(b, h.Words&0x7ff)
	return binary.BigEndian.AppendUint16(b, h.SLID)
}

// Parse reads the header; rest is what follows it.
func (h *LRH) Parse(b []byte) (rest []byte, err error) {
	if len(b) < LRHSize {
		return nil, errLRH
	}
	if b[0]&0xf != 0 { // the link version
		return nil, errLRHFormat
	}
	*h = LRH{
		VL: ib.VL(b[0] >> 4), SL: ib.SL(b[1] >> 4), Next: NextHeader(b[1] & 3),
		DLID: binary.BigEndian.Uint16(b[2:]), Words: binary.BigEndian.Uint16(b[4:]) & 0x7ff, SLID: binary.BigEndian.Uint16(b[6:]),
	}
	return b[LRHSize:], nil
}
