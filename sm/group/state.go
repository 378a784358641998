package group

import "fmt"

// State is that of a collected group, with the values of MCGStateRecord.
type State uint8

// The states. A group goes through them in this order, and may go to
// Destroying from each; docs/groups.md has the diagram. Zero is a plain group's.
const (
	ReceivingJoinReq  State = 1 + iota // waits for all members, up to a time limit
	ComputingRoutes                    // until they are in the switches
	Ready                              // may be sent to
	ReceivingLeaveReq                  // waits for all members to leave, up to a time limit
	Destroying                         // until the routes are out of the switches
)

var stateNames = [...]string{"plain", "ReceivingJoinReq", "ComputingRoutes", "Ready", "ReceivingLeaveReq", "Destroying"}

// String names the state.
func (s State) String() string {
	if int(s) >= len(stateNames) {
		return fmt.Sprintf("State(%d)", uint8(s))
	}
	return stateNames[s]
}

// waits tells whether the state has a time limit.
func (s State) waits() bool { return s == ReceivingJoinReq || s == ReceivingLeaveReq }
