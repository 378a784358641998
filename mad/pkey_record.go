package mad

import "heddle/ib"

// PKeyRecord is a block of the P_Key table of a port (IBTA 1, 15.2.5.11).
type PKeyRecord struct {
	LID   ib.LID // of the node
	Block uint16 // of 32 P_Keys, from 0
	Port  uint8
	PKeys PKeyTable
}

// The components of a PKeyRecord.
const (
	PKeyRecordLID ComponentMask = 1 << iota
	PKeyRecordBlock
	PKeyRecordPort
)

var pkeyRecordLayout = []Field{
	{Name: "LID", Bits: 16},
	{Name: "Block", Bits: 16},
	{Name: "Port", Bits: 8},
}

const pkeyRecordLen = 72

// ParsePKeyRecord reads the 72 bytes at the start of b.
func ParsePKeyRecord(b []byte) (PKeyRecord, error) {
	if err := need("P_KeyTableRecord", b, pkeyRecordLen); err != nil {
		return PKeyRecord{}, err
	}
	keys, err := ParsePKeyTable(b[8:])
	if err != nil {
		return PKeyRecord{}, err
	}
	return PKeyRecord{LID: ib.LID(be.Uint16(b)), Block: be.Uint16(b[2:]), Port: b[4], PKeys: keys}, nil
}

// AttrID is AttrPKeyRecord.
func (PKeyRecord) AttrID() AttrID { return AttrPKeyRecord }

// Len is 72.
func (PKeyRecord) Len() int { return pkeyRecordLen }

// AppendTo appends the 72 bytes.
func (r PKeyRecord) AppendTo(b []byte) []byte {
	b = be.AppendUint16(b, uint16(r.LID))
	b = be.AppendUint16(b, r.Block)
	b = append(b, r.Port, 0, 0, 0)
	return r.PKeys.AppendTo(b)
}
