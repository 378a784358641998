package mad

import "heddle/ib"

// SwitchInfoRecord is the SwitchInfo of a switch (IBTA 1, 15.2.5.5).
type SwitchInfoRecord struct {
	LID  ib.LID
	Info SwitchInfo
}

// SwitchInfoRecordLID is the only component of a SwitchInfoRecord by which
// records are chosen.
const SwitchInfoRecordLID ComponentMask = 1

var switchInfoRecordLayout = []Field{{Name: "LID", Bits: 16}}

const switchInfoRecordLen = 24

// ParseSwitchInfoRecord reads the 24 bytes at the start of b.
func ParseSwitchInfoRecord(b []byte) (SwitchInfoRecord, error) {
	if err := need("SwitchInfoRecord", b, switchInfoRecordLen); err != nil {
		return SwitchInfoRecord{}, err
	}
	info, err := ParseSwitchInfo(b[4:])
	if err != nil {
		return SwitchInfoRecord{}, err
	}
	return SwitchInfoRecord{LID: ib.LID(be.Uint16(b)), Info: info}, nil
}

// AttrID is AttrSwitchInfoRecord.
func (SwitchInfoRecord) AttrID() AttrID { return AttrSwitchInfoRecord }

// Len is 24.
func (SwitchInfoRecord) Len() int { return switchInfoRecordLen }

// AppendTo appends the 24 bytes.
func (r SwitchInfoRecord) AppendTo(b []byte) []byte {
	b = be.AppendUint16(b, uint16(r.LID))
	b = append(b, 0, 0)
	return r.Info.AppendTo(b)
}
