package sm

import (
	"context"
	"errors"
	"time"

	"heddle/ib"
	"heddle/mad"
	"heddle/sm/admin"
	"heddle/umad"
)

// serveSA registers subnet administration. Requests wait for workers, and those
// that may wait for ports for a worker of their own; what finds too many waiting
// is told to come again. Joins and leaves take so short that a wait for a worker
// would take longer: they are answered at once, unless others wait, or the change
// has to be kept first.
func (m *Manager) serveSA() error {
	return m.port.Handle(umad.Agent{
		Class: mad.ClassSA, Version: 2, RMPP: true,
		Methods: []mad.Method{mad.MethodGet, mad.MethodSet, mad.MethodGetTable, mad.MethodDelete, mad.MethodGetMulti},
	}, func(msg *umad.Message) {
		queue := m.asked
		if admin.MayBlock(msg.Datagram().Attr()) {
			queue = m.slow
		}
		switch {
		case m.keeper.memory == nil && isMembership(msg.Datagram()) && queue.none():
			m.answer(context.Background(), msg)
		case !queue.put(msg):
			m.busy(msg)
		}
	})
}

// isMembership tells whether that is a join or a leave.
func isMembership(d *mad.Datagram) bool {
	method := d.Method()
	return d.Attr() == mad.AttrMCMemberRecord && (method == mad.MethodSet || method == mad.MethodDelete)
}

func (m *Manager) busy(msg *umad.Message) {
	if err := msg.Reply(mad.StatusBusy); err == nil {
		m.reply(msg)
	}
}

func (m *Manager) reply(msg *umad.Message) {
	if err := m.port.Send(msg); err != nil {
		m.cfg.Log.Warn("answer not sent", "to", msg.Address, "error", err)
	}
}

// table sends the answer to a query. Who has too much on the way already is told
// to come again.
func (m *Manager) table(msg *umad.Message, answer []byte) {
	err := m.port.Send(&umad.Message{Address: msg.Address, Data: answer})
	switch {
	case errors.Is(err, umad.ErrTooMuch):
		m.busy(msg)
	case err != nil:
		m.cfg.Log.Warn("answer not sent", "to", msg.Address, "error", err)
	}
}

// work answers requests until there are no more to come.
func (m *Manager) work(ctx context.Context, q *asked) {
	for msg := q.take(); msg != nil; msg = q.take() {
		lid := msg.LID
		m.answer(ctx, msg)
		q.done(lid)
	}
}

func (m *Manager) answer(ctx context.Context, msg *umad.Message) {
	from := admin.Requester{LID: msg.LID, QPN: msg.QPN}
	method := msg.Datagram().Method()
	answer, ok := m.server().Request(time.Now(), from, msg.Data)
	if !ok {
		return // a standby, say, is silent, and changed nothing
	}
	if method != mad.MethodSet && method != mad.MethodDelete {
		m.table(msg, answer)
		return
	}
	m.keeper.keep(ctx, func(err error) {
		if err != nil {
			m.busy(msg) // the client asks again, whoever is master then
			m.lost(err)
			return
		}
		m.reply(&umad.Message{Address: msg.Address, Data: answer})
	})
	m.changed()
}

// wake tells a loop that there may be something to do; the channel holds one.
func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// untold tells whether tellGroups has something to report.
func (m *Manager) untold() bool {
	m.entriesMu.Lock()
	defer m.entriesMu.Unlock()
	return len(m.entries) > 0
}

// tellGroups reports groups that were created or deleted.
func (m *Manager) tellGroups() {
	m.entriesMu.Lock()
	entries := m.entries
	m.entries = nil
	m.entriesMu.Unlock()
	for i := range entries {
		m.report(m.server().GroupReports(&entries[i], m.cfg.Ports.Manager))
	}
}

// tellPorts reports GIDs that came or went with a sweep.
func (m *Manager) tellPorts(c admin.Changes) {
	for _, change := range []struct {
		trap mad.TrapNumber
		gids []ib.GID
	}{{mad.TrapGIDInService, c.Came}, {mad.TrapGIDOutOfService, c.Gone}} {
		for _, gid := range change.gids {
			n := mad.NewNotice(change.trap, mad.ProducerManager, mad.GIDDetails{GID: gid})
			n.IssuerLID = m.cfg.Ports.Manager
			m.report(m.server().Reports(n))
		}
	}
}
