package group

import (
	"fmt"
	"strings"
)

// JoinState is how a port takes part in a group, 4 bits with the values of
// MCMemberRecord (IBTA 1, 15.2.5.17.1). A port can have several.
type JoinState uint8

// The ways of taking part.
const (
	FullMember         JoinState = 1 << iota // sends and receives
	NonMember                                // sends and receives; the group does not live by it
	SendOnlyNonMember                        // sends only; the group does not live by it
	SendOnlyFullMember                       // sends only; the group lives by it
)

const allJoinStates = FullMember | NonMember | SendOnlyNonMember | SendOnlyFullMember

// IsValid tells whether s has at least one bit, and none but the four.
func (s JoinState) IsValid() bool { return s != 0 && s&^allJoinStates == 0 }

// KeepsGroup tells whether a plain group lives as long as such a member is in
// it.
func (s JoinState) KeepsGroup() bool { return s&(FullMember|SendOnlyFullMember) != 0 }

// Receives tells whether the member gets what is sent to the group.
func (s JoinState) Receives() bool { return s&(FullMember|NonMember) != 0 }

var joinStateNames = [...]string{"full", "non", "send-only", "send-only-full"}

// String names the ways of taking part: full|send-only. Bits that are not
// defined stay a number.
func (s JoinState) String() string {
	if s == 0 {
		return "none"
	}
	var parts []string
	for i, name := range joinStateNames {
		if s&(1<<i) != 0 {
			parts = append(parts, name)
		}
	}
	if rest := s &^ allJoinStates; rest != 0 {
		parts = append(parts, fmt.Sprintf("%#02x", uint8(rest)))
	}
	return strings.Join(parts, "|")
}
