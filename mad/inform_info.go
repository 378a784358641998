package mad

import "heddle/ib"

// InformInfo subscribes to notices, or ends a subscription (IBTA 1, 13.4.8.3).
type InformInfo struct {
	// GID is that of the port whose notices are wanted; where it is zero, the
	// range of LIDs counts, and 0xFFFF as its begin means all ports.
	GID           ib.GID
	LIDRangeBegin ib.LID
	LIDRangeEnd   ib.LID
	IsGeneric     bool // 8 bits on the wire: 1 or 0
	Subscribe     bool // 8 bits on the wire: 1 or 0
	// Type, Trap and Producer are those of the notices that are wanted, with
	// all bits set for any.
	Type InformType
	Trap TrapNumber // or DeviceID
	// QPN is where the Reports go; a subscription is told by it.
	QPN ib.QPN // 24 bits
	// RespTime is how long the subscriber takes to answer, 5 bits.
	RespTime TimeValue
	Producer ProducerType // or VendorID, 24 bits
}

// InformType is a NoticeType in 16 bits.
type InformType uint16

const (
	// InformAll is for notices of every type.
	InformAll InformType = 0xFFFF
	// ProducerAll is for notices of every producer.
	ProducerAll ProducerType = 0xFFFFFF
)

// String names the type.
func (t InformType) String() string {
	if t == InformAll {
		return "all"
	}
	return NoticeType(min(t, 0xFF)).String()
}

// Matches tells whether a subscription is for the notice, by what kind of
// notice it is; which port it is of and which partition may know it, the
// subscription does not tell alone.
func (i InformInfo) Matches(n Notice) bool {
	return i.IsGeneric == n.IsGeneric &&
		(i.Type == InformAll || i.Type == InformType(n.Type)) &&
		(i.Trap == TrapAll || i.Trap == n.Trap) &&
		(i.Producer == ProducerAll || i.Producer == n.Producer)
}

const informInfoLen = 36

// ParseInformInfo reads the 36 bytes at the start of b.
func ParseInformInfo(b []byte) (InformInfo, error) {
	if err := need("InformInfo", b, informInfoLen); err != nil {
		return InformInfo{}, err
	}
	return InformInfo{
		GID:           ib.GID(b[0:16]),
		LIDRangeBegin: ib.LID(be.Uint16(b[16:])), LIDRangeEnd: ib.LID(be.Uint16(b[18:])),
		IsGeneric: b[22] != 0, Subscribe: b[23] != 0,
		Type: InformType(be.Uint16(b[24:])), Trap: TrapNumber(be.Uint16(b[26:])),
		QPN: ib.QPN(uint24(b[28:])), RespTime: TimeValue(b[31] & 0x1F),
		Producer: ProducerType(uint24(b[33:])),
	}, nil
}

// Len is 36.
func (InformInfo) Len() int { return informInfoLen }

// AppendTo appends the 36 bytes.
func (i InformInfo) AppendTo(b []byte) []byte {
	b, p := grow(b, informInfoLen)
	copy(p[0:], i.GID[:])
	be.PutUint16(p[16:], uint16(i.LIDRangeBegin))
	be.PutUint16(p[18:], uint16(i.LIDRangeEnd))
	p[22] = flag(i.IsGeneric, 1)
	p[23] = flag(i.Subscribe, 1)
	be.PutUint16(p[24:], uint16(i.Type))
	be.PutUint16(p[26:], uint16(i.Trap))
	putUint24(p[28:], uint32(i.QPN))
	p[31] = byte(i.RespTime) & 0x1F
	putUint24(p[33:], uint32(i.Producer))
	return b
}
