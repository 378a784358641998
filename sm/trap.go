package sm

import (
	"context"
	"fmt"
	"time"

	"heddle/ib"
	"heddle/mad"
	"heddle/sm/plan"
	"heddle/umad"
)

// trapped answers a trap, so that it is not repeated, and does what it calls
// for. It runs on the port's goroutine.
func (m *Manager) trapped(msg *umad.Message) {
	n, err := mad.ParseNotice(msg.Datagram().Data())
	if err != nil || msg.Datagram().Attr() != mad.AttrNotice {
		m.cfg.Log.Debug("trap that is none", "lid", msg.LID, "error", err)
		return
	}
	m.repress(msg)
	details, _ := n.ParseDetails()
	source := sourceOf(n, details)
	number := n.Trap
	if !n.IsGeneric {
		number = 0 // all of a vendor's are one
	}
	v := m.traps.take(time.Now(), source, number)
	if v.sick {
		m.cfg.Log.Warn("too many traps: unhealthy", "trap", n.Trap, "lid", source.lid, "port", source.port, "repeats", v.run)
	}
	if v.disable {
		select {
		case m.babbling <- source:
		default: // the next one asks again, after a window without any
		}
	}
	if v.heed {
		m.heed(n, source, details, v.run)
	}
}

// heed does what a trap calls for.
func (m *Manager) heed(n mad.Notice, s trapSource, details mad.Details, run int) {
	m.report(m.server().Reports(n))
	why := fmt.Sprintf("trap %v of LID %d", n.Trap, n.IssuerLID)
	if !n.IsGeneric {
		m.cfg.Log.Info("a vendor's trap", "lid", n.IssuerLID, "device", uint16(n.Trap))
		return
	}
	switch n.Trap {
	case mad.TrapLinkState, mad.TrapLocalChanges, mad.TrapSystemImage:
		m.Resweep(why)
		return
	default:
	}
	if s.kind == changes {
		m.cfg.Log.Info(why)
		return
	}
	m.cfg.Log.Warn(why, "port", s.port, "repeats", run, "details", fmt.Sprintf("%+v", details))
}

// sourceOf tells whose a trap is.
func sourceOf(n mad.Notice, details mad.Details) trapSource {
	s := trapSource{lid: n.IssuerLID, kind: changes}
	if !n.IsGeneric {
		return s
	}
	s.kind = kindOfTrap(n.Trap)
	switch d := details.(type) {
	case mad.PortErrorDetails:
		s.lid, s.port = d.LID, d.Port
	case mad.SwitchBadPKeyDetails:
		s.port = d.Port
	default:
	}
	return s
}

func (m *Manager) repress(msg *umad.Message) {
	if err := msg.Reply(mad.StatusOK); err != nil {
		m.cfg.Log.Warn("trap not answered", "lid", msg.LID, "error", err)
		return
	}
	msg.Datagram().SetMKey(m.mkey)
	if err := m.port.Send(msg); err != nil {
		m.cfg.Log.Warn("trap not answered", "lid", msg.LID, "error", err)
	}
}

// meetPorts tells the ledger of traps whose LIDs there are.
func (m *Manager) meetPorts() {
	owners := map[ib.LID]trapOwner{}
	for p, r := range m.lids {
		o := trapOwner{guid: p.Node.GUID(), label: p.Node.Label(), ports: p.Node.Info.NumPorts}
		for lid := r.First; lid <= r.Last; lid++ {
			owners[lid] = o
		}
	}
	m.traps.meet(owners)
}

// silence disables the link of a port that babbles, at its end that is a switch,
// and of two at the nearer, so that the answer comes back. The manager's own
// link stays.
func (m *Manager) silence(ctx context.Context, s trapSource) error {
	at, ok := m.switchEnd(s)
	if !ok {
		m.cfg.Log.Error("a port babbles, and is not disabled: it is the manager's own, or not known", "lid", s.lid, "port", s.port)
		return nil
	}
	m.cfg.Log.Error("a port babbles, and its link is disabled", "lid", s.lid, "port", s.port, "at", at.Node.Label(), "number", at.Port)
	stage := plan.Stage{Name: "babbling port", SMPs: []plan.SMP{plan.Disable(at)}}
	var r Report
	err := m.run(ctx, &r, stage)
	m.publish(func(s *Status) { s.add(&r) })
	return err
}

// switchEnd is the end of a source's link that can be disabled.
func (m *Manager) switchEnd(s trapSource) (at plan.PortRef, ok bool) {
	for p, r := range m.lids {
		if s.lid < r.First || s.lid > r.Last {
			continue
		}
		near := plan.PortRef{Node: p.Node, Port: s.port}
		peer, number, ok := p.Node.Peer(s.port)
		if !ok {
			return at, false
		}
		far := plan.PortRef{Node: peer, Port: number}
		if own := m.own(); near == own || far == own {
			return at, false
		}
		if !near.Node.IsSwitch() || far.Node.IsSwitch() && len(far.Node.Path) < len(near.Node.Path) {
			near = far
		}
		return near, near.Node.IsSwitch()
	}
	return at, false
}
