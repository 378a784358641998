package mad

import "heddle/ib"

// SLtoVLRecord is how a switch maps the service levels of packets from one port
// to another, or an adapter's port those that it sends (IBTA 1, 15.2.5.4).
type SLtoVLRecord struct {
	LID        ib.LID // of the node
	InputPort  uint8
	OutputPort uint8
	Mapping    SLtoVLMapping
}

// The components of an SLtoVLRecord.
const (
	SLtoVLRecordLID ComponentMask = 1 << iota
	SLtoVLRecordInputPort
	SLtoVLRecordOutputPort
)

var slToVLRecordLayout = []Field{
	{Name: "LID", Bits: 16},
	{Name: "InputPort", Bits: 8},
	{Name: "OutputPort", Bits: 8},
}

const slToVLRecordLen = 16

// ParseSLtoVLRecord reads the 16 bytes at the start of b.
func ParseSLtoVLRecord(b []byte) (SLtoVLRecord, error) {
	if err := need("SLtoVLMappingTableRecord", b, slToVLRecordLen); err != nil {
		return SLtoVLRecord{}, err
	}
	m, err := ParseSLtoVLMapping(b[8:])
	if err != nil {
		return SLtoVLRecord{}, err
	}
	return SLtoVLRecord{LID: ib.LID(be.Uint16(b)), InputPort: b[2], OutputPort: b[3], Mapping: m}, nil
}

// AttrID is AttrSLtoVLRecord.
func (SLtoVLRecord) AttrID() AttrID { return AttrSLtoVLRecord }

// Len is 16.
func (SLtoVLRecord) Len() int { return slToVLRecordLen }

// AppendTo appends the 16 bytes.
func (r SLtoVLRecord) AppendTo(b []byte) []byte {
	b = be.AppendUint16(b, uint16(r.LID))
	b = append(b, r.InputPort, r.OutputPort, 0, 0, 0, 0)
	return r.Mapping.AppendTo(b)
}
