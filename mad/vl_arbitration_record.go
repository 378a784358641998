package mad

import "heddle/ib"

// VLArbitrationRecord is a part of the VL arbitration table of a port
// (IBTA 1, 15.2.5.9).
type VLArbitrationRecord struct {
	LID        ib.LID // of the node
	OutputPort uint8
	Block      VLArbitrationPart
	Table      VLArbitration
}

// The components of a VLArbitrationRecord.
const (
	VLArbitrationRecordLID ComponentMask = 1 << iota
	VLArbitrationRecordOutputPort
	VLArbitrationRecordBlock
)

var vlArbitrationRecordLayout = []Field{
	{Name: "LID", Bits: 16},
	{Name: "OutputPort", Bits: 8},
	{Name: "Block", Bits: 8},
}

const vlArbitrationRecordLen = 72

// ParseVLArbitrationRecord reads the 72 bytes at the start of b.
func ParseVLArbitrationRecord(b []byte) (VLArbitrationRecord, error) {
	if err := need("VLArbitrationTableRecord", b, vlArbitrationRecordLen); err != nil {
		return VLArbitrationRecord{}, err
	}
	table, err := ParseVLArbitration(b[8:])
	if err != nil {
		return VLArbitrationRecord{}, err
	}
	return VLArbitrationRecord{LID: ib.LID(be.Uint16(b)), OutputPort: b[2], Block: VLArbitrationPart(b[3]), Table: table}, nil
}

// AttrID is AttrVLArbitrationRecord.
func (VLArbitrationRecord) AttrID() AttrID { return AttrVLArbitrationRecord }

// Len is 72.
func (VLArbitrationRecord) Len() int { return vlArbitrationRecordLen }

// AppendTo appends the 72 bytes.
func (r VLArbitrationRecord) AppendTo(b []byte) []byte {
	b = be.AppendUint16(b, uint16(r.LID))
	b = append(b, r.OutputPort, byte(r.Block), 0, 0, 0, 0)
	return r.Table.AppendTo(b)
}
