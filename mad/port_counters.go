package mad

// CounterSelect says which counters a Set of PortCounters writes (IBTA 1,
// 16.1.3.5).
type CounterSelect uint16

// The bits of CounterSelect, in the order of the counters.
const (
	SelectSymbolErrorCounter CounterSelect = 1 << iota
	SelectLinkErrorRecoveryCounter
	SelectLinkDownedCounter
	SelectPortRcvErrors
	SelectPortRcvRemotePhysicalErrors
	SelectPortRcvSwitchRelayErrors
	SelectPortXmitDiscards
	SelectPortXmitConstraintErrors
	SelectPortRcvConstraintErrors
	SelectLocalLinkIntegrityErrors
	SelectExcessiveBufferOverrunErrors
	SelectVL15Dropped
	SelectPortXmitData
	SelectPortRcvData
	SelectPortXmitPkts
	SelectPortRcvPkts

	SelectAll CounterSelect = 0xFFFF
)

// String lists the counters.
func (s CounterSelect) String() string {
	return listBits(s, []string{
		"SymbolErrorCounter", "LinkErrorRecoveryCounter", "LinkDownedCounter", "PortRcvErrors",
		"PortRcvRemotePhysicalErrors", "PortRcvSwitchRelayErrors", "PortXmitDiscards", "PortXmitConstraintErrors",
		"PortRcvConstraintErrors", "LocalLinkIntegrityErrors", "ExcessiveBufferOverrunErrors", "VL15Dropped",
		"PortXmitData", "PortRcvData", "PortXmitPkts", "PortRcvPkts",
	})
}

// CounterSelect2 is the rest of CounterSelect.
type CounterSelect2 uint8

// The bits of CounterSelect2.
const (
	Select2PortXmitWait CounterSelect2 = 1 << 0
	Select2QP1Dropped   CounterSelect2 = 1 << 1
)

// String lists the counters.
func (s CounterSelect2) String() string { return listBits(s, []string{"PortXmitWait", "QP1Dropped"}) }

// AllPorts is the PortSelect of all ports of a switch together, where its
// ClassPortInfo has PerfCapAllPortSelect.
const AllPorts uint8 = 255

// PortCounters is what a port has counted (IBTA 1, 16.1.3.5). Counters stay at
// their highest value until a Set writes them. Data counters count units of 4
// bytes.
type PortCounters struct {
	PortSelect                   uint8
	CounterSelect                CounterSelect
	SymbolErrorCounter           uint16
	LinkErrorRecoveryCounter     uint8
	LinkDownedCounter            uint8
	PortRcvErrors                uint16
	PortRcvRemotePhysicalErrors  uint16
	PortRcvSwitchRelayErrors     uint16
	PortXmitDiscards             uint16
	PortXmitConstraintErrors     uint8
	PortRcvConstraintErrors      uint8
	CounterSelect2               CounterSelect2
	LocalLinkIntegrityErrors     uint8 // 4 bits
	ExcessiveBufferOverrunErrors uint8 // 4 bits
	QP1Dropped                   uint16
	VL15Dropped                  uint16
	PortXmitData                 uint32
	PortRcvData                  uint32
	PortXmitPkts                 uint32
	PortRcvPkts                  uint32
	PortXmitWait                 uint32
}

const portCountersLen = 44

// ParsePortCounters reads the 44 bytes at the start of b.
func ParsePortCounters(b []byte) (PortCounters, error) {
	if err := need("PortCounters", b, portCountersLen); err != nil {
		return PortCounters{}, err
	}
	return PortCounters{
		PortSelect: b[1], CounterSelect: CounterSelect(be.Uint16(b[2:])),
		SymbolErrorCounter: be.Uint16(b[4:]), LinkErrorRecoveryCounter: b[6], LinkDownedCounter: b[7],
		PortRcvErrors: be.Uint16(b[8:]), PortRcvRemotePhysicalErrors: be.Uint16(b[10:]),
		PortRcvSwitchRelayErrors: be.Uint16(b[12:]), PortXmitDiscards: be.Uint16(b[14:]),
		PortXmitConstraintErrors: b[16], PortRcvConstraintErrors: b[17], CounterSelect2: CounterSelect2(b[18]),
		LocalLinkIntegrityErrors: b[19] >> 4, ExcessiveBufferOverrunErrors: b[19] & 0x0F,
		QP1Dropped: be.Uint16(b[20:]), VL15Dropped: be.Uint16(b[22:]),
		PortXmitData: be.Uint32(b[24:]), PortRcvData: be.Uint32(b[28:]),
		PortXmitPkts: be.Uint32(b[32:]), PortRcvPkts: be.Uint32(b[36:]), PortXmitWait: be.Uint32(b[40:]),
	}, nil
}

// Len is 44.
func (c PortCounters) Len() int { return portCountersLen }

// AppendTo appends the 44 bytes.
func (c PortCounters) AppendTo(b []byte) []byte {
	b = append(b, 0, c.PortSelect)
	b = be.AppendUint16(b, uint16(c.CounterSelect))
	b = be.AppendUint16(b, c.SymbolErrorCounter)
	b = append(b, c.LinkErrorRecoveryCounter, c.LinkDownedCounter)
	b = be.AppendUint16(b, c.PortRcvErrors)
	b = be.AppendUint16(b, c.PortRcvRemotePhysicalErrors)
	b = be.AppendUint16(b, c.PortRcvSwitchRelayErrors)
	b = be.AppendUint16(b, c.PortXmitDiscards)
	b = append(b, c.PortXmitConstraintErrors, c.PortRcvConstraintErrors, byte(c.CounterSelect2),
		nibbles(c.LocalLinkIntegrityErrors, c.ExcessiveBufferOverrunErrors))
	b = be.AppendUint16(b, c.QP1Dropped)
	b = be.AppendUint16(b, c.VL15Dropped)
	b = be.AppendUint32(b, c.PortXmitData)
	b = be.AppendUint32(b, c.PortRcvData)
	b = be.AppendUint32(b, c.PortXmitPkts)
	b = be.AppendUint32(b, c.PortRcvPkts)
	return be.AppendUint32(b, c.PortXmitWait)
}
