package emu

import (
	"heddle/fabric"
	"heddle/ib"
	"heddle/mad"
)

// powerOn is the PortInfo of a port without a link after power-on.
func (s *Subnet) powerOn(e fabric.End) mad.PortInfo {
	n := &s.nodes[e.Node]
	vls := dataVLs(s.cfg.VLs)
	info := mad.PortInfo{
		LocalPortNum: uint8(e.Port), PortState: mad.PortDown, PortPhysicalState: mad.PhysPolling,
		LinkDownDefaultState: mad.PhysPolling,
		NeighborMTU:          s.cfg.MTU, MTUCap: s.cfg.MTU, VLCap: vls, OperationalVLs: vls,
		VLArbitrationHighCap: 64, VLArbitrationLowCap: 64, RespTimeValue: respTime,
	}
	if s.addressed(e) {
		info.GidPrefix, info.SubnetTimeOut, info.GUIDCap = ib.DefaultPrefix, subnetTimeOut, 32
		info.CapabilityMask = capabilities(n.sw != nil)
	}
	if n.sw != nil && e.Port == 0 {
		s.powerOnPort0(&info, n.sw)
		return info
	}
	setRates(&info, s.portRate(e))
	return info
}

// Times that ports have until somebody writes others (IBTA 1, 14.2.5.6).
const (
	respTime      mad.TimeValue = 16 // 0.27 s
	subnetTimeOut mad.TimeValue = 18 // 1.07 s
)

func capabilities(isSwitch bool) mad.CapabilityMask {
	c := mad.CapTrap | mad.CapSLMapping | mad.CapSystemImageGUID | mad.CapExtendedSpeeds | mad.CapCapabilityMask2 |
		mad.CapVendorClass | mad.CapCapabilityMaskNotice | mad.CapClientReregistration | mad.CapOtherLocalChangesNotice
	if isSwitch {
		return c | mad.CapPKeySwitchExternalPortTrap | mad.CapMulticastFDBTop
	}
	return c | mad.CapAutomaticMigration | mad.CapCommunicationManagement
}

// powerOnPort0 is a switch's own port: always there, without a link. A base
// one has no state to be set and no table of GUIDs.
func (s *Subnet) powerOnPort0(info *mad.PortInfo, w *switchInfo) {
	info.PortState, info.PortPhysicalState = mad.PortActive, mad.PhysLinkUp
	info.OperationalVLs, info.VLCap = mad.DataVLs1, mad.DataVLs1
	info.GUIDCap = 1
	if w.info.EnhancedPort0 {
		info.PortState, info.GUIDCap = mad.PortInit, 32
	}
	setRates(info, ib.LinkRate{Width: ib.Width4x, Speed: ib.SDR})
	activate(info, ib.LinkRate{Width: ib.Width4x, Speed: ib.SDR})
}

// portRate is what the cable in a port is for; one without tells nothing.
func (s *Subnet) portRate(e fabric.End) ib.LinkRate {
	rate := ib.LinkRate{Width: ib.Width4x, Speed: ib.SDR}
	if id := s.fabric.Port(e).Link; id != fabric.NoLink {
		told := s.fabric.Link(id).Rate
		rate = ib.LinkRate{Width: fill(told.Width, rate.Width), Speed: fill(told.Speed, rate.Speed)}
	}
	return rate
}

// setRates makes a port able to run at a rate and at the slower ones.
func setRates(info *mad.PortInfo, rate ib.LinkRate) {
	info.LinkWidthSupported = mad.LinkWidthOf(ib.Width1x, rate.Width)
	info.LinkWidthEnabled = info.LinkWidthSupported
	speeds := []ib.Speed{}
	for speed := ib.SDR; speed <= rate.Speed; speed++ {
		speeds = append(speeds, speed)
	}
	info.LinkSpeedSupported = mad.LinkSpeedOf(speeds...)
	info.LinkSpeedExtSupported = mad.LinkSpeedExtOf(speeds...)
	info.LinkSpeedExtSupported2 = mad.LinkSpeedExt2Of(speeds...)
	info.LinkSpeedEnabled, info.LinkSpeedExtEnabled = info.LinkSpeedSupported, info.LinkSpeedExtSupported
	info.LinkSpeedExtEnabled2 = info.LinkSpeedExtSupported2
	info.CapabilityMask2 = mad.Cap2LinkSpeedHDR | mad.Cap2LinkSpeedNDR | mad.Cap2PortInfoExtended
}

// portInfo reads and writes a PortInfo (IBTA 1, 14.2.5.6). In an adapter, port
// 0 means the port that was asked, and another number a port that can only be
// read.
func (s *Subnet) portInfo(q *request) mad.Status {
	number := uint8(q.m.Modifier())
	e := fabric.End{Node: q.at.Node, Port: uint16(number)}
	if number == 0 && !s.isSwitch(e.Node) {
		e.Port = q.at.Port
	}
	if !s.has(e) {
		return mad.StatusBadField
	}
	if q.set {
		if !s.isSwitch(e.Node) && e.Port != q.at.Port {
			return mad.StatusBadField
		}
		if status := s.setPortInfo(e, q); status != mad.StatusOK {
			return status
		}
	}
	x := s.portOf(e)
	info := x.info
	info.LocalPortNum = uint8(q.at.Port)
	if s.hidesKey(q, x) {
		info.MKey = 0
	}
	info.AppendTo(q.data[:0])
	return mad.StatusOK
}

func (s *Subnet) setPortInfo(e fabric.End, q *request) mad.Status {
	want, err := mad.ParsePortInfo(q.data)
	if err != nil || !s.accepts(e, &want) {
		return mad.StatusBadField
	}
	x := s.portOf(e)
	if s.addressed(e) {
		setAddress(&x.info, &want)
	}
	if e.Port != 0 || s.nodes[e.Node].sw.info.EnhancedPort0 {
		setLink(&x.info, &want)
		s.command(e, &want)
	}
	return mad.StatusOK
}

// accepts tells whether a Set asks for nothing that the port cannot do.
func (s *Subnet) accepts(e fabric.End, want *mad.PortInfo) bool {
	info := &s.portOf(e).info
	if s.addressed(e) && !s.acceptsAddress(e, want) {
		return false
	}
	if e.Port == 0 && !s.nodes[e.Node].sw.info.EnhancedPort0 {
		return true // the rest is not there to be set
	}
	return want.NeighborMTU <= info.MTUCap && want.OperationalVLs <= info.VLCap &&
		subset(want.LinkWidthEnabled, info.LinkWidthSupported, mad.LinkWidthAllSupported) &&
		subset(want.LinkSpeedEnabled, info.LinkSpeedSupported, mad.LinkSpeedAllSupported) &&
		(want.LinkSpeedExtEnabled == mad.LinkSpeedExtDisable ||
			subset(want.LinkSpeedExtEnabled, info.LinkSpeedExtSupported, mad.LinkSpeedExtAllSupported)) &&
		acceptsStates(info, want, e.Port == 0)
}

func (s *Subnet) acceptsAddress(e fabric.End, want *mad.PortInfo) bool {
	base0 := e.Port == 0 && !s.nodes[e.Node].sw.info.EnhancedPort0
	return want.LID.IsUnicast() && (want.MasterSMLID == 0 || want.MasterSMLID.IsUnicast()) &&
		(!base0 || want.LMC == 0) && want.LID&(1<<want.LMC-1) == 0
}

// subset tells whether a set of what is enabled is one of what is supported;
// zero is no change.
func subset[T ~uint8](enabled, supported, all T) bool {
	return enabled == all || enabled&^supported == 0
}

// acceptsStates holds the transitions that a subnet manager may order (IBTA 1,
// 14.2.5.6): down at any time, one step up otherwise, and a physical state
// only along with down or no change.
func acceptsStates(info, want *mad.PortInfo, port0 bool) bool {
	if want.PortPhysicalState > mad.PhysDisabled || want.LinkDownDefaultState > mad.PhysPolling {
		return false
	}
	if want.PortPhysicalState != mad.PhysNoChange && want.PortState > mad.PortDown {
		return false
	}
	switch want.PortState {
	case mad.PortNoChange:
		return true
	case mad.PortDown:
		return !port0
	case mad.PortArmed, mad.PortActive:
		return want.PortState == info.PortState+1
	default:
		return false
	}
}

// setAddress takes over what only an adapter's port and port 0 have.
func setAddress(info, want *mad.PortInfo) {
	info.MKey, info.MKeyLeasePeriod, info.MKeyProtectBits = want.MKey, want.MKeyLeasePeriod, want.MKeyProtectBits
	info.GidPrefix, info.LID, info.LMC = want.GidPrefix, want.LID, want.LMC
	info.MasterSMLID, info.MasterSMSL = want.MasterSMLID, want.MasterSMSL
	info.SubnetTimeOut = want.SubnetTimeOut
	info.MKeyViolations = lowered(info.MKeyViolations, want.MKeyViolations)
	info.PKeyViolations = lowered(info.PKeyViolations, want.PKeyViolations)
	info.QKeyViolations = lowered(info.QKeyViolations, want.QKeyViolations)
	info.MulticastPKeyTrapSuppressionEnabled = want.MulticastPKeyTrapSuppressionEnabled
	info.ClientReregister = want.ClientReregister
}

// lowered is a counter after a Set: only zero can be written.
func lowered(have, want uint16) uint16 {
	if want == 0 {
		return 0
	}
	return have
}

// setLink takes over what belongs to the link. Widths and speeds count from
// the next training on.
func setLink(info, want *mad.PortInfo) {
	info.LinkWidthEnabled = enabled(want.LinkWidthEnabled, info.LinkWidthEnabled, info.LinkWidthSupported, mad.LinkWidthAllSupported)
	info.LinkSpeedEnabled = enabled(want.LinkSpeedEnabled, info.LinkSpeedEnabled, info.LinkSpeedSupported, mad.LinkSpeedAllSupported)
	info.LinkSpeedExtEnabled = enabled(want.LinkSpeedExtEnabled, info.LinkSpeedExtEnabled, info.LinkSpeedExtSupported, mad.LinkSpeedExtAllSupported)
	if want.LinkSpeedExtEnabled == mad.LinkSpeedExtDisable {
		info.LinkSpeedExtEnabled = 0
	}
	info.NeighborMTU = fill(want.NeighborMTU, info.NeighborMTU)
	info.OperationalVLs = fill(want.OperationalVLs, info.OperationalVLs)
	info.LinkDownDefaultState = fill(want.LinkDownDefaultState, info.LinkDownDefaultState)
	info.VLHighLimit, info.VLStallCount, info.HOQLife = want.VLHighLimit, want.VLStallCount, want.HOQLife
	info.PartitionEnforcementInbound, info.PartitionEnforcementOutbound = want.PartitionEnforcementInbound, want.PartitionEnforcementOutbound
	info.FilterRawInbound, info.FilterRawOutbound = want.FilterRawInbound, want.FilterRawOutbound
	info.LocalPhyErrors, info.OverrunErrors = want.LocalPhyErrors, want.OverrunErrors
	info.InitType = want.InitType
}

func enabled[T ~uint8](want, have, supported, all T) T {
	switch want {
	case 0:
		return have
	case all:
		return supported
	default:
		return want & supported
	}
}

// command does what a Set orders of the states.
func (s *Subnet) command(e fabric.End, want *mad.PortInfo) {
	switch {
	case want.PortPhysicalState == mad.PhysDisabled:
		s.disable(e)
	case want.PortPhysicalState == mad.PhysPolling, want.PortState == mad.PortDown:
		s.retrain(e)
	case want.PortState != mad.PortNoChange:
		s.setState(e, want.PortState)
	}
}

func (s *Subnet) portInfoExtended(q *request) mad.Status {
	if q.set {
		return mad.StatusBadAttribute
	}
	e, ok := s.tablePort(q, uint8(q.m.Modifier()))
	if !ok || e.Port == 0 {
		return mad.StatusBadField
	}
	return q.reply(mad.PortInfoExtended{})
}

// mlnxExtPortInfo is where FDR10 is told.
func (s *Subnet) mlnxExtPortInfo(q *request) mad.Status {
	e, ok := s.tablePort(q, uint8(q.m.Modifier()))
	if !ok {
		return mad.StatusBadField
	}
	var info mad.MlnxExtPortInfo
	if s.portRate(e).Speed == ib.FDR10 {
		info.LinkSpeedSupported, info.LinkSpeedEnabled = mad.MlnxLinkSpeedFDR10, mad.MlnxLinkSpeedFDR10
		if s.portOf(e).linkUp() {
			info.LinkSpeedActive = mad.MlnxLinkSpeedFDR10
		}
	}
	return q.reply(info)
}
