package mad

// ExtendedSelect says which counters a Set of PortCountersExtended writes
// (IBTA 1, 16.1.4.11).
type ExtendedSelect uint16

// The bits of ExtendedSelect, in the order of the counters.
const (
	SelectExtPortXmitData ExtendedSelect = 1 << iota
	SelectExtPortRcvData
	SelectExtPortXmitPkts
	SelectExtPortRcvPkts
	SelectExtPortUnicastXmitPkts
	SelectExtPortUnicastRcvPkts
	SelectExtPortMulticastXmitPkts
	SelectExtPortMulticastRcvPkts

	SelectExtAll ExtendedSelect = 0xFF
)

// String lists the counters.
func (s ExtendedSelect) String() string {
	return listBits(s, []string{
		"PortXmitData", "PortRcvData", "PortXmitPkts", "PortRcvPkts",
		"PortUnicastXmitPkts", "PortUnicastRcvPkts", "PortMulticastXmitPkts", "PortMulticastRcvPkts",
	})
}

// ExtendedSelect2 is the rest of ExtendedSelect, where ClassPortInfo has
// PerfCap2AdditionalPortCountersExtended.
type ExtendedSelect2 uint32

// The bits of ExtendedSelect2, in the order of the counters.
const (
	Select2ExtSymbolErrorCounter ExtendedSelect2 = 1 << iota
	Select2ExtLinkErrorRecoveryCounter
	Select2ExtLinkDownedCounter
	Select2ExtPortRcvErrors
	Select2ExtPortRcvRemotePhysicalErrors
	Select2ExtPortRcvSwitchRelayErrors
	Select2ExtPortXmitDiscards
	Select2ExtPortXmitConstraintErrors
	Select2ExtPortRcvConstraintErrors
	Select2ExtLocalLinkIntegrityErrors
	Select2ExtExcessiveBufferOverrunErrors
	Select2ExtVL15Dropped
	Select2ExtPortXmitWait
	Select2ExtQP1Dropped

	Select2ExtAll ExtendedSelect2 = 0x3FFF
)

// String lists the counters.
func (s ExtendedSelect2) String() string {
	return listBits(s, []string{
		"SymbolErrorCounter", "LinkErrorRecoveryCounter", "LinkDownedCounter", "PortRcvErrors",
		"PortRcvRemotePhysicalErrors", "PortRcvSwitchRelayErrors", "PortXmitDiscards", "PortXmitConstraintErrors",
		"PortRcvConstraintErrors", "LocalLinkIntegrityErrors", "ExcessiveBufferOverrunErrors", "VL15Dropped",
		"PortXmitWait", "QP1Dropped",
	})
}

// PortCountersExtended is PortCounters of 64 bits, which go on from 0 after
// their highest value (IBTA 1, 16.1.4.11). ClassPortInfo says how much of it a
// port has: PerfCapExtendedWidth, PerfCapExtendedWidthNoIETF and
// PerfCap2AdditionalPortCountersExtended. Data counters count units of 4 bytes.
type PortCountersExtended struct {
	PortSelect                   uint8
	CounterSelect                ExtendedSelect
	CounterSelect2               ExtendedSelect2
	PortXmitData                 uint64
	PortRcvData                  uint64
	PortXmitPkts                 uint64
	PortRcvPkts                  uint64
	PortUnicastXmitPkts          uint64
	PortUnicastRcvPkts           uint64
	PortMulticastXmitPkts        uint64
	PortMulticastRcvPkts         uint64
	SymbolErrorCounter           uint64
	LinkErrorRecoveryCounter     uint64
	LinkDownedCounter            uint64
	PortRcvErrors                uint64
	PortRcvRemotePhysicalErrors  uint64
	PortRcvSwitchRelayErrors     uint64
	PortXmitDiscards             uint64
	PortXmitConstraintErrors     uint64
	PortRcvConstraintErrors      uint64
	LocalLinkIntegrityErrors     uint64
	ExcessiveBufferOverrunErrors uint64
	VL15Dropped                  uint64
	PortXmitWait                 uint64
	QP1Dropped                   uint64
}

const portCountersExtendedLen = 184

// Counters are all counters, in the order of their bits in CounterSelect and,
// from the ninth on, CounterSelect2.
func (c *PortCountersExtended) Counters() [22]*uint64 {
	return [...]*uint64{
		&c.PortXmitData, &c.PortRcvData, &c.PortXmitPkts, &c.PortRcvPkts,
		&c.PortUnicastXmitPkts, &c.PortUnicastRcvPkts, &c.PortMulticastXmitPkts, &c.PortMulticastRcvPkts,
		&c.SymbolErrorCounter, &c.LinkErrorRecoveryCounter, &c.LinkDownedCounter,
		&c.PortRcvErrors, &c.PortRcvRemotePhysicalErrors, &c.PortRcvSwitchRelayErrors,
		&c.PortXmitDiscards, &c.PortXmitConstraintErrors, &c.PortRcvConstraintErrors,
		&c.LocalLinkIntegrityErrors, &c.ExcessiveBufferOverrunErrors,
		&c.VL15Dropped, &c.PortXmitWait, &c.QP1Dropped,
	}
}

// ParsePortCountersExtended reads the 184 bytes at the start of b.
func ParsePortCountersExtended(b []byte) (PortCountersExtended, error) {
	if err := need("PortCountersExtended", b, portCountersExtendedLen); err != nil {
		return PortCountersExtended{}, err
	}
	c := PortCountersExtended{
		PortSelect:     b[1],
		CounterSelect:  ExtendedSelect(be.Uint16(b[2:])),
		CounterSelect2: ExtendedSelect2(be.Uint32(b[4:])),
	}
	for i, counter := range c.Counters() {
		*counter = be.Uint64(b[8+8*i:])
	}
	return c, nil
}

// Len is 184.
func (c PortCountersExtended) Len() int { return portCountersExtendedLen }

// AppendTo appends the 184 bytes.
func (c PortCountersExtended) AppendTo(b []byte) []byte {
	b = append(b, 0, c.PortSelect)
	b = be.AppendUint16(b, uint16(c.CounterSelect))
	b = be.AppendUint32(b, uint32(c.CounterSelect2))
	for _, counter := range c.Counters() {
		b = be.AppendUint64(b, *counter)
	}
	return b
}
