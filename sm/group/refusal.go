package group

import (
	"fmt"

	"heddle/ib"
)

// Code is the status of subnet administration with which a request is refused
// (IBTA 1, 15.2.1), or that of all management classes for Busy.
type Code uint8

// The codes.
const (
	RequestInvalid         Code = 1 + iota // 0x0200
	InsufficientComponents                 // 0x0600
	NoResources                            // 0x0100
	Denied                                 // 0x0700
	Busy                                   // 0x0001: the same request may succeed later
)

var codeNames = [...]string{"", "request invalid", "insufficient components", "no resources", "denied", "busy"}

// String names the code.
func (c Code) String() string {
	if c == 0 || int(c) >= len(codeNames) {
		return fmt.Sprintf("Code(%d)", uint8(c))
	}
	return codeNames[c]
}

// Reason is why a request was refused.
type Reason uint8

// The reasons.
const (
	MissingComponents Reason = 1 + iota // a component that a join, or a create, must give
	BadJoinState                        // none of the four bits, or others
	BadMGID                             // not multicast, reserved flags or scope, or of the manager's own
	BadValue                            // a value that the standard does not define
	UnknownPort                         // the port is not in the subnet, or of another subnet
	NotInPartition                      // the port does not hold the group's P_Key, or two ports share none
	NoGroup                             // the group is not there, and the JoinState creates none
	NoBroadcast                         // IP over InfiniBand without its broadcast group
	Mismatch                            // a value differs from the group's
	Unrealizable                        // the port's MTU or rate cannot do it
	NotMember                           // a leave of bits that the port does not have
	NotOwner                            // a member that joined by itself is changed by itself only
	KindMismatch                        // a join with MemberCount to a plain group, or the reverse
	CountMismatch                       // a MemberCount that differs from the group's
	Complete                            // the group has all its members, or was routed for other bits
	Leaving                             // the group is being left or destroyed
	TooManyGroups                       // of one client
	TooManyMembers                      // that one client joined for others
	TooManyPending                      // groups of one client that wait for members
	TableFull                           // groups or members of all clients together
	NoMLID                              // no MLID is free, and none can be shared
	MLIDsRetiring                       // none is free until the switches have forgotten some
)

var reasons = [...]struct {
	code Code
	text string
}{
	MissingComponents: {InsufficientComponents, "missing components"},
	BadJoinState:      {RequestInvalid, "invalid JoinState"},
	BadMGID:           {RequestInvalid, "invalid or reserved MGID"},
	BadValue:          {RequestInvalid, "undefined value"},
	UnknownPort:       {RequestInvalid, "unknown port"},
	NotInPartition:    {RequestInvalid, "port is not in the partition"},
	NoGroup:           {RequestInvalid, "no such group"},
	NoBroadcast:       {RequestInvalid, "no broadcast group of IP over InfiniBand"},
	Mismatch:          {RequestInvalid, "value differs from the group's"},
	Unrealizable:      {RequestInvalid, "port cannot do the MTU or rate"},
	NotMember:         {RequestInvalid, "port is no such member"},
	NotOwner:          {Denied, "member belongs to another port"},
	KindMismatch:      {RequestInvalid, "one of plain and collected"},
	CountMismatch:     {RequestInvalid, "another MemberCount"},
	Complete:          {RequestInvalid, "group is complete"},
	Leaving:           {Busy, "group is being left"},
	TooManyGroups:     {NoResources, "too many groups of the client"},
	TooManyMembers:    {NoResources, "too many members joined by the client"},
	TooManyPending:    {Busy, "too many groups of the client wait"},
	TableFull:         {NoResources, "too many groups or members"},
	NoMLID:            {NoResources, "no MLID is free"},
	MLIDsRetiring:     {Busy, "no MLID is free yet"},
}

// Code gives the status that goes with the reason.
func (r Reason) Code() Code {
	if int(r) >= len(reasons) {
		return 0
	}
	return reasons[r].code
}

// String tells the reason.
func (r Reason) String() string {
	if r == 0 || int(r) >= len(reasons) {
		return fmt.Sprintf("Reason(%d)", uint8(r))
	}
	return reasons[r].text
}

// Refusal is the error of every request that is not granted. A refused request
// changes nothing.
type Refusal struct {
	Reason Reason
	// Components are those that are missing or that do not fit, where it is
	// them.
	Components Components
	MGID       ib.MGID
	Port       ib.GID
}

// Code gives the status that goes with the reason.
func (r *Refusal) Code() Code { return r.Reason.Code() }

// Error tells group, port, reason and components.
func (r *Refusal) Error() string {
	text := fmt.Sprintf("group %v, port %v: %v: %v", r.MGID, r.Port, r.Code(), r.Reason)
	if r.Components != 0 {
		text += ": " + r.Components.String()
	}
	return text
}

func (r *Request) refuse(reason Reason, components Components) *Refusal {
	return &Refusal{Reason: reason, Components: components, MGID: r.MGID, Port: r.PortGID}
}
