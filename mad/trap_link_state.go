package mad

import "heddle/ib"

// LinkStateDetails tells of trap 128: the state of a link of the switch changed
// (IBTA 1, 14.2.5.1).
type LinkStateDetails struct {
	LID ib.LID // of the switch
}

func parseLinkStateDetails(b *NoticeDetails) LinkStateDetails {
	return LinkStateDetails{ib.LID(be.Uint16(b[0:]))}
}

// Pack gives the details as they stand in a notice.
func (d LinkStateDetails) Pack() (b NoticeDetails) {
	be.PutUint16(b[0:], uint16(d.LID))
	return b
}
