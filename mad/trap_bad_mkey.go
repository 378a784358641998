package mad

import "heddle/ib"

// BadMKeyDetails tells of trap 256: a request with a wrong M_Key
// (IBTA 1, 14.2.5.1). What is told of the request stands as it stood there.
type BadMKeyDetails struct {
	LID      ib.LID // that the request came from
	DrSLID   ib.LID
	Method   Method
	Attr     AttrID
	Modifier uint32
	MKey     MKey
	// Directed says that the request came by a directed route, and that the
	// last three are those of its return path.
	Directed  bool
	Truncated bool  // the path is longer than there is room for
	HopCount  uint8 // 6 bits
	Path      [30]uint8
}

const (
	badMKeyDirected  = 0x80
	badMKeyTruncated = 0x40
	badMKeyHops      = 0x3F
)

func parseBadMKeyDetails(b *NoticeDetails) BadMKeyDetails {
	return BadMKeyDetails{
		LID: ib.LID(be.Uint16(b[2:])), DrSLID: ib.LID(be.Uint16(b[4:])),
		Method: Method(b[6]), Attr: AttrID(be.Uint16(b[8:])), Modifier: be.Uint32(b[10:]),
		MKey:     MKey(be.Uint64(b[14:])),
		Directed: b[23]&badMKeyDirected != 0, Truncated: b[23]&badMKeyTruncated != 0,
		HopCount: b[23] & badMKeyHops, Path: [30]uint8(b[24:]),
	}
}

// Pack gives the details as they stand in a notice.
func (d BadMKeyDetails) Pack() (b NoticeDetails) {
	be.PutUint16(b[2:], uint16(d.LID))
	be.PutUint16(b[4:], uint16(d.DrSLID))
	b[6] = byte(d.Method)
	be.PutUint16(b[8:], uint16(d.Attr))
	be.PutUint32(b[10:], d.Modifier)
	be.PutUint64(b[14:], uint64(d.MKey))
	b[23] = flag(d.Directed, badMKeyDirected) | flag(d.Truncated, badMKeyTruncated) | d.HopCount&badMKeyHops
	copy(b[24:], d.Path[:])
	return b
}
