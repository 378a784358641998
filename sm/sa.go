package sm

import (
	"context"
	"time"

	"heddle/ib"
	"heddle/mad"
	"heddle/sm/admin"
	"heddle/umad"
)

// askedLimit is how many requests to subnet administration wait for a worker.
const askedLimit = 4096

// serveSA registers subnet administration. Requests wait for workers; what
// finds too many waiting is told to come again.
func (m *Manager) serveSA() error {
	return m.port.Handle(umad.Agent{
		Class: mad.ClassSA, Version: 2, RMPP: true,
		Methods: []mad.Method{mad.MethodGet, mad.MethodSet, mad.MethodGetTable, mad.MethodDelete, mad.MethodGetMulti},
	}, func(msg *umad.Message) {
		select {
		case m.asked <- msg.Clone():
		default:
			m.busy(msg)
		}
	})
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

// work answers requests until the context ends.
func (m *Manager) work(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case msg := <-m.asked:
			m.answer(ctx, msg)
		}
	}
}

func (m *Manager) answer(ctx context.Context, msg *umad.Message) {
	from := admin.Requester{LID: msg.LID, QPN: msg.QPN}
	method := msg.Datagram().Method()
	answer, ok := m.server().Request(time.Now(), from, msg.Data)
	if method != mad.MethodSet && method != mad.MethodDelete {
		if ok {
			m.reply(&umad.Message{Address: msg.Address, Data: answer})
		}
		return
	}
	m.keeper.keep(ctx, func(err error) {
		switch {
		case err != nil:
			m.busy(msg) // the client asks again, whoever is master then
			m.lost(err)
		case ok:
			m.reply(&umad.Message{Address: msg.Address, Data: answer})
		}
	})
	wake(m.joined)
}

// wake tells a loop that there may be something to do; the channel holds one.
func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
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

// report sends reports until they are answered, or given up.
func (m *Manager) report(list []admin.Report) {
	for i := range list {
		r := &list[i]
		to := umad.ToLID(r.LID)
		to.QPN = r.QPN
		err := m.port.Start(&umad.Message{Address: to, Data: r.Datagram[:]}, umad.CallOptions{}, func(_ *umad.Message, err error) {
			if err != nil {
				m.cfg.Log.Info("report not answered", "to", to, "error", err)
			}
		})
		if err != nil {
			m.cfg.Log.Warn("report not sent", "to", to, "error", err)
		}
	}
}
