package mad

import "heddle/ib"

// GIDDetails tells of traps 64 to 67: a port that came into or went out of
// service, or a group that was created or deleted (IBTA 1, 14.2.5.1).
type GIDDetails struct {
	GID ib.GID
}

func parseGIDDetails(b *NoticeDetails) GIDDetails { return GIDDetails{ib.GID(b[6:22])} }

// Pack gives the details as they stand in a notice.
func (d GIDDetails) Pack() (b NoticeDetails) {
	copy(b[6:], d.GID[:])
	return b
}
