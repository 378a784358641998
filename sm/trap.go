package sm

import (
	"fmt"

	"heddle/mad"
	"heddle/umad"
)

// trapped answers a trap, so that it is not repeated, and does what it calls
// for. It runs on the port's goroutine.
func (m *Manager) trapped(msg *umad.Message) {
	n, err := mad.ParseNotice(msg.Datagram().Data())
	if err != nil || msg.Datagram().Attr() != mad.AttrNotice {
		m.cfg.Log.Warn("trap that is none", "lid", msg.LID, "error", err)
		return
	}
	m.repress(msg)
	m.report(m.server().Reports(n))
	why := fmt.Sprintf("trap %v of LID %d", n.Trap, n.IssuerLID)
	if !n.IsGeneric {
		m.cfg.Log.Info("a vendor's trap", "lid", n.IssuerLID, "device", uint16(n.Trap))
		return
	}
	switch n.Trap {
	case mad.TrapLinkState, mad.TrapLocalChanges, mad.TrapSystemImage:
		m.Resweep(why)
	case mad.TrapBadMKey, mad.TrapBadPKey, mad.TrapBadQKey, mad.TrapSwitchBadPKey,
		mad.TrapLinkIntegrity, mad.TrapBufferOverrun, mad.TrapFlowControl:
		details, _ := n.ParseDetails()
		m.cfg.Log.Warn(why, "details", fmt.Sprintf("%+v", details))
	default:
		m.cfg.Log.Info(why)
	}
}

func (m *Manager) repress(msg *umad.Message) {
	if err := msg.Reply(mad.StatusOK); err != nil {
		m.cfg.Log.Warn("trap not answered", "lid", msg.LID, "error", err)
		return
	}
	msg.Datagram().SetMKey(m.cfg.Ports.MKey)
	if err := m.port.Send(msg); err != nil {
		m.cfg.Log.Warn("trap not answered", "lid", msg.LID, "error", err)
	}
}
