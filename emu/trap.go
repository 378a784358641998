package emu

import (
	"heddle/fabric"
	"heddle/ib"
	"heddle/mad"
)

// traps are the traps that their ports repeat until somebody represses them
// (IBTA 1, 13.4.9, 14.3.4): at most one of each number at a port.
type traps struct {
	open map[trapKey]*openTrap
	tid  uint64
}

type trapKey struct {
	at     fabric.End
	number mad.TrapNumber
}

type openTrap struct {
	trapKey
	notice mad.Notice
	tid    uint64
	again  bool // it happened again since it was sent
}

// trap lets a port tell its subnet manager of an event, and tell it again
// until the manager represses it. What is told already is told no more, and a
// port that knows no manager is silent: the sweep that finds it will see.
func (s *Subnet) trap(at fabric.End, n mad.Notice) {
	if !s.knowsManager(at) {
		return
	}
	key := trapKey{at, n.Trap}
	if t := s.traps.open[key]; t != nil {
		t.notice, t.again = n, true // the repeat tells the latest
		return
	}
	if s.traps.open == nil {
		s.traps.open = map[trapKey]*openTrap{}
	}
	s.traps.tid++
	t := &openTrap{trapKey: key, notice: n, tid: s.traps.tid}
	s.traps.open[key] = t
	s.after(0, t)
}

// trapOnce tells of an event without repeating it.
func (s *Subnet) trapOnce(at fabric.End, n mad.Notice) {
	s.traps.tid++
	s.sendTrap(&openTrap{trapKey: trapKey{at, n.Trap}, notice: n, tid: s.traps.tid})
}

func (s *Subnet) knowsManager(at fabric.End) bool {
	info := &s.portOf(at).info
	return s.nodes[at.Node].up && info.MasterSMLID != 0 && info.LID != 0
}

// fire tells once and lets the trap fire again.
func (t *openTrap) fire(s *Subnet) {
	if s.traps.open[t.trapKey] != t {
		return
	}
	if !s.knowsManager(t.at) {
		delete(s.traps.open, t.trapKey)
		return
	}
	if t.again {
		s.traps.tid++
		t.tid, t.again = s.traps.tid, false
	}
	s.after(s.portOf(t.at).info.SubnetTimeOut.Duration(), t)
	s.sendTrap(t)
}

func (s *Subnet) sendTrap(t *openTrap) {
	if !s.knowsManager(t.at) {
		return
	}
	x, n := s.portOf(t.at), t.notice
	n.Producer, n.IssuerLID = s.producer(t.at), x.info.LID
	p := s.take()
	next := p.next
	*p = Packet{SLID: x.info.LID, DLID: x.info.MasterSMLID, SL: x.info.MasterSMSL, at: t.at, origin: true, next: next}
	p.MAD.SetHeader(mad.Header{
		Class: mad.ClassLID, ClassVersion: 1, Method: mad.MethodTrap, TID: t.tid, Attr: mad.AttrNotice,
	})
	p.MAD.SetMKey(x.info.MKey)
	n.AppendTo(p.MAD.Data()[:0])
	s.stats.Sent++
	s.stats.Traps++
	s.run(p)
}

// repress ends a trap, unless what it tells of happened again since.
func (s *Subnet) repress(p *Packet) {
	at, x := s.keyPort(p.at)
	if x.info.MKey != 0 && p.MAD.MKey() != x.info.MKey {
		return
	}
	for key, t := range s.traps.open {
		if key.at == at && t.tid == p.MAD.TID() && !t.again {
			delete(s.traps.open, key)
		}
	}
}

func (s *Subnet) producer(e fabric.End) mad.ProducerType {
	switch s.nodes[e.Node].kind {
	case fabric.Switch:
		return mad.ProducerSwitch
	case fabric.Router:
		return mad.ProducerRouter
	default:
		return mad.ProducerCA
	}
}

// setCapability sets or clears a bit of a port's capabilities and tells the
// subnet manager of it.
func (s *Subnet) setCapability(e fabric.End, bit mad.CapabilityMask, on bool) {
	info := &s.portOf(e).info
	mask := info.CapabilityMask &^ bit
	if on {
		mask |= bit
	}
	if mask == info.CapabilityMask {
		return
	}
	info.CapabilityMask = mask
	s.trap(e, mad.NewNotice(mad.TrapLocalChanges, 0, mad.LocalChangesDetails{LID: info.LID, CapabilityMask: uint32(mask)}))
}

func (s *Subnet) trapLinkState(node fabric.NodeID) {
	at := fabric.End{Node: node}
	s.trap(at, mad.NewNotice(mad.TrapLinkState, 0, mad.LinkStateDetails{LID: s.portOf(at).info.LID}))
}

func (s *Subnet) trapBadMKey(at fabric.End, m *mad.Datagram, from ib.LID) {
	d := mad.BadMKeyDetails{LID: from, Method: m.Method(), Attr: m.Attr(), Modifier: m.Modifier(), MKey: m.MKey()}
	if m.Class() == mad.ClassDirected {
		d.Directed, d.DrSLID, d.HopCount = true, m.DrSLID(), m.HopCount()
		n := copy(d.Path[:], m.ReturnPath()[1:])
		d.Truncated = int(d.HopCount) > n
	}
	s.trap(at, mad.NewNotice(mad.TrapBadMKey, 0, d))
}

func (s *Subnet) trapBadKey(at fabric.End, number mad.TrapNumber, key uint32, p *Packet) {
	s.trap(at, mad.NewNotice(number, 0, mad.BadKeyDetails{
		LID1: p.SLID, LID2: p.DLID, Key: key, SL: p.SL, QP1: p.SQP, QP2: p.DQP, GID2: s.gid(at),
	}))
}

func (s *Subnet) trapSwitchBadPKey(e fabric.End, p *Packet) {
	at := fabric.End{Node: e.Node}
	s.trap(at, mad.NewNotice(mad.TrapSwitchBadPKey, 0, mad.SwitchBadPKeyDetails{
		Valid: mad.ValidLID1 | mad.ValidLID2 | mad.ValidPKey | mad.ValidSL | mad.ValidQP1 | mad.ValidQP2,
		LID1:  p.SLID, LID2: p.DLID, PKey: p.PKey, SL: p.SL, QP1: p.SQP, QP2: p.DQP,
		SwitchLID: s.portOf(at).info.LID, Port: uint8(e.Port),
	}))
}

// gid is the first GID of a port that has an address.
func (s *Subnet) gid(e fabric.End) ib.GID {
	x := s.portOf(e)
	return ib.NewGID(x.info.GidPrefix, x.guid)
}
