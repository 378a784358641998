package group

import (
	"slices"

	"heddle/ib"
)

// Params are what all members of a group agree on. The scope is that of the
// MGID.
type Params struct {
	QKey      ib.QKey
	PKey      ib.PKey
	MTU       ib.MTU
	Rate      ib.Rate
	Lifetime  uint8 // of a packet: 4.096 µs times 2^n, n from 0 to 63
	SL        ib.SL // 0 to 15
	TClass    uint8
	HopLimit  uint8
	FlowLabel uint32 // 20 bits
}

const maxFlowLabel = 1<<20 - 1

// wellFormed tells whether each field of p has a value that the standard
// defines.
func (p *Params) wellFormed() bool {
	return p.PKey.IsValid() && p.MTU.IsValid() && p.Rate.IsValid() &&
		p.Lifetime <= maxLifetime && p.SL.IsValid() && p.FlowLabel <= maxFlowLabel
}

// Port is what the subnet manager knows of a port that asks, or is to be a
// member. The table reads it during the call and keeps none of it.
type Port struct {
	// GID is the port's first GID, with the subnet's prefix. A request's PortGID
	// may be an alias of it.
	GID ib.GID
	// PKeys is the port's P_Key table; invalid ones are ignored.
	PKeys []ib.PKey
	// MTU is the NeighborMTU, Rate the active rate of the link.
	MTU  ib.MTU
	Rate ib.Rate
}

// holds tells whether the port is in the partition of a group, so that one of
// the two at least is full.
func (p *Port) holds(pkey ib.PKey) bool {
	return slices.ContainsFunc(p.PKeys, pkey.Matches)
}

// shares tells whether two ports may talk in some partition.
func (p *Port) shares(other *Port) bool {
	return slices.ContainsFunc(p.PKeys, other.holds)
}

// Request is a join or a leave: a Set or a Delete of MCMemberRecord. Fields
// that Has does not name are not read.
type Request struct {
	Has Components
	// MGID zero in a join asks for a group with an MGID that the table makes up.
	MGID ib.MGID
	// PortGID is the member. The subnet's prefix and the default prefix mean the
	// same.
	PortGID   ib.GID
	JoinState JoinState
	Params
	MLID             ib.MLID
	MTUSelector      Selector
	RateSelector     Selector
	LifetimeSelector Selector
	Scope            ib.Scope
	// MemberCount is the number of members that a collected group will have, at
	// most MaxMemberCount; 0 joins a plain group. It has no bit in Has.
	MemberCount uint32

	// Requester is the port that sent the request, Member that of PortGID; nil
	// where the subnet has no such port. They have the same GID where a port
	// asks for itself; otherwise the join is a proxy's.
	Requester, Member *Port
}

// MaxMemberCount is the highest MemberCount, 23 bits.
const MaxMemberCount = 1<<23 - 1

// proxied tells whether one port asks for another.
func (r *Request) proxied() bool { return r.Requester.GID != r.Member.GID }
