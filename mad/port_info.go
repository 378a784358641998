package mad

import (
	"fmt"

	"heddle/ib"
)

// DataVLs is how many virtual lanes for data a port has or uses (IBTA 1,
// 14.2.5.6: VLCap, OperationalVLs). Codes compare as their numbers of lanes
// do. Zero in a Set means no change.
type DataVLs uint8

// The numbers of lanes.
const (
	DataVLs1 DataVLs = 1 + iota
	DataVLs2
	DataVLs4
	DataVLs8
	DataVLs15
)

// Lanes is the number of lanes, 0 where the code has no meaning.
func (v DataVLs) Lanes() int {
	switch {
	case v == 0 || v > DataVLs15:
		return 0
	case v == DataVLs15:
		return 15
	default:
		return 1 << (v - 1)
	}
}

// String names the lanes: VL0-7.
func (v DataVLs) String() string {
	switch n := v.Lanes(); n {
	case 0:
		return fmt.Sprintf("DataVLs(%d)", uint8(v))
	case 1:
		return "VL0"
	default:
		return fmt.Sprintf("VL0-%d", n-1)
	}
}

// PortInfo is the state of a port and what it can (IBTA 1, 14.2.5.6). The
// attribute modifier is the number of the port, 0 for the port of an adapter
// that is asked; PortInfoExtendedSpeeds is added where the asker knows
// LinkSpeedExt. Ports of a switch other than 0 have no LID, no management key,
// no timers and no GUIDs: those fields mean nothing there.
type PortInfo struct {
	MKey                                MKey
	GidPrefix                           uint64
	LID                                 ib.LID
	MasterSMLID                         ib.LID
	CapabilityMask                      CapabilityMask
	DiagCode                            uint16
	MKeyLeasePeriod                     uint16 // seconds, 0 for ever
	LocalPortNum                        uint8
	LinkWidthEnabled                    LinkWidth
	LinkWidthSupported                  LinkWidth
	LinkWidthActive                     LinkWidth
	LinkSpeedSupported                  LinkSpeed
	PortState                           PortState
	PortPhysicalState                   PhysState
	LinkDownDefaultState                PhysState
	MKeyProtectBits                     uint8 // 2 bits
	LMC                                 uint8 // 3 bits
	LinkSpeedActive                     LinkSpeed
	LinkSpeedEnabled                    LinkSpeed
	NeighborMTU                         ib.MTU
	MasterSMSL                          ib.SL
	VLCap                               DataVLs
	InitType                            uint8 // 4 bits
	VLHighLimit                         uint8
	VLArbitrationHighCap                uint8 // entries
	VLArbitrationLowCap                 uint8 // entries
	InitTypeReply                       uint8 // 4 bits
	MTUCap                              ib.MTU
	VLStallCount                        uint8 // 3 bits
	HOQLife                             uint8 // 5 bits: a TimeValue, without end from 20 on
	OperationalVLs                      DataVLs
	PartitionEnforcementInbound         bool
	PartitionEnforcementOutbound        bool
	FilterRawInbound                    bool
	FilterRawOutbound                   bool
	MKeyViolations                      uint16
	PKeyViolations                      uint16
	QKeyViolations                      uint16
	GUIDCap                             uint8 // entries of the GUID table
	ClientReregister                    bool
	MulticastPKeyTrapSuppressionEnabled uint8     // 2 bits
	SubnetTimeOut                       TimeValue // 5 bits
	RespTimeValue                       TimeValue // 5 bits
	LocalPhyErrors                      uint8     // 4 bits: threshold
	OverrunErrors                       uint8     // 4 bits: threshold
	MaxCreditHint                       uint16
	LinkSpeedExtActive2                 LinkSpeedExt2 // 2 bits
	LinkSpeedExtSupported2              LinkSpeedExt2 // 2 bits
	LinkSpeedExtEnabled2                LinkSpeedExt2 // 3 bits
	LinkRoundTripLatency                uint32        // 24 bits, units of 4 ns
	CapabilityMask2                     CapabilityMask2
	LinkSpeedExtActive                  LinkSpeedExt
	LinkSpeedExtSupported               LinkSpeedExt
	LinkSpeedExtEnabled                 LinkSpeedExt // 5 bits
}

// PortInfoExtendedSpeeds is the bit of the attribute modifier by which a subnet
// manager says that it knows LinkSpeedExt.
const PortInfoExtendedSpeeds uint32 = 1 << 31

const portInfoLen = 64

// LinkRate is what the link runs at. FDR10 shows as QDR: see MlnxExtPortInfo.
func (i PortInfo) LinkRate() ib.LinkRate {
	speed := i.LinkSpeedExtActive2.Fastest()
	if speed == 0 {
		speed = i.LinkSpeedExtActive.Fastest()
	}
	if speed == 0 {
		speed = i.LinkSpeedActive.Fastest()
	}
	return ib.LinkRate{Width: i.LinkWidthActive.Widest(), Speed: speed}
}

// ParsePortInfo reads the 64 bytes at the start of b.
func ParsePortInfo(b []byte) (PortInfo, error) {
	if err := need("PortInfo", b, portInfoLen); err != nil {
		return PortInfo{}, err
	}
	return PortInfo{
		MKey: MKey(be.Uint64(b[0:])), GidPrefix: be.Uint64(b[8:]),
		LID: ib.LID(be.Uint16(b[16:])), MasterSMLID: ib.LID(be.Uint16(b[18:])),
		CapabilityMask: CapabilityMask(be.Uint32(b[20:])),
		DiagCode:       be.Uint16(b[24:]), MKeyLeasePeriod: be.Uint16(b[26:]), LocalPortNum: b[28],
		LinkWidthEnabled: LinkWidth(b[29]), LinkWidthSupported: LinkWidth(b[30]), LinkWidthActive: LinkWidth(b[31]),
		LinkSpeedSupported: LinkSpeed(b[32] >> 4), PortState: PortState(b[32] & 0x0F),
		PortPhysicalState: PhysState(b[33] >> 4), LinkDownDefaultState: PhysState(b[33] & 0x0F),
		MKeyProtectBits: b[34] >> 6, LMC: b[34] & 7,
		LinkSpeedActive: LinkSpeed(b[35] >> 4), LinkSpeedEnabled: LinkSpeed(b[35] & 0x0F),
		NeighborMTU: ib.MTU(b[36] >> 4), MasterSMSL: ib.SL(b[36] & 0x0F),
		VLCap: DataVLs(b[37] >> 4), InitType: b[37] & 0x0F,
		VLHighLimit: b[38], VLArbitrationHighCap: b[39], VLArbitrationLowCap: b[40],
		InitTypeReply: b[41] >> 4, MTUCap: ib.MTU(b[41] & 0x0F),
		VLStallCount: b[42] >> 5, HOQLife: b[42] & 0x1F, OperationalVLs: DataVLs(b[43] >> 4),
		PartitionEnforcementInbound: b[43]&8 != 0, PartitionEnforcementOutbound: b[43]&4 != 0,
		FilterRawInbound: b[43]&2 != 0, FilterRawOutbound: b[43]&1 != 0,
		MKeyViolations: be.Uint16(b[44:]), PKeyViolations: be.Uint16(b[46:]), QKeyViolations: be.Uint16(b[48:]),
		GUIDCap: b[50], ClientReregister: b[51]&0x80 != 0, MulticastPKeyTrapSuppressionEnabled: b[51] >> 5 & 3,
		SubnetTimeOut: TimeValue(b[51] & 0x1F), RespTimeValue: TimeValue(b[52] & 0x1F),
		LocalPhyErrors: b[53] >> 4, OverrunErrors: b[53] & 0x0F, MaxCreditHint: be.Uint16(b[54:]),
		LinkSpeedExtActive2: LinkSpeedExt2(b[56] >> 5 & 3), LinkSpeedExtSupported2: LinkSpeedExt2(b[56] >> 3 & 3),
		LinkSpeedExtEnabled2: LinkSpeedExt2(b[56] & 7), LinkRoundTripLatency: uint24(b[57:]),
		CapabilityMask2:    CapabilityMask2(be.Uint16(b[60:])),
		LinkSpeedExtActive: LinkSpeedExt(b[62] >> 4), LinkSpeedExtSupported: LinkSpeedExt(b[62] & 0x0F),
		LinkSpeedExtEnabled: LinkSpeedExt(b[63] & 0x1F),
	}, nil
}

// Len is 64.
func (i PortInfo) Len() int { return portInfoLen }

// AppendTo appends the 64 bytes.
func (i PortInfo) AppendTo(b []byte) []byte {
	b, p := grow(b, portInfoLen)
	i.putAddress(p)
	i.putLink(p)
	i.putLanes(p)
	i.putManagement(p)
	i.putExtended(p)
	return b
}

// putAddress writes bytes 0 to 27.
func (i *PortInfo) putAddress(p []byte) {
	be.PutUint64(p[0:], uint64(i.MKey))
	be.PutUint64(p[8:], i.GidPrefix)
	be.PutUint16(p[16:], uint16(i.LID))
	be.PutUint16(p[18:], uint16(i.MasterSMLID))
	be.PutUint32(p[20:], uint32(i.CapabilityMask))
	be.PutUint16(p[24:], i.DiagCode)
	be.PutUint16(p[26:], i.MKeyLeasePeriod)
}

// putLink writes bytes 28 to 35.
func (i *PortInfo) putLink(p []byte) {
	p[28] = i.LocalPortNum
	p[29], p[30], p[31] = byte(i.LinkWidthEnabled), byte(i.LinkWidthSupported), byte(i.LinkWidthActive)
	p[32] = nibbles(i.LinkSpeedSupported, i.PortState)
	p[33] = nibbles(i.PortPhysicalState, i.LinkDownDefaultState)
	p[34] = i.MKeyProtectBits<<6 | i.LMC&7
	p[35] = nibbles(i.LinkSpeedActive, i.LinkSpeedEnabled)
}

// putLanes writes bytes 36 to 43.
func (i *PortInfo) putLanes(p []byte) {
	p[36] = nibbles(i.NeighborMTU, i.MasterSMSL)
	p[37] = nibbles(i.VLCap, i.InitType)
	p[38], p[39], p[40] = i.VLHighLimit, i.VLArbitrationHighCap, i.VLArbitrationLowCap
	p[41] = nibbles(i.InitTypeReply, i.MTUCap)
	p[42] = i.VLStallCount<<5 | i.HOQLife&0x1F
	p[43] = nibbles(i.OperationalVLs, flag(i.PartitionEnforcementInbound, 8)|flag(i.PartitionEnforcementOutbound, 4)|
		flag(i.FilterRawInbound, 2)|flag(i.FilterRawOutbound, 1))
}

// putManagement writes bytes 44 to 55.
func (i *PortInfo) putManagement(p []byte) {
	be.PutUint16(p[44:], i.MKeyViolations)
	be.PutUint16(p[46:], i.PKeyViolations)
	be.PutUint16(p[48:], i.QKeyViolations)
	p[50] = i.GUIDCap
	p[51] = flag(i.ClientReregister, 0x80) | i.MulticastPKeyTrapSuppressionEnabled&3<<5 | byte(i.SubnetTimeOut)&0x1F
	p[52] = byte(i.RespTimeValue) & 0x1F
	p[53] = nibbles(i.LocalPhyErrors, i.OverrunErrors)
	be.PutUint16(p[54:], i.MaxCreditHint)
}

// putExtended writes bytes 56 to 63.
func (i *PortInfo) putExtended(p []byte) {
	p[56] = byte(i.LinkSpeedExtActive2)&3<<5 | byte(i.LinkSpeedExtSupported2)&3<<3 | byte(i.LinkSpeedExtEnabled2)&7
	putUint24(p[57:], i.LinkRoundTripLatency)
	be.PutUint16(p[60:], uint16(i.CapabilityMask2))
	p[62] = nibbles(i.LinkSpeedExtActive, i.LinkSpeedExtSupported)
	p[63] = byte(i.LinkSpeedExtEnabled) & 0x1F
}
