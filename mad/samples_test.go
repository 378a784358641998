package mad

import "heddle/ib"

// sample is an attribute with a value of its own in every field, so that two
// fields that change places are seen.
type sample struct {
	class Class
	attr  AttrID
	value Attribute
}

func (s sample) name() string { return s.attr.Name(s.class) }

func (s sample) bytes() []byte { return s.value.AppendTo(nil) }

var (
	guidA = ib.GUID(0x0002c90300a1b2c3)
	guidB = ib.GUID(0x0002c90300d4e5f6)
	guidC = ib.GUID(0x0002c90300778899)

	sampleNodeInfo = NodeInfo{
		BaseVersion: 1, ClassVersion: 2, NodeType: NodeSwitch, NumPorts: 14,
		SystemImageGUID: guidA, NodeGUID: guidB, PortGUID: guidC,
		PartitionCap: 0x1234, DeviceID: 0xc738, Revision: 0xa1b2c3d4, LocalPortNum: 17, VendorID: 0x0002c9,
	}
	sampleSwitchInfo = SwitchInfo{
		LinearFDBCap: 0xbff0, RandomFDBCap: 0x1122, MulticastFDBCap: 0x3fff, LinearFDBTop: 130,
		DefaultPort: 3, DefaultMulticastPrimaryPort: 4, DefaultMulticastNotPrimaryPort: 5,
		LifeTimeValue: 18, PortStateChange: true, OptimizedSLtoVLMappingProgramming: 2,
		LIDsPerPort: 0x0708, PartitionEnforcementCap: 32,
		InboundEnforcementCap: true, FilterRawInboundCap: true, EnhancedPort0: true, MulticastFDBTop: 0xc01f,
	}
	samplePortInfo = PortInfo{
		MKey: 0x1112131415161718, GidPrefix: 0xfe800000000000ab, LID: 0x0102, MasterSMLID: 0x0304,
		CapabilityMask: CapIsSM | CapTrap | CapExtendedSpeeds | CapCapabilityMask2 | CapClientReregistration | CapHierarchyInfo,
		DiagCode:       0xd1a6, MKeyLeasePeriod: 4089, LocalPortNum: 18,
		LinkWidthEnabled:     LinkWidthOf(ib.Width1x, ib.Width12x),
		LinkWidthSupported:   LinkWidthOf(ib.Width1x, ib.Width4x, ib.Width2x),
		LinkWidthActive:      LinkWidthOf(ib.Width4x),
		LinkSpeedSupported:   LinkSpeedSDR | LinkSpeedDDR | LinkSpeedQDR,
		PortState:            PortArmed,
		PortPhysicalState:    PhysLinkErrorRecovery,
		LinkDownDefaultState: PhysSleep,
		MKeyProtectBits:      2, LMC: 5,
		LinkSpeedActive: LinkSpeedQDR, LinkSpeedEnabled: LinkSpeedSDR | LinkSpeedQDR,
		NeighborMTU: ib.MTU2048, MasterSMSL: 9, VLCap: DataVLs8, InitType: 6,
		VLHighLimit: 101, VLArbitrationHighCap: 102, VLArbitrationLowCap: 103,
		InitTypeReply: 11, MTUCap: ib.MTU4096, VLStallCount: 5, HOQLife: 19, OperationalVLs: DataVLs4,
		PartitionEnforcementOutbound: true, FilterRawInbound: true,
		MKeyViolations: 1001, PKeyViolations: 1002, QKeyViolations: 1003, GUIDCap: 32,
		ClientReregister: true, MulticastPKeyTrapSuppressionEnabled: 2, SubnetTimeOut: 18, RespTimeValue: 20,
		LocalPhyErrors: 8, OverrunErrors: 7, MaxCreditHint: 1004,
		LinkSpeedExtSupported2: LinkSpeedExt2XDR, LinkSpeedExtEnabled2: 5, LinkRoundTripLatency: 0x123456,
		CapabilityMask2:       Cap2SetNodeDescription | Cap2PortInfoExtended | Cap2LinkWidth2x | Cap2LinkSpeedNDR,
		LinkSpeedExtActive:    LinkSpeedExtHDR,
		LinkSpeedExtSupported: LinkSpeedExtFDR | LinkSpeedExtEDR | LinkSpeedExtHDR,
		LinkSpeedExtEnabled:   LinkSpeedExtEDR | LinkSpeedExtHDR,
	}
	samplePortInfoExtended = PortInfoExtended{
		CapMask: 0x80000001, FECModeActive: FECReedSolomon, FDRFECModeSupported: 0x0102, FDRFECModeEnabled: 0x0304,
		EDRFECModeSupported: 0x0506, EDRFECModeEnabled: 0x0708, HDRFECModeSupported: 0x090a, HDRFECModeEnabled: 0x0b0c,
		NDRFECModeSupported: 0x0d0e, NDRFECModeEnabled: 0x0f10,
	}
	sampleClassPortInfo = ClassPortInfo{
		BaseVersion: 1, ClassVersion: 2, CapabilityMask: PerfCapExtendedWidth | PerfCapXmitWait | PerfCapQP1Dropped,
		CapabilityMask2: 0x5a5a5a0 | PerfCap2AdditionalPortCountersExtended, RespTimeValue: 19,
		RedirectGID: ib.MustParseGID("fe80::1122:3344:5566:7788"), RedirectTC: 0x21, RedirectSL: 3, RedirectFL: 0xabcde,
		RedirectLID: 0x0506, RedirectPKey: 0x8aaa, RedirectQP: 0x010203, RedirectQKey: 0x80010001,
		TrapGID: ib.MustParseGID("fe80::99aa:bbcc:ddee:ff00"), TrapTC: 0x42, TrapSL: 12, TrapFL: 0x12345,
		TrapLID: 0x0708, TrapPKey: 0x8bbb, TrapHL: 0x40, TrapQP: 0x040506, TrapQKey: 0x80010002,
	}
	samplePortCounters = PortCounters{
		PortSelect: 1, CounterSelect: SelectVL15Dropped | SelectSymbolErrorCounter, SymbolErrorCounter: 2001,
		LinkErrorRecoveryCounter: 102, LinkDownedCounter: 103, PortRcvErrors: 2004, PortRcvRemotePhysicalErrors: 2005,
		PortRcvSwitchRelayErrors: 2006, PortXmitDiscards: 2007, PortXmitConstraintErrors: 108, PortRcvConstraintErrors: 109,
		CounterSelect2: Select2PortXmitWait, LocalLinkIntegrityErrors: 10, ExcessiveBufferOverrunErrors: 11,
		QP1Dropped: 2012, VL15Dropped: 2013, PortXmitData: 3000000014, PortRcvData: 3000000015,
		PortXmitPkts: 3000000016, PortRcvPkts: 3000000017, PortXmitWait: 3000000018,
	}
	samplePortCountersExtended = samplePortCountersExtendedOf(1<<40 + 7)
)

// samplePortCountersExtendedOf counts up from the first counter.
func samplePortCountersExtendedOf(first uint64) PortCountersExtended {
	c := PortCountersExtended{PortSelect: 1, CounterSelect: SelectExtPortRcvPkts, CounterSelect2: Select2ExtQP1Dropped}
	for i, counter := range c.Counters() {
		*counter = first + uint64(i)
	}
	return c
}

// samples are one of each attribute that a test can make a value of its own in
// every field of.
func samples() []sample {
	var (
		guids   GUIDInfo
		pkeys   PKeyTable
		vls     SLtoVLMapping
		weights VLArbitration
		linear  LinearForwarding
		masks   MulticastForwarding
	)
	for i := range guids {
		guids[i] = guidA + ib.GUID(i)
	}
	for i := range pkeys {
		pkeys[i] = ib.PKey(0x8000 + 257*i)
		weights[i] = VLWeight{VL: ib.VL(i % 15), Weight: uint8(200 + i)}
		masks[i] = uint16(1<<15 + 513*i)
	}
	for i := range vls {
		vls[i] = ib.VL(15 - i)
	}
	for i := range linear {
		linear[i] = uint8(1 + i*3%36)
	}
	return []sample{
		{ClassLID, AttrNodeDescription, NewNodeDescription("sw1 # 36 ports")},
		{ClassLID, AttrNodeInfo, sampleNodeInfo},
		{ClassLID, AttrSwitchInfo, sampleSwitchInfo},
		{ClassLID, AttrGUIDInfo, guids},
		{ClassLID, AttrPortInfo, samplePortInfo},
		{ClassLID, AttrPKeyTable, pkeys},
		{ClassLID, AttrSLtoVLMapping, vls},
		{ClassLID, AttrVLArbitration, weights},
		{ClassLID, AttrLinearForwarding, linear},
		{ClassLID, AttrMulticastForwarding, masks},
		{ClassLID, AttrSMInfo, SMInfo{GUID: guidB, SMKey: 0x2122232425262728, ActCount: 0x923a03, Priority: 14, SMState: SMMaster}},
		{ClassLID, AttrPortInfoExtended, samplePortInfoExtended},
		{ClassLID, AttrMlnxExtPortInfo, MlnxExtPortInfo{
			StateChangeEnable: 1, LinkSpeedSupported: 3, LinkSpeedEnabled: 5, LinkSpeedActive: MlnxLinkSpeedFDR10,
		}},
		{ClassPerf, AttrClassPortInfo, sampleClassPortInfo},
		{ClassPerf, AttrPortCounters, samplePortCounters},
		{ClassPerf, AttrPortCountersExtended, samplePortCountersExtended},
	}
}
