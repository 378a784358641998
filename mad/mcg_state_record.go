package mad

import (
	"fmt"

	"heddle/ib"
)

// MCGStateRecord is heddle's own: what the subnet manager is doing with a
// group whose members told it in MCMemberRecord how many they will be. One of
// them asks with SubnAdmGet and the MGID until the group is ready. No standard
// has this attribute, whose number is of those from 0xFF00 on that subnet
// management leaves to vendors; a peer that does not know it answers with a
// status that says so, or, as OpenSM, not at all.
//
// The layout is MGID (128 bits), State (8), reserved (24), MemberCount (16),
// Joined (16).
type MCGStateRecord struct {
	MGID  ib.MGID
	State MCGState
	// MemberCount is how many members the group will have, Joined how many it
	// has.
	MemberCount uint16
	Joined      uint16
}

// MCGState is the state of such a group.
type MCGState uint8

// The states, in the order in which a group goes through them. A group that
// waits too long for joins or for leaves goes to the last one. Zero is that of
// a group that is not there.
const (
	MCGReceivingJoinReq  MCGState = 1 + iota // waits for all members
	MCGComputingRoutes                       // and writes them to the switches
	MCGReady                                 // may be sent to
	MCGReceivingLeaveReq                     // waits for all members to leave
	MCGDestroying                            // takes the routes out of the switches
)

// String names the state.
func (s MCGState) String() string {
	switch s {
	case MCGReceivingJoinReq:
		return "ReceivingJoinReq"
	case MCGComputingRoutes:
		return "ComputingRoutes"
	case MCGReady:
		return "Ready"
	case MCGReceivingLeaveReq:
		return "ReceivingLeaveReq"
	case MCGDestroying:
		return "Destroying"
	default:
		return fmt.Sprintf("MCGState(%d)", uint8(s))
	}
}

// The components of an MCGStateRecord.
const (
	MCGStateRecordMGID ComponentMask = 1 << iota
	MCGStateRecordState
	_
	MCGStateRecordMemberCount
	MCGStateRecordJoined
)

var mcgStateRecordLayout = []Field{
	{Name: "MGID", Bits: 128},
	{Name: "State", Bits: 8},
	{Bits: 24},
	{Name: "MemberCount", Bits: 16},
	{Name: "Joined", Bits: 16},
}

const mcgStateRecordLen = 24

// ParseMCGStateRecord reads the 24 bytes at the start of b.
func ParseMCGStateRecord(b []byte) (MCGStateRecord, error) {
	if err := need("MCGStateRecord", b, mcgStateRecordLen); err != nil {
		return MCGStateRecord{}, err
	}
	return MCGStateRecord{
		MGID: ib.MGID(b[0:16]), State: MCGState(b[16]),
		MemberCount: be.Uint16(b[20:]), Joined: be.Uint16(b[22:]),
	}, nil
}

// AttrID is AttrMCGStateRecord.
func (MCGStateRecord) AttrID() AttrID { return AttrMCGStateRecord }

// Len is 24.
func (MCGStateRecord) Len() int { return mcgStateRecordLen }

// AppendTo appends the 24 bytes.
func (r MCGStateRecord) AppendTo(b []byte) []byte {
	b, p := grow(b, mcgStateRecordLen)
	copy(p, r.MGID[:])
	p[16] = byte(r.State)
	be.PutUint16(p[20:], r.MemberCount)
	be.PutUint16(p[22:], r.Joined)
	return b
}
