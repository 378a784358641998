package mad

import (
	"fmt"
	"testing"
)

// diags has all but the last three counters, which libumad2sim.so cuts off:
// unreliable.
func (c PortCountersExtended) diags() []string {
	return []string{
		field("PortSelect", c.PortSelect),
		field("CounterSelect", fmt.Sprintf("%#04x", uint16(c.CounterSelect))),
		field("PortXmitData", c.PortXmitData),
		field("PortRcvData", c.PortRcvData),
		field("PortXmitPkts", c.PortXmitPkts),
		field("PortRcvPkts", c.PortRcvPkts),
		field("PortUnicastXmitPkts", c.PortUnicastXmitPkts),
		field("PortUnicastRcvPkts", c.PortUnicastRcvPkts),
		field("PortMulticastXmitPkts", c.PortMulticastXmitPkts),
		field("PortMulticastRcvPkts", c.PortMulticastRcvPkts),
		field("CounterSelect2", fmt.Sprintf("%#08x", uint32(c.CounterSelect2))),
		field("SymbolErrorCounter", c.SymbolErrorCounter),
		field("LinkErrorRecoveryCounter", c.LinkErrorRecoveryCounter),
		field("LinkDownedCounter", c.LinkDownedCounter),
		field("PortRcvErrors", c.PortRcvErrors),
		field("PortRcvRemotePhysicalErrors", c.PortRcvRemotePhysicalErrors),
		field("PortRcvSwitchRelayErrors", c.PortRcvSwitchRelayErrors),
		field("PortXmitDiscards", c.PortXmitDiscards),
		field("PortXmitConstraintErrors", c.PortXmitConstraintErrors),
		field("PortRcvConstraintErrors", c.PortRcvConstraintErrors),
		field("LocalLinkIntegrityErrors", c.LocalLinkIntegrityErrors),
		field("ExcessiveBufferOverrunErrors", c.ExcessiveBufferOverrunErrors),
	}
}

func TestExtendedSelectString(t *testing.T) {
	checkStrings(t, []ExtendedSelect{SelectExtPortXmitData | SelectExtPortMulticastRcvPkts, 0x100},
		"PortXmitData|PortMulticastRcvPkts", "0x100")
	checkStrings(t, []ExtendedSelect2{Select2ExtSymbolErrorCounter | Select2ExtQP1Dropped, 0x80000000},
		"SymbolErrorCounter|QP1Dropped", "0x80000000")
}

// TestSelectConstants: the names of the bits are those of the constants.
func TestSelectConstants(t *testing.T) {
	if got := Select2ExtAll &^ (Select2ExtQP1Dropped<<1 - 1); got != 0 {
		t.Errorf("Select2ExtAll has %v too much", got)
	}
	if got := SelectExtAll &^ (SelectExtPortMulticastRcvPkts<<1 - 1); got != 0 {
		t.Errorf("SelectExtAll has %v too much", got)
	}
}
