package mad

import "heddle/ib"

// PortErrorDetails tells of traps 129 to 131: a port had more errors than its
// threshold lets it (IBTA 1, 14.2.5.1).
type PortErrorDetails struct {
	LID  ib.LID
	Port uint8
}

func parsePortErrorDetails(b *NoticeDetails) PortErrorDetails {
	return PortErrorDetails{ib.LID(be.Uint16(b[2:])), b[4]}
}

// Pack gives the details as they stand in a notice.
func (d PortErrorDetails) Pack() (b NoticeDetails) {
	be.PutUint16(b[2:], uint16(d.LID))
	b[4] = d.Port
	return b
}
