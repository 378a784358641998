package mad

import "heddle/ib"

// PortInfoRecord is the PortInfo of a port (IBTA 1, 15.2.5.3).
type PortInfoRecord struct {
	LID     ib.LID // of the node: that of port 0 for the ports of a switch
	PortNum uint8
	// Options says in its top bit whether a request is for what PortInfo holds
	// under the attribute modifier's bit for extended speeds.
	Options uint8
	Info    PortInfo
}

// PortInfoMatchCapabilities is the bit of the attribute modifier that makes a
// request's CapabilityMask match the ports that have all of its bits, where
// SACapPortInfoCapabilityMatch says that this is served: see Filter.Contain.
const PortInfoMatchCapabilities uint32 = 1 << 31

// The components of a PortInfoRecord.
const (
	PortInfoRecordLID ComponentMask = 1 << iota
	PortInfoRecordPortNum
	PortInfoRecordOptions
	PortInfoRecordMKey
	PortInfoRecordGidPrefix
	PortInfoRecordBaseLID
	PortInfoRecordMasterSMLID
	PortInfoRecordCapabilityMask
	PortInfoRecordDiagCode
	PortInfoRecordMKeyLeasePeriod
	PortInfoRecordLocalPortNum
	PortInfoRecordLinkWidthEnabled
	PortInfoRecordLinkWidthSupported
	PortInfoRecordLinkWidthActive
	PortInfoRecordLinkSpeedSupported
	PortInfoRecordPortState
	PortInfoRecordPortPhysicalState
	PortInfoRecordLinkDownDefaultState
	PortInfoRecordMKeyProtectBits
	_
	PortInfoRecordLMC
	PortInfoRecordLinkSpeedActive
	PortInfoRecordLinkSpeedEnabled
	PortInfoRecordNeighborMTU
	PortInfoRecordMasterSMSL
	PortInfoRecordVLCap
	PortInfoRecordInitType
	PortInfoRecordVLHighLimit
	PortInfoRecordVLArbitrationHighCap
	PortInfoRecordVLArbitrationLowCap
	PortInfoRecordInitTypeReply
	PortInfoRecordMTUCap
	PortInfoRecordVLStallCount
	PortInfoRecordHOQLife
	PortInfoRecordOperationalVLs
	PortInfoRecordPartitionEnforcementInbound
	PortInfoRecordPartitionEnforcementOutbound
	PortInfoRecordFilterRawInbound
	PortInfoRecordFilterRawOutbound
	PortInfoRecordMKeyViolations
	PortInfoRecordPKeyViolations
	PortInfoRecordQKeyViolations
	PortInfoRecordGUIDCap
	PortInfoRecordClientReregister
	_
	PortInfoRecordSubnetTimeOut
	_
	PortInfoRecordRespTimeValue
	PortInfoRecordLocalPhyErrors
	PortInfoRecordOverrunErrors
	PortInfoRecordMaxCreditHint
	_
	PortInfoRecordLinkRoundTripLatency
	PortInfoRecordCapabilityMask2
	PortInfoRecordLinkSpeedExtActive
	PortInfoRecordLinkSpeedExtSupported
	_
	PortInfoRecordLinkSpeedExtEnabled
)

var portInfoRecordLayout = []Field{
	{Name: "LID", Bits: 16},
	{Name: "PortNum", Bits: 8},
	{Name: "Options", Bits: 8},
	{Name: "MKey", Bits: 64},
	{Name: "GidPrefix", Bits: 64},
	{Name: "BaseLID", Bits: 16},
	{Name: "MasterSMLID", Bits: 16},
	{Name: "CapabilityMask", Bits: 32},
	{Name: "DiagCode", Bits: 16},
	{Name: "MKeyLeasePeriod", Bits: 16},
	{Name: "LocalPortNum", Bits: 8},
	{Name: "LinkWidthEnabled", Bits: 8},
	{Name: "LinkWidthSupported", Bits: 8},
	{Name: "LinkWidthActive", Bits: 8},
	{Name: "LinkSpeedSupported", Bits: 4},
	{Name: "PortState", Bits: 4},
	{Name: "PortPhysicalState", Bits: 4},
	{Name: "LinkDownDefaultState", Bits: 4},
	{Name: "MKeyProtectBits", Bits: 2},
	{Bits: 3},
	{Name: "LMC", Bits: 3},
	{Name: "LinkSpeedActive", Bits: 4},
	{Name: "LinkSpeedEnabled", Bits: 4},
	{Name: "NeighborMTU", Bits: 4},
	{Name: "MasterSMSL", Bits: 4},
	{Name: "VLCap", Bits: 4},
	{Name: "InitType", Bits: 4},
	{Name: "VLHighLimit", Bits: 8},
	{Name: "VLArbitrationHighCap", Bits: 8},
	{Name: "VLArbitrationLowCap", Bits: 8},
	{Name: "InitTypeReply", Bits: 4},
	{Name: "MTUCap", Bits: 4},
	{Name: "VLStallCount", Bits: 3},
	{Name: "HOQLife", Bits: 5},
	{Name: "OperationalVLs", Bits: 4},
	{Name: "PartitionEnforcementInbound", Bits: 1},
	{Name: "PartitionEnforcementOutbound", Bits: 1},
	{Name: "FilterRawInbound", Bits: 1},
	{Name: "FilterRawOutbound", Bits: 1},
	{Name: "MKeyViolations", Bits: 16},
	{Name: "PKeyViolations", Bits: 16},
	{Name: "QKeyViolations", Bits: 16},
	{Name: "GUIDCap", Bits: 8},
	{Name: "ClientReregister", Bits: 1},
	{Bits: 2},
	{Name: "SubnetTimeOut", Bits: 5},
	{Bits: 3},
	{Name: "RespTimeValue", Bits: 5},
	{Name: "LocalPhyErrors", Bits: 4},
	{Name: "OverrunErrors", Bits: 4},
	{Name: "MaxCreditHint", Bits: 16},
	{Bits: 8},
	{Name: "LinkRoundTripLatency", Bits: 24},
	{Name: "CapabilityMask2", Bits: 16},
	{Name: "LinkSpeedExtActive", Bits: 4},
	{Name: "LinkSpeedExtSupported", Bits: 4},
	{Bits: 3},
	{Name: "LinkSpeedExtEnabled", Bits: 5},
}

const portInfoRecordLen = 68

// ParsePortInfoRecord reads the 68 bytes at the start of b.
func ParsePortInfoRecord(b []byte) (PortInfoRecord, error) {
	if err := need("PortInfoRecord", b, portInfoRecordLen); err != nil {
		return PortInfoRecord{}, err
	}
	info, err := ParsePortInfo(b[4:])
	if err != nil {
		return PortInfoRecord{}, err
	}
	return PortInfoRecord{LID: ib.LID(be.Uint16(b)), PortNum: b[2], Options: b[3], Info: info}, nil
}

// AttrID is AttrPortInfoRecord.
func (PortInfoRecord) AttrID() AttrID { return AttrPortInfoRecord }

// Len is 68.
func (PortInfoRecord) Len() int { return portInfoRecordLen }

// AppendTo appends the 68 bytes.
func (r PortInfoRecord) AppendTo(b []byte) []byte {
	b = be.AppendUint16(b, uint16(r.LID))
	b = append(b, r.PortNum, r.Options)
	return r.Info.AppendTo(b)
}
