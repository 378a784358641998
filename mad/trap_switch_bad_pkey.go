package mad

import "heddle/ib"

// SwitchBadPKeyDetails tells of trap 259: a switch dropped a packet with a
// wrong P_Key (IBTA 1, 14.2.5.1). Of each pair, the first is the packet's
// source.
type SwitchBadPKeyDetails struct {
	// Valid says which of the packet's fields are known; the switch's own
	// always are.
	Valid      SwitchBadPKeyFields
	LID1, LID2 ib.LID
	PKey       ib.PKey
	SL         ib.SL  // 4 bits
	QP1, QP2   ib.QPN // 24 bits
	GID1, GID2 ib.GID
	SwitchLID  ib.LID
	Port       uint8 // of the switch
}

// SwitchBadPKeyFields is a set of fields of SwitchBadPKeyDetails.
type SwitchBadPKeyFields uint16

// The fields, from the top bit down.
const (
	ValidLID1 SwitchBadPKeyFields = 0x8000 >> iota
	ValidLID2
	ValidPKey
	ValidSL
	ValidQP1
	ValidQP2
	ValidGID1
	ValidGID2
)

func parseSwitchBadPKeyDetails(b *NoticeDetails) SwitchBadPKeyDetails {
	return SwitchBadPKeyDetails{
		Valid: SwitchBadPKeyFields(be.Uint16(b[0:])),
		LID1:  ib.LID(be.Uint16(b[2:])), LID2: ib.LID(be.Uint16(b[4:])),
		PKey: ib.PKey(be.Uint16(b[6:])), SL: ib.SL(b[8] >> 4),
		QP1: ib.QPN(uint24(b[9:])), QP2: ib.QPN(uint24(b[13:])),
		GID1: ib.GID(b[16:32]), GID2: ib.GID(b[32:48]),
		SwitchLID: ib.LID(be.Uint16(b[48:])), Port: b[50],
	}
}

// Pack gives the details as they stand in a notice.
func (d SwitchBadPKeyDetails) Pack() (b NoticeDetails) {
	be.PutUint16(b[0:], uint16(d.Valid))
	be.PutUint16(b[2:], uint16(d.LID1))
	be.PutUint16(b[4:], uint16(d.LID2))
	be.PutUint16(b[6:], uint16(d.PKey))
	b[8] = byte(d.SL) << 4
	putUint24(b[9:], uint32(d.QP1))
	putUint24(b[13:], uint32(d.QP2))
	copy(b[16:], d.GID1[:])
	copy(b[32:], d.GID2[:])
	be.PutUint16(b[48:], uint16(d.SwitchLID))
	b[50] = d.Port
	return b
}
