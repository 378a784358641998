package mad

import "heddle/ib"

// SystemImageDetails tells of trap 145: the system image GUID of a node
// changed (IBTA 1, 14.2.5.1).
type SystemImageDetails struct {
	LID             ib.LID
	SystemImageGUID ib.GUID // as it is now
}

func parseSystemImageDetails(b *NoticeDetails) SystemImageDetails {
	return SystemImageDetails{ib.LID(be.Uint16(b[2:])), ib.GUID(be.Uint64(b[6:]))}
}

// Pack gives the details as they stand in a notice.
func (d SystemImageDetails) Pack() (b NoticeDetails) {
	be.PutUint16(b[2:], uint16(d.LID))
	be.PutUint64(b[6:], uint64(d.SystemImageGUID))
	return b
}
