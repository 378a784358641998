package mad

import (
	"fmt"

	"heddle/ib"
)

// SMState is the state of a subnet manager (IBTA 1, 14.4.1).
type SMState uint8

// The states of a subnet manager.
const (
	SMNotActive SMState = iota
	SMDiscovering
	SMStandby
	SMMaster
)

// String names the state.
func (s SMState) String() string {
	switch s {
	case SMNotActive:
		return "NotActive"
	case SMDiscovering:
		return "Discovering"
	case SMStandby:
		return "Standby"
	case SMMaster:
		return "Master"
	default:
		return fmt.Sprintf("SMState(%d)", uint8(s))
	}
}

// SMControl is the attribute modifier of a Set of SMInfo: what one subnet
// manager tells another (IBTA 1, 14.4.1).
type SMControl uint32

// What one subnet manager tells another.
const (
	SMControlHandover SMControl = 1 + iota
	SMControlAcknowledge
	SMControlDisable
	SMControlStandby
	SMControlDiscover
)

// String names what is told.
func (c SMControl) String() string {
	switch c {
	case SMControlHandover:
		return "Handover"
	case SMControlAcknowledge:
		return "Acknowledge"
	case SMControlDisable:
		return "Disable"
	case SMControlStandby:
		return "Standby"
	case SMControlDiscover:
		return "Discover"
	default:
		return fmt.Sprintf("SMControl(%d)", uint32(c))
	}
}

// SMInfo is what a subnet manager says of itself (IBTA 1, 14.2.5.13).
type SMInfo struct {
	GUID     ib.GUID // of the port that it uses
	SMKey    SMKey
	ActCount uint32 // grows while it lives
	Priority uint8  // 4 bits, the highest wins
	SMState  SMState
}

const smInfoLen = 21

// ParseSMInfo reads the 21 bytes at the start of b.
func ParseSMInfo(b []byte) (SMInfo, error) {
	if err := need("SMInfo", b, smInfoLen); err != nil {
		return SMInfo{}, err
	}
	return SMInfo{
		GUID: ib.GUID(be.Uint64(b[0:])), SMKey: SMKey(be.Uint64(b[8:])), ActCount: be.Uint32(b[16:]),
		Priority: b[20] >> 4, SMState: SMState(b[20] & 0x0F),
	}, nil
}

// Len is 21.
func (i SMInfo) Len() int { return smInfoLen }

// AppendTo appends the 21 bytes.
func (i SMInfo) AppendTo(b []byte) []byte {
	b = be.AppendUint64(b, uint64(i.GUID))
	b = be.AppendUint64(b, uint64(i.SMKey))
	b = be.AppendUint32(b, i.ActCount)
	return append(b, nibbles(i.Priority, i.SMState))
}
