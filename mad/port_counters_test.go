package mad

import (
	"fmt"
	"testing"
)

// diags shows VL15Dropped as QP1Dropped too: libibmad 44 takes both from there,
// for the reason given at PortInfoExtended's. That QP1Dropped stands before it
// is what OpenSM's ib_types.h says.
func (c PortCounters) diags() []string {
	return []string{
		field("PortSelect", c.PortSelect),
		field("CounterSelect", fmt.Sprintf("%#04x", uint16(c.CounterSelect))),
		field("SymbolErrorCounter", c.SymbolErrorCounter),
		field("LinkErrorRecoveryCounter", c.LinkErrorRecoveryCounter),
		field("LinkDownedCounter", c.LinkDownedCounter),
		field("PortRcvErrors", c.PortRcvErrors),
		field("PortRcvRemotePhysicalErrors", c.PortRcvRemotePhysicalErrors),
		field("PortRcvSwitchRelayErrors", c.PortRcvSwitchRelayErrors),
		field("PortXmitDiscards", c.PortXmitDiscards),
		field("PortXmitConstraintErrors", c.PortXmitConstraintErrors),
		field("PortRcvConstraintErrors", c.PortRcvConstraintErrors),
		field("CounterSelect2", fmt.Sprintf("%#02x", uint8(c.CounterSelect2))),
		field("LocalLinkIntegrityErrors", c.LocalLinkIntegrityErrors),
		field("ExcessiveBufferOverrunErrors", c.ExcessiveBufferOverrunErrors),
		field("QP1Dropped", c.VL15Dropped),
		field("VL15Dropped", c.VL15Dropped),
		field("PortXmitData", c.PortXmitData),
		field("PortRcvData", c.PortRcvData),
		field("PortXmitPkts", c.PortXmitPkts),
		field("PortRcvPkts", c.PortRcvPkts),
		field("PortXmitWait", c.PortXmitWait),
	}
}

func TestCounterSelectString(t *testing.T) {
	checkStrings(t, []CounterSelect{0, SelectSymbolErrorCounter, SelectPortXmitDiscards | SelectPortRcvPkts},
		"none", "SymbolErrorCounter", "PortXmitDiscards|PortRcvPkts")
	checkStrings(t, []CounterSelect2{Select2PortXmitWait | 0x80, Select2QP1Dropped}, "PortXmitWait|0x80", "QP1Dropped")
}
