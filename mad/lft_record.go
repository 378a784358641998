package mad

import "heddle/ib"

// LFTRecord is a block of the linear forwarding table of a switch
// (IBTA 1, 15.2.5.6).
type LFTRecord struct {
	LID   ib.LID // of the switch
	Block uint16 // of 64 LIDs, from 0
	Ports LinearForwarding
}

// The components of an LFTRecord.
const (
	LFTRecordLID ComponentMask = 1 << iota
	LFTRecordBlock
)

var lftRecordLayout = []Field{
	{Name: "LID", Bits: 16},
	{Name: "Block", Bits: 16},
}

const lftRecordLen = 72

// ParseLFTRecord reads the 72 bytes at the start of b.
func ParseLFTRecord(b []byte) (LFTRecord, error) {
	if err := need("LinearForwardingTableRecord", b, lftRecordLen); err != nil {
		return LFTRecord{}, err
	}
	ports, err := ParseLinearForwarding(b[8:])
	if err != nil {
		return LFTRecord{}, err
	}
	return LFTRecord{LID: ib.LID(be.Uint16(b)), Block: be.Uint16(b[2:]), Ports: ports}, nil
}

// AttrID is AttrLFTRecord.
func (LFTRecord) AttrID() AttrID { return AttrLFTRecord }

// Len is 72.
func (LFTRecord) Len() int { return lftRecordLen }

// AppendTo appends the 72 bytes.
func (r LFTRecord) AppendTo(b []byte) []byte {
	b = be.AppendUint16(b, uint16(r.LID))
	b = be.AppendUint16(b, r.Block)
	b = append(b, 0, 0, 0, 0)
	return r.Ports.AppendTo(b)
}
