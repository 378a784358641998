package mad

import "fmt"

// PortState is the logical state of a port (IBTA 1, 7.2.7). Zero in a Set means
// no change.
type PortState uint8

// The states of a port.
const (
	PortNoChange PortState = iota
	PortDown
	PortInit
	PortArmed
	PortActive
)

// String names the state.
func (s PortState) String() string {
	switch s {
	case PortNoChange:
		return "NoChange"
	case PortDown:
		return "Down"
	case PortInit:
		return "Init"
	case PortArmed:
		return "Armed"
	case PortActive:
		return "Active"
	default:
		return fmt.Sprintf("PortState(%d)", uint8(s))
	}
}
