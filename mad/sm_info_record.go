package mad

import "heddle/ib"

// SMInfoRecord is a subnet manager (IBTA 1, 15.2.5.10).
type SMInfoRecord struct {
	LID  ib.LID
	Info SMInfo
}

// The components of an SMInfoRecord.
const (
	SMInfoRecordLID ComponentMask = 1 << iota
	_
	SMInfoRecordGUID
	SMInfoRecordSMKey
	SMInfoRecordActCount
	SMInfoRecordPriority
	SMInfoRecordSMState
)

var smInfoRecordLayout = []Field{
	{Name: "LID", Bits: 16},
	{Bits: 16},
	{Name: "GUID", Bits: 64},
	{Name: "SMKey", Bits: 64},
	{Name: "ActCount", Bits: 32},
	{Name: "Priority", Bits: 4},
	{Name: "SMState", Bits: 4},
}

const smInfoRecordLen = 25

// ParseSMInfoRecord reads the 25 bytes at the start of b.
func ParseSMInfoRecord(b []byte) (SMInfoRecord, error) {
	if err := need("SMInfoRecord", b, smInfoRecordLen); err != nil {
		return SMInfoRecord{}, err
	}
	info, err := ParseSMInfo(b[4:])
	if err != nil {
		return SMInfoRecord{}, err
	}
	return SMInfoRecord{LID: ib.LID(be.Uint16(b)), Info: info}, nil
}

// AttrID is AttrSMInfoRecord.
func (SMInfoRecord) AttrID() AttrID { return AttrSMInfoRecord }

// Len is 25.
func (SMInfoRecord) Len() int { return smInfoRecordLen }

// AppendTo appends the 25 bytes.
func (r SMInfoRecord) AppendTo(b []byte) []byte {
	b = be.AppendUint16(b, uint16(r.LID))
	b = append(b, 0, 0)
	return r.Info.AppendTo(b)
}
