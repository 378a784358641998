package mad

import "heddle/ib"

// PathRecord is a path from a port to another, or to a group
// (IBTA 1, 15.2.5.16).
type PathRecord struct {
	ServiceID        uint64
	DGID             ib.GID
	SGID             ib.GID
	DLID             ib.LID
	SLID             ib.LID
	RawTraffic       bool
	FlowLabel        uint32 // 20 bits
	HopLimit         uint8
	TClass           uint8
	Reversible       bool
	NumbPath         uint8 // 7 bits: the most paths to be told
	PKey             ib.PKey
	QoSClass         uint16 // 12 bits
	SL               ib.SL  // 4 bits
	MTUSelector      Selector
	MTU              ib.MTU // 6 bits
	RateSelector     Selector
	Rate             ib.Rate // 6 bits
	LifetimeSelector Selector
	Lifetime         TimeValue // of a packet, 6 bits
	Preference       uint8     // the lower the better
}

// The components of a PathRecord. ServiceID has two, for its first 8 and its
// last 56 bits.
const (
	PathRecordServiceID8 ComponentMask = 1 << iota
	PathRecordServiceID56
	PathRecordDGID
	PathRecordSGID
	PathRecordDLID
	PathRecordSLID
	PathRecordRawTraffic
	_
	PathRecordFlowLabel
	PathRecordHopLimit
	PathRecordTClass
	PathRecordReversible
	PathRecordNumbPath
	PathRecordPKey
	PathRecordQoSClass
	PathRecordSL
	PathRecordMTUSelector
	PathRecordMTU
	PathRecordRateSelector
	PathRecordRate
	PathRecordLifetimeSelector
	PathRecordLifetime
	PathRecordPreference

	PathRecordServiceID = PathRecordServiceID8 | PathRecordServiceID56
)

var pathRecordLayout = []Field{
	{Name: "ServiceID8", Bits: 8},
	{Name: "ServiceID56", Bits: 56},
	{Name: "DGID", Bits: 128},
	{Name: "SGID", Bits: 128},
	{Name: "DLID", Bits: 16},
	{Name: "SLID", Bits: 16},
	{Name: "RawTraffic", Bits: 1},
	{Bits: 3},
	{Name: "FlowLabel", Bits: 20},
	{Name: "HopLimit", Bits: 8},
	{Name: "TClass", Bits: 8},
	{Name: "Reversible", Bits: 1},
	{Name: "NumbPath", Bits: 7},
	{Name: "PKey", Bits: 16},
	{Name: "QoSClass", Bits: 12},
	{Name: "SL", Bits: 4},
	{Name: "MTUSelector", Bits: 2, order: selector},
	{Name: "MTU", Bits: 6, order: byCode},
	{Name: "RateSelector", Bits: 2, order: selector},
	{Name: "Rate", Bits: 6, order: byRate},
	{Name: "LifetimeSelector", Bits: 2, order: selector},
	{Name: "Lifetime", Bits: 6, order: byCode},
	{Name: "Preference", Bits: 8},
}

const (
	pathRecordLen = 64
	numbPathMask  = 0x7F
)

// ParsePathRecord reads the 64 bytes at the start of b.
func ParsePathRecord(b []byte) (PathRecord, error) {
	if err := need("PathRecord", b, pathRecordLen); err != nil {
		return PathRecord{}, err
	}
	route, class := be.Uint32(b[44:]), be.Uint16(b[52:])
	return PathRecord{
		ServiceID: be.Uint64(b[0:]),
		DGID:      ib.GID(b[8:24]), SGID: ib.GID(b[24:40]),
		DLID: ib.LID(be.Uint16(b[40:])), SLID: ib.LID(be.Uint16(b[42:])),
		RawTraffic: route>>31 != 0, FlowLabel: route >> 8 & flowLabelMask, HopLimit: uint8(route),
		TClass: b[48], Reversible: b[49]>>7 != 0, NumbPath: b[49] & numbPathMask,
		PKey: ib.PKey(be.Uint16(b[50:])), QoSClass: class >> 4, SL: ib.SL(class & 0x0F),
		MTUSelector: Selector(b[54] >> 6), MTU: ib.MTU(b[54] & 0x3F),
		RateSelector: Selector(b[55] >> 6), Rate: ib.Rate(b[55] & 0x3F),
		LifetimeSelector: Selector(b[56] >> 6), Lifetime: TimeValue(b[56] & 0x3F),
		Preference: b[57],
	}, nil
}

// AttrID is AttrPathRecord.
func (PathRecord) AttrID() AttrID { return AttrPathRecord }

// Len is 64.
func (PathRecord) Len() int { return pathRecordLen }

// AppendTo appends the 64 bytes.
func (r PathRecord) AppendTo(b []byte) []byte {
	b, p := grow(b, pathRecordLen)
	be.PutUint64(p[0:], r.ServiceID)
	copy(p[8:], r.DGID[:])
	copy(p[24:], r.SGID[:])
	be.PutUint16(p[40:], uint16(r.DLID))
	be.PutUint16(p[42:], uint16(r.SLID))
	be.PutUint32(p[44:], r.FlowLabel&flowLabelMask<<8|uint32(r.HopLimit))
	p[44] |= flag(r.RawTraffic, 0x80)
	p[48] = r.TClass
	p[49] = flag(r.Reversible, 0x80) | r.NumbPath&numbPathMask
	be.PutUint16(p[50:], uint16(r.PKey))
	be.PutUint16(p[52:], r.QoSClass<<4|uint16(r.SL)&0x0F)
	p[54] = selected(r.MTUSelector, r.MTU)
	p[55] = selected(r.RateSelector, r.Rate)
	p[56] = selected(r.LifetimeSelector, r.Lifetime)
	p[57] = r.Preference
	return b
}
