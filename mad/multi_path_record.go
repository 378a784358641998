package mad

import (
	"fmt"

	"heddle/ib"
)

// MultiPathRecord asks for paths from any of some ports to any of others; the
// answer is PathRecords (IBTA 1, 15.2.5.20).
type MultiPathRecord struct {
	RawTraffic       bool
	FlowLabel        uint32 // 20 bits
	HopLimit         uint8
	TClass           uint8
	Reversible       bool
	NumbPath         uint8 // 7 bits: the most paths to be told of each pair
	PKey             ib.PKey
	QoSClass         uint16 // 12 bits
	SL               ib.SL  // 4 bits
	MTUSelector      Selector
	MTU              ib.MTU // 6 bits
	RateSelector     Selector
	Rate             ib.Rate // 6 bits
	LifetimeSelector Selector
	Lifetime         TimeValue // of a packet, 6 bits
	ServiceID        uint64
	// Independence, 2 bits: 1 asks for paths that share as little as can be.
	Independence uint8
	// SGIDs and DGIDs are at most 255 each.
	SGIDs []ib.GID
	DGIDs []ib.GID
}

// The components of a MultiPathRecord.
const (
	MultiPathRecordRawTraffic ComponentMask = 1 << iota
	_
	MultiPathRecordFlowLabel
	MultiPathRecordHopLimit
	MultiPathRecordTClass
	MultiPathRecordReversible
	MultiPathRecordNumbPath
	MultiPathRecordPKey
	MultiPathRecordQoSClass
	MultiPathRecordSL
	MultiPathRecordMTUSelector
	MultiPathRecordMTU
	MultiPathRecordRateSelector
	MultiPathRecordRate
	MultiPathRecordLifetimeSelector
	MultiPathRecordLifetime
	MultiPathRecordServiceID8 // the first 8 bits
	MultiPathRecordIndependence
	_
	MultiPathRecordSGIDCount
	MultiPathRecordDGIDCount
	MultiPathRecordServiceID56 // the other bits

	MultiPathRecordServiceID = MultiPathRecordServiceID8 | MultiPathRecordServiceID56
)

const (
	multiPathRecordLen = 24 // without GIDs
	gidLen             = 16
	maxMultiPathGIDs   = 255 // of a side
)

// ParseMultiPathRecord reads the 24 bytes at the start of b and the GIDs that
// follow, as many as the bytes say.
func ParseMultiPathRecord(b []byte) (MultiPathRecord, error) {
	if err := need("MultiPathRecord", b, multiPathRecordLen); err != nil {
		return MultiPathRecord{}, err
	}
	sources, destinations := int(b[15]), int(b[16])
	if err := need("MultiPathRecord with GIDs", b, multiPathRecordLen+gidLen*(sources+destinations)); err != nil {
		return MultiPathRecord{}, err
	}
	route, class := be.Uint32(b[0:]), be.Uint16(b[8:])
	return MultiPathRecord{
		RawTraffic: route>>31 != 0, FlowLabel: route >> 8 & flowLabelMask, HopLimit: uint8(route),
		TClass: b[4], Reversible: b[5]>>7 != 0, NumbPath: b[5] & numbPathMask,
		PKey: ib.PKey(be.Uint16(b[6:])), QoSClass: class >> 4, SL: ib.SL(class & 0x0F),
		MTUSelector: Selector(b[10] >> 6), MTU: ib.MTU(b[10] & 0x3F),
		RateSelector: Selector(b[11] >> 6), Rate: ib.Rate(b[11] & 0x3F),
		LifetimeSelector: Selector(b[12] >> 6), Lifetime: TimeValue(b[12] & 0x3F),
		ServiceID:    uint64(b[13])<<56 | be.Uint64(b[16:])&serviceIDLow,
		Independence: b[14] >> 6,
		SGIDs:        parseGIDs(b[multiPathRecordLen:], sources),
		DGIDs:        parseGIDs(b[multiPathRecordLen+gidLen*sources:], destinations),
	}, nil
}

const serviceIDLow = 1<<56 - 1

func parseGIDs(b []byte, n int) []ib.GID {
	if n == 0 {
		return nil
	}
	gids := make([]ib.GID, n)
	for i := range gids {
		gids[i] = ib.GID(b[gidLen*i : gidLen*(i+1)])
	}
	return gids
}

// Check tells whether there are more GIDs than the record can hold; AppendTo
// leaves those out.
func (r MultiPathRecord) Check() error {
	if len(r.SGIDs) > maxMultiPathGIDs || len(r.DGIDs) > maxMultiPathGIDs {
		return fmt.Errorf("MultiPathRecord of %d source and %d destination GIDs, at most %d of each",
			len(r.SGIDs), len(r.DGIDs), maxMultiPathGIDs)
	}
	return nil
}

// gids are those that the record holds.
func (r MultiPathRecord) gids() (sources, destinations []ib.GID) {
	return r.SGIDs[:min(len(r.SGIDs), maxMultiPathGIDs)], r.DGIDs[:min(len(r.DGIDs), maxMultiPathGIDs)]
}

// AttrID is AttrMultiPathRecord.
func (MultiPathRecord) AttrID() AttrID { return AttrMultiPathRecord }

// Len is 24, and 16 for each GID.
func (r MultiPathRecord) Len() int {
	sources, destinations := r.gids()
	return multiPathRecordLen + gidLen*(len(sources)+len(destinations))
}

// AppendTo appends the 24 bytes and the GIDs.
func (r MultiPathRecord) AppendTo(b []byte) []byte {
	sources, destinations := r.gids()
	b, p := grow(b, multiPathRecordLen)
	be.PutUint32(p[0:], r.FlowLabel&flowLabelMask<<8|uint32(r.HopLimit))
	p[0] |= flag(r.RawTraffic, 0x80)
	p[4] = r.TClass
	p[5] = flag(r.Reversible, 0x80) | r.NumbPath&numbPathMask
	be.PutUint16(p[6:], uint16(r.PKey))
	be.PutUint16(p[8:], r.QoSClass<<4|uint16(r.SL)&0x0F)
	p[10] = selected(r.MTUSelector, r.MTU)
	p[11] = selected(r.RateSelector, r.Rate)
	p[12] = selected(r.LifetimeSelector, r.Lifetime)
	p[13], p[14], p[15] = byte(r.ServiceID>>56), r.Independence<<6, byte(len(sources))
	be.PutUint64(p[16:], r.ServiceID&serviceIDLow)
	p[16] = byte(len(destinations))
	for _, gid := range sources {
		b = append(b, gid[:]...)
	}
	for _, gid := range destinations {
		b = append(b, gid[:]...)
	}
	return b
}
