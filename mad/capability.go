package mad

// CapabilityMask is what a port can (IBTA 1, 14.2.5.6: CapabilityMask).
type CapabilityMask uint32

// The bits of CapabilityMask.
const (
	CapIsSM CapabilityMask = 1 << (1 + iota)
	CapNotice
	CapTrap
	CapOptionalIPD
	CapAutomaticMigration
	CapSLMapping
	CapMKeyNVRAM
	CapPKeyNVRAM
	CapLEDInfo
	CapSMDisabled
	CapSystemImageGUID
	CapPKeySwitchExternalPortTrap
	CapCableInfo // of one vendor; reserved in the specification
	CapExtendedSpeeds
	CapCapabilityMask2
	CapCommunicationManagement
	CapSNMPTunneling
	CapReinit
	CapDeviceManagement
	CapVendorClass
	CapDRNotice
	CapCapabilityMaskNotice
	CapBootManagement
	CapLinkRoundTripLatency
	CapClientReregistration
	CapOtherLocalChangesNotice
	CapLinkSpeedWidthPairsTable
	CapVendorSpecificMadsTable
	CapMulticastPKeyTrapSuppression
	CapMulticastFDBTop
	CapHierarchyInfo
)

// String lists the bits by the specification's names.
func (m CapabilityMask) String() string {
	return listBits(m, []string{
		"", "IsSM", "IsNoticeSupported", "IsTrapSupported",
		"IsOptionalIPDSupported", "IsAutomaticMigrationSupported", "IsSLMappingSupported", "IsM_KeyNVRAM",
		"IsP_KeyNVRAM", "IsLEDInfoSupported", "IsSMdisabled", "IsSystemImageGUIDSupported",
		"IsP_KeySwitchExternalPortTrapSupported", "IsCableInfoSupported", "IsExtendedSpeedsSupported", "IsCapabilityMask2Supported",
		"IsCommunicationManagementSupported", "IsSNMPTunnelingSupported", "IsReinitSupported", "IsDeviceManagementSupported",
		"IsVendorClassSupported", "IsDRNoticeSupported", "IsCapabilityMaskNoticeSupported", "IsBootManagementSupported",
		"IsLinkRoundTripLatencySupported", "IsClientReregistrationSupported", "IsOtherLocalChangesNoticeSupported", "IsLinkSpeedWidthPairsTableSupported",
		"IsVendorSpecificMadsTableSupported", "IsMulticastPKeyTrapSuppressionSupported", "IsMulticastFDBTopSupported", "IsHierarchyInfoSupported",
	})
}

// CapabilityMask2 is what else a port can, valid where CapCapabilityMask2 is
// set (IBTA 1, 14.2.5.6: CapabilityMask2).
type CapabilityMask2 uint16

// The bits of CapabilityMask2.
const (
	Cap2SetNodeDescription   CapabilityMask2 = 1 << 0
	Cap2PortInfoExtended     CapabilityMask2 = 1 << 1
	Cap2Virtualization       CapabilityMask2 = 1 << 2
	Cap2SwitchPortStateTable CapabilityMask2 = 1 << 3
	Cap2LinkWidth2x          CapabilityMask2 = 1 << 4
	Cap2LinkSpeedHDR         CapabilityMask2 = 1 << 5
	Cap2MKeyProtectBitsExt   CapabilityMask2 = 1 << 6
	Cap2EnhancedTrap128      CapabilityMask2 = 1 << 7
	Cap2PartitionTop         CapabilityMask2 = 1 << 8
	Cap2EnhancedQoSArbiter   CapabilityMask2 = 1 << 9
	Cap2LinkSpeedNDR         CapabilityMask2 = 1 << 10
	Cap2ExtendedSpeeds2      CapabilityMask2 = 1 << 11
	Cap2LinkSpeedXDR         CapabilityMask2 = 1 << 12
)

// String lists the bits by the specification's names.
func (m CapabilityMask2) String() string {
	return listBits(m, []string{
		"IsSetNodeDescriptionSupported", "IsPortInfoExtendedSupported", "IsVirtualizationSupported", "IsSwitchPortStateTableSupported",
		"IsLinkWidth2xSupported", "IsLinkSpeedHDRSupported", "IsMKeyProtectBitsExtSupported", "IsEnhancedTrap128Supported",
		"IsPartitionTopSupported", "IsEnhancedQoSArbiterSupported", "IsLinkSpeedNDRSupported", "IsExtendedSpeeds2Supported",
		"IsLinkSpeedXDRSupported",
	})
}
