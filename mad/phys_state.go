package mad

import "fmt"

// PhysState is what the physical layer of a port is doing (IBTA 1, 14.2.5.6:
// PortPhysicalState). Zero in a Set means no change.
type PhysState uint8

// The states of the physical layer. LinkDownDefaultState has only the first
// three, and a Set may ask for the first four.
const (
	PhysNoChange PhysState = iota
	PhysSleep
	PhysPolling
	PhysDisabled
	PhysPortConfigurationTraining
	PhysLinkUp
	PhysLinkErrorRecovery
	PhysTest
)

// String names the state.
func (s PhysState) String() string {
	switch s {
	case PhysNoChange:
		return "NoChange"
	case PhysSleep:
		return "Sleep"
	case PhysPolling:
		return "Polling"
	case PhysDisabled:
		return "Disabled"
	case PhysPortConfigurationTraining:
		return "PortConfigurationTraining"
	case PhysLinkUp:
		return "LinkUp"
	case PhysLinkErrorRecovery:
		return "LinkErrorRecovery"
	case PhysTest:
		return "PhyTest"
	default:
		return fmt.Sprintf("PhysState(%d)", uint8(s))
	}
}
