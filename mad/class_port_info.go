package mad

import "heddle/ib"

// ClassPortInfo is what the agent of a class can, and where to find it (IBTA 1,
// 13.4.8.1). The capability masks have bits of the class; those of PerfMgt are
// the constants PerfCap.
type ClassPortInfo struct {
	BaseVersion     uint8
	ClassVersion    uint8
	CapabilityMask  uint16
	CapabilityMask2 uint32    // 27 bits
	RespTimeValue   TimeValue // 5 bits
	// Redirect is where requests are to go instead, where RedirectLID or
	// RedirectGID is not zero.
	RedirectGID  ib.GID
	RedirectTC   uint8
	RedirectSL   ib.SL
	RedirectFL   uint32 // 20 bits
	RedirectLID  ib.LID
	RedirectPKey ib.PKey
	RedirectQP   ib.QPN
	RedirectQKey ib.QKey
	// Trap is where the agent sends its traps to.
	TrapGID  ib.GID
	TrapTC   uint8
	TrapSL   ib.SL
	TrapFL   uint32 // 20 bits
	TrapLID  ib.LID
	TrapPKey ib.PKey
	TrapHL   uint8 // hop limit
	TrapQP   ib.QPN
	TrapQKey ib.QKey
}

// The bits of ClassPortInfo's CapabilityMask that all classes have.
const (
	ClassCapTraps   uint16 = 1 << 0 // sends traps
	ClassCapNotices uint16 = 1 << 1 // has the attribute Notice
)

// The bits of PerfMgt's CapabilityMask and CapabilityMask2 (IBTA 1, 16.1.3.1).
const (
	PerfCapAllPortSelect       uint16 = 1 << 8  // PortSelect 255 means all ports
	PerfCapExtendedWidth       uint16 = 1 << 9  // PortCountersExtended
	PerfCapExtendedWidthNoIETF uint16 = 1 << 10 // the same without counters of unicast and multicast
	PerfCapSamplesOnly         uint16 = 1 << 11
	PerfCapXmitWait            uint16 = 1 << 12 // PortXmitWait
	PerfCapQP1Dropped          uint16 = 1 << 15 // QP1Dropped

	PerfCap2AdditionalPortCountersExtended uint32 = 1 << 1 // the errors of PortCountersExtended
)

const classPortInfoLen = 72

// ParseClassPortInfo reads the 72 bytes at the start of b.
func ParseClassPortInfo(b []byte) (ClassPortInfo, error) {
	if err := need("ClassPortInfo", b, classPortInfoLen); err != nil {
		return ClassPortInfo{}, err
	}
	return ClassPortInfo{
		BaseVersion: b[0], ClassVersion: b[1], CapabilityMask: be.Uint16(b[2:]),
		CapabilityMask2: be.Uint32(b[4:]) >> 5, RespTimeValue: TimeValue(b[7] & 0x1F),
		RedirectGID: ib.GID(b[8:24]), RedirectTC: b[24], RedirectSL: ib.SL(b[25] >> 4),
		RedirectFL: uint24(b[25:]) & flowLabelMask, RedirectLID: ib.LID(be.Uint16(b[28:])),
		RedirectPKey: ib.PKey(be.Uint16(b[30:])), RedirectQP: ib.QPN(uint24(b[33:])),
		RedirectQKey: ib.QKey(be.Uint32(b[36:])),
		TrapGID:      ib.GID(b[40:56]), TrapTC: b[56], TrapSL: ib.SL(b[57] >> 4),
		TrapFL: uint24(b[57:]) & flowLabelMask, TrapLID: ib.LID(be.Uint16(b[60:])),
		TrapPKey: ib.PKey(be.Uint16(b[62:])), TrapHL: b[64], TrapQP: ib.QPN(uint24(b[65:])),
		TrapQKey: ib.QKey(be.Uint32(b[68:])),
	}, nil
}

// Len is 72.
func (i ClassPortInfo) Len() int { return classPortInfoLen }

// AppendTo appends the 72 bytes.
func (i ClassPortInfo) AppendTo(b []byte) []byte {
	b, p := grow(b, classPortInfoLen)
	p[0], p[1] = i.BaseVersion, i.ClassVersion
	be.PutUint16(p[2:], i.CapabilityMask)
	be.PutUint32(p[4:], i.CapabilityMask2<<5|uint32(i.RespTimeValue)&0x1F)
	i.putRedirect(p)
	i.putTrap(p)
	return b
}

func (i *ClassPortInfo) putRedirect(p []byte) {
	copy(p[8:], i.RedirectGID[:])
	p[24] = i.RedirectTC
	putUint24(p[25:], uint32(i.RedirectSL)<<20|i.RedirectFL&flowLabelMask)
	be.PutUint16(p[28:], uint16(i.RedirectLID))
	be.PutUint16(p[30:], uint16(i.RedirectPKey))
	putUint24(p[33:], uint32(i.RedirectQP))
	be.PutUint32(p[36:], uint32(i.RedirectQKey))
}

func (i *ClassPortInfo) putTrap(p []byte) {
	copy(p[40:], i.TrapGID[:])
	p[56] = i.TrapTC
	putUint24(p[57:], uint32(i.TrapSL)<<20|i.TrapFL&flowLabelMask)
	be.PutUint16(p[60:], uint16(i.TrapLID))
	be.PutUint16(p[62:], uint16(i.TrapPKey))
	p[64] = i.TrapHL
	putUint24(p[65:], uint32(i.TrapQP))
	be.PutUint32(p[68:], uint32(i.TrapQKey))
}
