package mad

import "heddle/ib"

// MFTRecord is a block of the multicast forwarding table of a switch
// (IBTA 1, 15.2.5.8).
type MFTRecord struct {
	LID      ib.LID // of the switch
	Position uint8  // 4 bits: of 16 ports, from 0
	Block    uint16 // 9 bits: of 32 MLIDs, from 0
	Ports    MulticastForwarding
}

// The components of an MFTRecord.
const (
	MFTRecordLID ComponentMask = 1 << iota
	MFTRecordPosition
	_
	MFTRecordBlock
)

var mftRecordLayout = []Field{
	{Name: "LID", Bits: 16},
	{Name: "Position", Bits: 4},
	{Bits: 3},
	{Name: "Block", Bits: 9},
}

const (
	mftRecordLen = 72
	mftBlockMask = 1<<9 - 1
)

// ParseMFTRecord reads the 72 bytes at the start of b.
func ParseMFTRecord(b []byte) (MFTRecord, error) {
	if err := need("MulticastForwardingTableRecord", b, mftRecordLen); err != nil {
		return MFTRecord{}, err
	}
	ports, err := ParseMulticastForwarding(b[8:])
	if err != nil {
		return MFTRecord{}, err
	}
	return MFTRecord{LID: ib.LID(be.Uint16(b)), Position: b[2] >> 4, Block: be.Uint16(b[2:]) & mftBlockMask, Ports: ports}, nil
}

// AttrID is AttrMFTRecord.
func (MFTRecord) AttrID() AttrID { return AttrMFTRecord }

// Len is 72.
func (MFTRecord) Len() int { return mftRecordLen }

// AppendTo appends the 72 bytes.
func (r MFTRecord) AppendTo(b []byte) []byte {
	b = be.AppendUint16(b, uint16(r.LID))
	b = be.AppendUint16(b, uint16(r.Position)<<12|r.Block&mftBlockMask)
	b = append(b, 0, 0, 0, 0)
	return r.Ports.AppendTo(b)
}
