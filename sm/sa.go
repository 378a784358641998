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
// is told to come again. Joins and leaves, and the search for one path, take so
// short that a wait for a worker would take longer: they are answered at once,
// unless others wait, or the change has to be kept first.
func (m *Manager) serveSA() error {
	answers := m.worker(m.port.Answers())
	return m.port.Handle(umad.Agent{
		Class: mad.ClassSA, Version: 2, RMPP: true,
		Methods: []mad.Method{mad.MethodGet, mad.MethodSet, mad.MethodGetTable, mad.MethodDelete, mad.MethodGetMulti},
	}, func(msg *umad.Message) {
		queue := m.asked
		if admin.MayBlock(msg.Datagram().Attr()) {
			queue = m.slow
		}
		switch {
		case m.isQuick(msg.Datagram()) && queue.none():
			answers.next(context.Background(), msg)
		case !queue.put(msg):
			m.busy(msg)
		}
	})
}

// isQuick tells whether a request takes shorter than a wait for a worker.
func (m *Manager) isQuick(d *mad.Datagram) bool {
	return isPath(d) || m.keeper.memory == nil && isMembership(d)
}

// isMembership tells whether that is a join or a leave.
func isMembership(d *mad.Datagram) bool {
	return d.Attr() == mad.AttrMCMemberRecord && isChange(d)
}

// isPath tells whether that asks for one path.
func isPath(d *mad.Datagram) bool {
	return d.Attr() == mad.AttrPathRecord && d.Method() == mad.MethodGet
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

// worker answers requests of subnet administration.
type worker struct {
	*Manager
	batch   *umad.Batch
	answers [umad.BatchLimit]umad.Message // that batch may hold; their memory is used again
	at      int
}

func (m *Manager) worker(b *umad.Batch) *worker { return &worker{Manager: m, batch: b} }

// next answers a request in memory that the batch does not hold any more.
func (w *worker) next(ctx context.Context, msg *umad.Message) {
	w.at = (w.at + 1) % len(w.answers)
	w.answer(ctx, msg, &w.answers[w.at])
}

// work answers requests until there are no more to come.
func (m *Manager) work(ctx context.Context, q *asked) {
	w := m.worker(m.port.Batch())
	for list := q.take(nil); len(list) > 0; list = q.take(list[:0]) {
		for _, msg := range list {
			w.next(ctx, msg)
		}
		if err := w.batch.Flush(); err != nil {
			m.cfg.Log.Warn("answers not sent", "error", err)
		}
		q.done(list)
	}
}

// answer answers a request, in the memory of to where that is done at once.
func (w *worker) answer(ctx context.Context, msg, to *umad.Message) {
	changes := isChange(msg.Datagram())
	if changes && w.keeper.memory != nil {
		w.change(ctx, msg.Clone()) // the answer may come when msg is used again
		return
	}
	if cap(to.Data) > mad.Size {
		to.Data = nil // a table's
	}
	answer, ok := w.server().AppendAnswer(to.Data[:0], time.Now(), requester(msg), msg.Data)
	*to = umad.Message{Address: msg.Address, Data: answer}
	if !ok {
		return // a standby, say, is silent
	}
	err := w.batch.Send(to)
	if changes {
		w.changed()
	}
	switch {
	case errors.Is(err, umad.ErrTooMuch): // it has too much on the way already
		w.busy(msg)
	case err != nil:
		w.cfg.Log.Warn("answer not sent", "to", msg.Address, "error", err)
	}
}

func requester(msg *umad.Message) admin.Requester {
	return admin.Requester{LID: msg.LID, QPN: msg.QPN}
}

// isChange tells whether a request changes something, which has to be kept.
func isChange(d *mad.Datagram) bool {
	return d.Method() == mad.MethodSet || d.Method() == mad.MethodDelete
}

// change answers a request that changes something, when that is kept.
func (m *Manager) change(ctx context.Context, msg *umad.Message) {
	server := m.server()
	answer, ok := server.Request(time.Now(), requester(msg), msg.Data)
	if !ok {
		return // a standby, say, is silent, and changed nothing
	}
	m.keeper.keep(ctx, server.era, func(err error) {
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

// tellGroups has what changed be kept, and then reports groups that were created
// or deleted.
func (m *Manager) tellGroups(ctx context.Context) {
	m.entriesMu.Lock()
	entries := m.entries
	m.entries = nil
	m.entriesMu.Unlock()
	server, manager := m.server(), m.cfg.Ports.Manager
	m.keeper.keep(ctx, server.era, func(err error) {
		if err != nil {
			m.lost(err)
			return
		}
		for i := range entries {
			m.report(server.GroupReports(&entries[i], manager))
		}
	})
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
