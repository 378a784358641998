package mad

import "heddle/ib"

// BadKeyDetails tells of traps 257 and 258: a packet with a wrong P_Key or
// Q_Key (IBTA 1, 14.2.5.1). Of each pair, the first is the packet's source.
type BadKeyDetails struct {
	LID1, LID2 ib.LID
	// Key is the P_Key in the low 16 bits, or the Q_Key.
	Key        uint32
	SL         ib.SL  // 4 bits
	QP1, QP2   ib.QPN // 24 bits
	GID1, GID2 ib.GID
}

func parseBadKeyDetails(b *NoticeDetails) BadKeyDetails {
	return BadKeyDetails{
		LID1: ib.LID(be.Uint16(b[2:])), LID2: ib.LID(be.Uint16(b[4:])), Key: be.Uint32(b[6:]),
		SL: ib.SL(b[10] >> 4), QP1: ib.QPN(uint24(b[11:])), QP2: ib.QPN(uint24(b[15:])),
		GID1: ib.GID(b[18:34]), GID2: ib.GID(b[34:50]),
	}
}

// Pack gives the details as they stand in a notice.
func (d BadKeyDetails) Pack() (b NoticeDetails) {
	be.PutUint16(b[2:], uint16(d.LID1))
	be.PutUint16(b[4:], uint16(d.LID2))
	be.PutUint32(b[6:], d.Key)
	b[10] = byte(d.SL) << 4
	putUint24(b[11:], uint32(d.QP1))
	putUint24(b[15:], uint32(d.QP2))
	copy(b[18:], d.GID1[:])
	copy(b[34:], d.GID2[:])
	return b
}
