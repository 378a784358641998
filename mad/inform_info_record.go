package mad

import "heddle/ib"

// InformInfoRecord is a subscription (IBTA 1, 15.2.5.12).
type InformInfoRecord struct {
	SubscriberGID ib.GID
	Enum          uint16 // tells the subscriptions of one subscriber apart
	Info          InformInfo
}

// The components of an InformInfoRecord.
const (
	InformInfoRecordSubscriberGID ComponentMask = 1 << iota
	InformInfoRecordEnum
	_
	InformInfoRecordGID
	InformInfoRecordLIDRangeBegin
	InformInfoRecordLIDRangeEnd
	_
	InformInfoRecordIsGeneric
	InformInfoRecordSubscribe
	InformInfoRecordType
	InformInfoRecordTrap
	InformInfoRecordQPN
	_
	InformInfoRecordRespTime
	_
	InformInfoRecordProducer
)

var informInfoRecordLayout = []Field{
	{Name: "SubscriberGID", Bits: 128},
	{Name: "Enum", Bits: 16},
	{Bits: 48},
	{Name: "GID", Bits: 128},
	{Name: "LIDRangeBegin", Bits: 16},
	{Name: "LIDRangeEnd", Bits: 16},
	{Bits: 16},
	{Name: "IsGeneric", Bits: 8},
	{Name: "Subscribe", Bits: 8},
	{Name: "Type", Bits: 16},
	{Name: "Trap", Bits: 16},
	{Name: "QPN", Bits: 24},
	{Bits: 3},
	{Name: "RespTime", Bits: 5},
	{Bits: 8},
	{Name: "Producer", Bits: 24},
}

const informInfoRecordLen = 60

// ParseInformInfoRecord reads the 60 bytes at the start of b.
func ParseInformInfoRecord(b []byte) (InformInfoRecord, error) {
	if err := need("InformInfoRecord", b, informInfoRecordLen); err != nil {
		return InformInfoRecord{}, err
	}
	info, err := ParseInformInfo(b[24:])
	if err != nil {
		return InformInfoRecord{}, err
	}
	return InformInfoRecord{SubscriberGID: ib.GID(b[0:16]), Enum: be.Uint16(b[16:]), Info: info}, nil
}

// AttrID is AttrInformInfoRecord.
func (InformInfoRecord) AttrID() AttrID { return AttrInformInfoRecord }

// Len is 60.
func (InformInfoRecord) Len() int { return informInfoRecordLen }

// AppendTo appends the 60 bytes.
func (r InformInfoRecord) AppendTo(b []byte) []byte {
	b = append(b, r.SubscriberGID[:]...)
	b = be.AppendUint16(b, r.Enum)
	b = append(b, 0, 0, 0, 0, 0, 0)
	return r.Info.AppendTo(b)
}
