package mad

import (
	"slices"

	"heddle/ib"
)

// GUIDInfoRecord is a block of the GUID table of a port. A Set adds alias GUIDs
// to it, a Delete takes them away (IBTA 1, 15.2.5.18).
type GUIDInfoRecord struct {
	LID   ib.LID
	Block uint8 // of 8 GUIDs, from 0
	GUIDs GUIDInfo
}

// The components of a GUIDInfoRecord.
const (
	GUIDInfoRecordLID ComponentMask = 1 << iota
	GUIDInfoRecordBlock
	_
	_
	GUIDInfoRecordGUID // of index 0; shifted left by n, of index n
)

var guidInfoRecordLayout = slices.Concat(
	[]Field{
		{Name: "LID", Bits: 16},
		{Name: "Block", Bits: 8},
		{Bits: 8},
		{Bits: 32},
	},
	numbered("GUID", 8, 64),
)

const guidInfoRecordLen = 72

// ParseGUIDInfoRecord reads the 72 bytes at the start of b.
func ParseGUIDInfoRecord(b []byte) (GUIDInfoRecord, error) {
	if err := need("GuidInfoRecord", b, guidInfoRecordLen); err != nil {
		return GUIDInfoRecord{}, err
	}
	guids, err := ParseGUIDInfo(b[8:])
	if err != nil {
		return GUIDInfoRecord{}, err
	}
	return GUIDInfoRecord{LID: ib.LID(be.Uint16(b)), Block: b[2], GUIDs: guids}, nil
}

// AttrID is AttrGUIDInfoRecord.
func (GUIDInfoRecord) AttrID() AttrID { return AttrGUIDInfoRecord }

// Len is 72.
func (GUIDInfoRecord) Len() int { return guidInfoRecordLen }

// AppendTo appends the 72 bytes.
func (r GUIDInfoRecord) AppendTo(b []byte) []byte {
	b = be.AppendUint16(b, uint16(r.LID))
	b = append(b, r.Block, 0, 0, 0, 0, 0)
	return r.GUIDs.AppendTo(b)
}
