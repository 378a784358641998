package mad

// The bits of the CapabilityMask of subnet administration's ClassPortInfo
// (IBTA 1, 15.2.3).
const (
	SACapOptionalRecords         uint16 = 1 << 8 // records that a subnet can do without
	SACapUDMulticast             uint16 = 1 << 9 // groups
	SACapMultiPath               uint16 = 1 << 10
	SACapReinit                  uint16 = 1 << 11
	SACapPortInfoCapabilityMatch uint16 = 1 << 13 // PortInfoMatchCapabilities
)

// The bits of its CapabilityMask2.
const (
	SACap2QoS                     uint32 = 1 << 1
	SACap2ReversePathPKey         uint32 = 1 << 2
	SACap2MulticastFDBTop         uint32 = 1 << 3 // that of SwitchInfo
	SACap2Hierarchy               uint32 = 1 << 4
	SACap2AliasGUIDs              uint32 = 1 << 5 // Set and Delete of GUIDInfoRecord
	SACap2FullPortInfo            uint32 = 1 << 6 // records of all ports of a switch
	SACap2ExtendedSpeeds          uint32 = 1 << 7
	SACap2MulticastServiceRecords uint32 = 1 << 8
	SACap2PortInfoMask2Match      uint32 = 1 << 10
	SACap2SendOnlyFull            uint32 = 1 << 12 // JoinSendOnlyFull
	SACap2LinkWidth2x             uint32 = 1 << 13
	SACap2LinkSpeedHDR            uint32 = 1 << 15
	SACap2LinkSpeedNDR            uint32 = 1 << 17
)
