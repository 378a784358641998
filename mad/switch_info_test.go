package mad

import "fmt"

func (i SwitchInfo) diags() []string {
	return []string{
		field("LinearFdbCap", i.LinearFDBCap),
		field("RandomFdbCap", i.RandomFDBCap),
		field("McastFdbCap", i.MulticastFDBCap),
		field("LinearFdbTop", i.LinearFDBTop),
		field("DefPort", i.DefaultPort),
		field("DefMcastPrimPort", i.DefaultMulticastPrimaryPort),
		field("DefMcastNotPrimPort", i.DefaultMulticastNotPrimaryPort),
		field("LifeTime", uint8(i.LifeTimeValue)),
		field("StateChange", oneOrZero(i.PortStateChange)),
		field("OptSLtoVLMapping", i.OptimizedSLtoVLMappingProgramming),
		field("LidsPerPort", i.LIDsPerPort),
		field("PartEnforceCap", i.PartitionEnforcementCap),
		field("InboundPartEnf", oneOrZero(i.InboundEnforcementCap)),
		field("OutboundPartEnf", oneOrZero(i.OutboundEnforcementCap)),
		field("FilterRawInbound", oneOrZero(i.FilterRawInboundCap)),
		field("FilterRawOutbound", oneOrZero(i.FilterRawOutboundCap)),
		field("EnhancedPort0", oneOrZero(i.EnhancedPort0)),
		field("MulticastFDBTop", fmt.Sprintf("%#04x", i.MulticastFDBTop)),
	}
}
