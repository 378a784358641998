package plan

import (
	"cmp"

	"heddle/ib"
	"heddle/mad"
	"heddle/sm/subnet"
)

// PortRules say how ports are set up.
type PortRules struct {
	// Manager is the subnet manager's own LID, SL that to reach it with.
	Manager ib.LID
	SL      ib.SL
	Prefix  uint64
	// MKey, MKeyLease (seconds) and MKeyProtect guard the ports.
	MKey        mad.MKey
	MKeyLease   uint16
	MKeyProtect uint8
	// Timeout is PortInfo:SubnetTimeOut.
	Timeout mad.TimeValue
	// MaxVLs is the most data lanes to use, MaxMTU the largest packets.
	MaxVLs mad.DataVLs
	MaxMTU ib.MTU
	// HOQLife and LeafHOQLife are how long a packet may wait at the head of a
	// queue, at a port to a switch and at one to an adapter. VLStallCount and
	// LeafVLStallCount are how many may be dropped before the lane stalls.
	HOQLife, LeafHOQLife           uint8
	VLStallCount, LeafVLStallCount uint8
	// PhyErrors and OverrunErrors are the thresholds of traps 129 and 130.
	PhyErrors, OverrunErrors uint8
	// QoS is what the tables of the lanes are written by; nil where they stay as
	// the ports have them.
	QoS *QoSRules
	// Reregister tells for a port whether its clients have to join and
	// subscribe again.
	Reregister func(p PortRef) bool
}

// DefaultPortRules are OpenSM's, but for the keys and the manager.
func DefaultPortRules() PortRules {
	return PortRules{
		Prefix: ib.DefaultPrefix, Timeout: 18, MaxVLs: mad.DataVLs15, MaxMTU: ib.MTU4096,
		HOQLife: 18, LeafHOQLife: 16, VLStallCount: 7, LeafVLStallCount: 7, PhyErrors: 8, OverrunErrors: 8,
		Reregister: func(PortRef) bool { return false },
	}
}

// quiet is what a Set starts from: what the port told, without any order to
// its states (IBTA 1, 14.2.5.6).
func quiet(x *subnet.Port) mad.PortInfo {
	info := x.Info
	info.PortState, info.PortPhysicalState, info.LinkDownDefaultState = mad.PortNoChange, mad.PhysNoChange, mad.PhysNoChange
	info.LinkWidthEnabled, info.LinkSpeedEnabled, info.LinkSpeedExtEnabled = 0, 0, 0
	info.ClientReregister = false
	return info
}

// Addresses is the stage that gives ports their LIDs, keys and manager, and
// writes them into the view. What a port has already is not sent.
func Addresses(v *subnet.View, lids LIDs, r PortRules) Stage {
	stage := Stage{Name: "lids"}
	for _, p := range addressed(v) {
		info := &p.At().Info
		told := *info
		own := lids[p]
		info.LID, info.LMC = own.First, own.LMC()
		info.MasterSMLID, info.MasterSMSL, info.GidPrefix = r.Manager, r.SL, r.Prefix
		info.MKey, info.MKeyLeasePeriod, info.MKeyProtectBits = r.MKey, r.MKeyLease, r.MKeyProtect
		info.SubnetTimeOut = r.Timeout
		want := quiet(p.At())
		want.ClientReregister = r.Reregister(p) && info.CapabilityMask&mad.CapClientReregistration != 0
		if want.ClientReregister || told != *info {
			stage.SMPs = append(stage.SMPs, set(p.Node, p.Port, mad.AttrPortInfo, modifier(p), want))
		}
	}
	return stage
}

// modifier is how a port's PortInfo is written: with the bit of who knows the
// speeds after QDR.
func modifier(p PortRef) uint32 {
	m := uint32(p.Port)
	if p.Node.Ports[p.keyPort()].Info.CapabilityMask&mad.CapExtendedSpeeds != 0 {
		m |= mad.PortInfoExtendedSpeeds
	}
	return m
}

// keyPort is the port whose capabilities and keys count for a port.
func (p PortRef) keyPort() uint8 {
	if p.Node.IsSwitch() {
		return 0
	}
	return p.Port
}

// Links is the stages that set links up and take ports to Active: one for what
// the ends agree on, in which ports in Init go to Armed, and one to Active. A
// link that is up already with another MTU or number of lanes at an end of it is
// taken down, in a stage of its own, and comes up in Init: again says that
// another sweep has to follow. So is a link of a switch to a node that does not
// answer any more and counts as gone: it stays in Init until the node is back.
func Links(v *subnet.View, r PortRules) (stages []Stage, again bool) {
	armed, active, down := Stage{Name: "armed"}, Stage{Name: "active"}, Stage{Name: "down"}
	for _, n := range v.Nodes {
		for i := range n.Ports {
			p := PortRef{n, uint8(i)}
			if p.isDeserted() {
				info := quiet(p.At())
				info.PortState = mad.PortDown
				down.SMPs = append(down.SMPs, p.set(info))
			}
			if !p.hasState() {
				continue
			}
			want, changed := p.wanted(r)
			told := p.At().Info
			switch {
			case p.comesAnew(r):
				if again = true; p.isNearer() {
					want.PortState = mad.PortDown
					down.SMPs = append(down.SMPs, p.set(want))
				}
				continue
			case told.PortState == mad.PortInit:
				want.PortState = mad.PortArmed
			case !changed && told.PortState == mad.PortActive:
				continue
			}
			if changed || want.PortState != mad.PortNoChange {
				armed.SMPs = append(armed.SMPs, p.set(want))
			}
			if told.PortState < mad.PortActive {
				want.PortState = mad.PortActive
				active.SMPs = append(active.SMPs, p.set(want))
			}
		}
	}
	return []Stage{armed, active, down}, again
}

// set writes the port's PortInfo.
func (p PortRef) set(info mad.PortInfo) SMP {
	return set(p.Node, p.keyPort(), mad.AttrPortInfo, modifier(p), info)
}

// comesAnew tells whether the link has to come up with other settings: an end
// of it that left Init has wrong ones.
func (p PortRef) comesAnew(r PortRules) bool {
	peer, number, ok := p.Node.Peer(p.Port)
	return ok && (p.isWrong(r) || PortRef{peer, number}.isWrong(r))
}

func (p PortRef) isWrong(r PortRules) bool {
	want, _ := p.wanted(r)
	told := &p.At().Info
	return told.PortState > mad.PortInit &&
		(want.NeighborMTU != told.NeighborMTU || want.OperationalVLs != told.OperationalVLs)
}

// isNearer tells whether the port is the end of its link where the link is
// taken down: the one that is reached without it, so that the answer comes back.
func (p PortRef) isNearer() bool {
	peer, number, _ := p.Node.Peer(p.Port)
	return cmp.Or(cmp.Compare(len(p.At().Path), len(peer.Ports[number].Path)),
		cmp.Compare(p.Node.ID, peer.ID), cmp.Compare(p.Port, number)) < 0
}

// isDeserted tells whether a switch forwards through a port to nobody: the link
// is up, and who was behind it has not answered for longer than nodes are kept.
func (p PortRef) isDeserted() bool {
	x := p.At()
	_, _, found := p.Node.Peer(p.Port)
	return p.Node.IsSwitch() && p.Port > 0 && x.Answered && x.Info.PortState >= mad.PortArmed && !found
}

// hasState tells whether the port has a state to be set: it answered, its link
// is up, and who is behind it answered as well; or it is an enhanced port 0.
func (p PortRef) hasState() bool {
	x := p.At()
	if !x.Answered || x.Info.PortState < mad.PortInit {
		return false
	}
	if p.Port == 0 {
		return p.Node.Switch.EnhancedPort0
	}
	peer, number, ok := p.Node.Peer(p.Port)
	return ok && peer.Ports[number].Answered
}

// wanted is the settings of a link at one of its ends, and whether they are
// other than what the port told.
func (p PortRef) wanted(r PortRules) (want mad.PortInfo, changed bool) {
	x := p.At()
	want = quiet(x)
	if r.QoS != nil && p.hasLanes() {
		want.VLHighLimit = r.QoS.of(p).HighLimit
	}
	if p.Port == 0 {
		return want, want != quiet(x)
	}
	peer, number, _ := p.Node.Peer(p.Port)
	other := &peer.Ports[number].Info
	if mtu := min(x.Info.MTUCap, other.MTUCap, r.MaxMTU); mtu != 0 { // a cap of 0 is no cap
		want.NeighborMTU = mtu
	}
	if vls := min(x.Info.VLCap, other.VLCap, r.MaxVLs); vls != 0 {
		want.OperationalVLs = vls
	}
	want.LocalPhyErrors, want.OverrunErrors = r.PhyErrors, r.OverrunErrors
	if p.Node.IsSwitch() {
		want.HOQLife, want.VLStallCount = r.HOQLife, r.VLStallCount
		if !peer.IsSwitch() {
			want.HOQLife, want.VLStallCount = r.LeafHOQLife, r.LeafVLStallCount
		}
	}
	return want, want != quiet(x)
}
