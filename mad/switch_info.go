package mad

// SwitchInfo is what a switch can and what it was told (IBTA 1, 14.2.5.4).
type SwitchInfo struct {
	LinearFDBCap                      uint16 // entries
	RandomFDBCap                      uint16 // entries
	MulticastFDBCap                   uint16 // entries: MLIDs from 0xC000
	LinearFDBTop                      uint16 // the highest LID that is forwarded
	DefaultPort                       uint8
	DefaultMulticastPrimaryPort       uint8
	DefaultMulticastNotPrimaryPort    uint8
	LifeTimeValue                     TimeValue // 5 bits: how long a packet may wait
	PortStateChange                   bool      // set by the switch, cleared by a Set of it
	OptimizedSLtoVLMappingProgramming uint8     // 2 bits
	LIDsPerPort                       uint16    // for the random forwarding table
	PartitionEnforcementCap           uint16    // P_Key entries of an external port
	InboundEnforcementCap             bool
	OutboundEnforcementCap            bool
	FilterRawInboundCap               bool
	FilterRawOutboundCap              bool
	EnhancedPort0                     bool
	MulticastFDBTop                   uint16 // the highest MLID that is forwarded
}

const switchInfoLen = 20

// ParseSwitchInfo reads the 20 bytes at the start of b.
func ParseSwitchInfo(b []byte) (SwitchInfo, error) {
	if err := need("SwitchInfo", b, switchInfoLen); err != nil {
		return SwitchInfo{}, err
	}
	return SwitchInfo{
		LinearFDBCap: be.Uint16(b[0:]), RandomFDBCap: be.Uint16(b[2:]), MulticastFDBCap: be.Uint16(b[4:]),
		LinearFDBTop: be.Uint16(b[6:]), DefaultPort: b[8],
		DefaultMulticastPrimaryPort: b[9], DefaultMulticastNotPrimaryPort: b[10],
		LifeTimeValue: TimeValue(b[11] >> 3), PortStateChange: b[11]&4 != 0,
		OptimizedSLtoVLMappingProgramming: b[11] & 3,
		LIDsPerPort:                       be.Uint16(b[12:]), PartitionEnforcementCap: be.Uint16(b[14:]),
		InboundEnforcementCap: b[16]&0x80 != 0, OutboundEnforcementCap: b[16]&0x40 != 0,
		FilterRawInboundCap: b[16]&0x20 != 0, FilterRawOutboundCap: b[16]&0x10 != 0,
		EnhancedPort0: b[16]&0x08 != 0, MulticastFDBTop: be.Uint16(b[18:]),
	}, nil
}

// Len is 20.
func (i SwitchInfo) Len() int { return switchInfoLen }

// AppendTo appends the 20 bytes.
func (i SwitchInfo) AppendTo(b []byte) []byte {
	b, p := grow(b, switchInfoLen)
	be.PutUint16(p[0:], i.LinearFDBCap)
	be.PutUint16(p[2:], i.RandomFDBCap)
	be.PutUint16(p[4:], i.MulticastFDBCap)
	be.PutUint16(p[6:], i.LinearFDBTop)
	p[8], p[9], p[10] = i.DefaultPort, i.DefaultMulticastPrimaryPort, i.DefaultMulticastNotPrimaryPort
	p[11] = byte(i.LifeTimeValue)<<3 | flag(i.PortStateChange, 4) | i.OptimizedSLtoVLMappingProgramming&3
	be.PutUint16(p[12:], i.LIDsPerPort)
	be.PutUint16(p[14:], i.PartitionEnforcementCap)
	p[16] = flag(i.InboundEnforcementCap, 0x80) | flag(i.OutboundEnforcementCap, 0x40) |
		flag(i.FilterRawInboundCap, 0x20) | flag(i.FilterRawOutboundCap, 0x10) | flag(i.EnhancedPort0, 0x08)
	be.PutUint16(p[18:], i.MulticastFDBTop)
	return b
}
