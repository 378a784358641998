package mad

import "heddle/ib"

// LinkRecord is a link, from one of its ends (IBTA 1, 15.2.5.13).
type LinkRecord struct {
	FromLID  ib.LID // of the node
	FromPort uint8
	ToPort   uint8
	ToLID    ib.LID
}

// The components of a LinkRecord.
const (
	LinkRecordFromLID ComponentMask = 1 << iota
	LinkRecordFromPort
	LinkRecordToPort
	LinkRecordToLID
)

var linkRecordLayout = []Field{
	{Name: "FromLID", Bits: 16},
	{Name: "FromPort", Bits: 8},
	{Name: "ToPort", Bits: 8},
	{Name: "ToLID", Bits: 16},
}

const linkRecordLen = 6

// ParseLinkRecord reads the 6 bytes at the start of b.
func ParseLinkRecord(b []byte) (LinkRecord, error) {
	if err := need("LinkRecord", b, linkRecordLen); err != nil {
		return LinkRecord{}, err
	}
	return LinkRecord{
		FromLID: ib.LID(be.Uint16(b)), FromPort: b[2],
		ToPort: b[3], ToLID: ib.LID(be.Uint16(b[4:])),
	}, nil
}

// AttrID is AttrLinkRecord.
func (LinkRecord) AttrID() AttrID { return AttrLinkRecord }

// Len is 6.
func (LinkRecord) Len() int { return linkRecordLen }

// AppendTo appends the 6 bytes.
func (r LinkRecord) AppendTo(b []byte) []byte {
	b = be.AppendUint16(b, uint16(r.FromLID))
	b = append(b, r.FromPort, r.ToPort)
	return be.AppendUint16(b, uint16(r.ToLID))
}
