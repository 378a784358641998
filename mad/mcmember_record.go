package mad

import "heddle/ib"

// MCMemberRecord is the membership of a port in a multicast group, and the
// group's parameters (IBTA 1, 15.2.5.17). A Set joins, a Delete leaves.
type MCMemberRecord struct {
	MGID             ib.MGID
	PortGID          ib.GID
	QKey             ib.QKey
	MLID             ib.MLID
	MTUSelector      Selector
	MTU              ib.MTU // 6 bits
	TClass           uint8
	PKey             ib.PKey
	RateSelector     Selector
	Rate             ib.Rate // 6 bits
	LifetimeSelector Selector
	Lifetime         TimeValue // of a packet, 6 bits
	SL               ib.SL     // 4 bits
	FlowLabel        uint32    // 20 bits
	HopLimit         uint8
	Scope            ib.Scope // 4 bits
	JoinState        JoinState
	// ProxyJoin stands in the first bit of its byte. OpenSM and its tools have
	// it in the last on little-endian machines, so both are read and written.
	ProxyJoin bool
	// MemberCount is heddle's own: how many members, which are distinct port
	// GIDs, the group will have; 0 for a group that comes and goes as its
	// members do. It stands in the last 16 of the bits that the standard
	// reserves at the end: a peer that follows it sends 0 and ignores what it
	// gets. OpenSM does, but shows a later requester what the group's first
	// member had there.
	MemberCount uint16
}

// The components of an MCMemberRecord.
const (
	MCMemberRecordMGID ComponentMask = 1 << iota
	MCMemberRecordPortGID
	MCMemberRecordQKey
	MCMemberRecordMLID
	MCMemberRecordMTUSelector
	MCMemberRecordMTU
	MCMemberRecordTClass
	MCMemberRecordPKey
	MCMemberRecordRateSelector
	MCMemberRecordRate
	MCMemberRecordLifetimeSelector
	MCMemberRecordLifetime
	MCMemberRecordSL
	MCMemberRecordFlowLabel
	MCMemberRecordHopLimit
	MCMemberRecordScope
	MCMemberRecordJoinState
	MCMemberRecordProxyJoin

	// MCMemberRecordMemberCount is heddle's own, and the last bit, where the
	// standard will come last.
	MCMemberRecordMemberCount ComponentMask = 1 << 63
)

var mcMemberRecordLayout = []Field{
	{Name: "MGID", Bits: 128},
	{Name: "PortGID", Bits: 128},
	{Name: "QKey", Bits: 32},
	{Name: "MLID", Bits: 16},
	{Name: "MTUSelector", Bits: 2, order: selector},
	{Name: "MTU", Bits: 6, order: byCode},
	{Name: "TClass", Bits: 8},
	{Name: "PKey", Bits: 16},
	{Name: "RateSelector", Bits: 2, order: selector},
	{Name: "Rate", Bits: 6, order: byRate},
	{Name: "LifetimeSelector", Bits: 2, order: selector},
	{Name: "Lifetime", Bits: 6, order: byCode},
	{Name: "SL", Bits: 4},
	{Name: "FlowLabel", Bits: 20},
	{Name: "HopLimit", Bits: 8},
	{Name: "Scope", Bits: 4},
	{Name: "JoinState", Bits: 4},
	{Name: "ProxyJoin", Bits: 1},
}

const (
	mcMemberRecordLen = 52

	proxyJoin     = 0x80
	proxyJoinOpen = 0x01 // OpenSM's
)

// ParseMCMemberRecord reads the 52 bytes at the start of b.
func ParseMCMemberRecord(b []byte) (MCMemberRecord, error) {
	if err := need("MCMemberRecord", b, mcMemberRecordLen); err != nil {
		return MCMemberRecord{}, err
	}
	route := be.Uint32(b[44:])
	return MCMemberRecord{
		MGID: ib.MGID(b[0:16]), PortGID: ib.GID(b[16:32]),
		QKey: ib.QKey(be.Uint32(b[32:])), MLID: ib.MLID(be.Uint16(b[36:])),
		MTUSelector: Selector(b[38] >> 6), MTU: ib.MTU(b[38] & 0x3F), TClass: b[39],
		PKey:         ib.PKey(be.Uint16(b[40:])),
		RateSelector: Selector(b[42] >> 6), Rate: ib.Rate(b[42] & 0x3F),
		LifetimeSelector: Selector(b[43] >> 6), Lifetime: TimeValue(b[43] & 0x3F),
		SL: ib.SL(route >> 28), FlowLabel: route >> 8 & flowLabelMask, HopLimit: uint8(route),
		Scope: ib.Scope(b[48] >> 4), JoinState: JoinState(b[48] & 0x0F),
		ProxyJoin: b[49]&(proxyJoin|proxyJoinOpen) != 0, MemberCount: be.Uint16(b[50:]),
	}, nil
}

// AttrID is AttrMCMemberRecord.
func (MCMemberRecord) AttrID() AttrID { return AttrMCMemberRecord }

// Len is 52.
func (MCMemberRecord) Len() int { return mcMemberRecordLen }

// AppendTo appends the 52 bytes.
func (r MCMemberRecord) AppendTo(b []byte) []byte {
	b, p := grow(b, mcMemberRecordLen)
	copy(p[0:], r.MGID[:])
	copy(p[16:], r.PortGID[:])
	be.PutUint32(p[32:], uint32(r.QKey))
	be.PutUint16(p[36:], uint16(r.MLID))
	p[38] = selected(r.MTUSelector, r.MTU)
	p[39] = r.TClass
	be.PutUint16(p[40:], uint16(r.PKey))
	p[42] = selected(r.RateSelector, r.Rate)
	p[43] = selected(r.LifetimeSelector, r.Lifetime)
	be.PutUint32(p[44:], uint32(r.SL)<<28|r.FlowLabel&flowLabelMask<<8|uint32(r.HopLimit))
	p[48] = nibbles(r.Scope, r.JoinState)
	p[49] = flag(r.ProxyJoin, proxyJoin|proxyJoinOpen)
	be.PutUint16(p[50:], r.MemberCount)
	return b
}

// JoinState is how a port takes part in a group, 4 bits (IBTA 1, 15.2.5.17.1).
type JoinState uint8

// The ways of taking part, which a port can have together.
const (
	JoinFull         JoinState = 1 << iota // sends and receives
	JoinNon                                // sends and receives; the group does not live by it
	JoinSendOnly                           // sends only; the group does not live by it
	JoinSendOnlyFull                       // sends only; the group lives by it
)

// KeepsGroup tells whether the group lives as long as such a member is in it.
func (s JoinState) KeepsGroup() bool { return s&(JoinFull|JoinSendOnlyFull) != 0 }

// Receives tells whether the member gets what is sent to the group.
func (s JoinState) Receives() bool { return s&(JoinFull|JoinNon) != 0 }

// String names the ways of taking part: full|send-only.
func (s JoinState) String() string {
	return listBits(s, []string{"full", "non", "send-only", "send-only-full"})
}
