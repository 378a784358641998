package sim

import (
	"fmt"

	"heddle/verbs"
	"heddle/verbs/internal/queue"
)

// mw is a memory window. Its key's place in the table of regions holds what it is
// bound to, or a region that lets nobody in.
type mw struct {
	pd   *pd
	kind verbs.MWType

	key    uint32        // of the OpBind that was posted last; guarded by net.mu, as all below
	place  *queue.Region // in the table
	of     *mr           // nil when it is not bound
	by     *qp           // that bound it, of type 2
	closed bool
}

// AllocMW implements verbs.WindowAllocator.
func (p *pd) AllocMW(t verbs.MWType) (verbs.MW, error) {
	p.ctx.net.enter()
	defer p.ctx.net.leave()
	if err := p.usable(); err != nil {
		return nil, fmt.Errorf("allocate window: %w", err)
	}
	if caps := &p.ctx.net.caps; (t != verbs.MWType1 || !caps.Windows1) && (t != verbs.MWType2 || !caps.Windows2) {
		return nil, fmt.Errorf("allocate window of %v: %w", t, verbs.ErrNotSupported)
	}
	place, err := p.ctx.dev.regions.Window(p.number)
	if err != nil {
		return nil, err
	}
	p.made++
	return &mw{pd: p, kind: t, key: place.Key, place: place}, nil
}

// RKey implements verbs.MW.
func (w *mw) RKey() uint32 {
	w.pd.ctx.net.mu.Lock()
	defer w.pd.ctx.net.mu.Unlock()
	return w.key
}

// renew is the key of an OpBind that is posted.
func (w *mw) renew() uint32 {
	w.key = queue.Renew(w.key)
	return w.key
}

// put has a region be what the window shows.
func (w *mw) put(r *queue.Region) {
	d := w.pd.ctx.dev
	delete(d.windows, w.place.Key)
	d.regions.Put(w.place, r)
	w.place = r
}

// bind shows a part of an MR.
func (w *mw) bind(m *mr, by *qp, part *queue.Region) {
	w.release()
	w.put(part)
	w.pd.ctx.dev.windows[part.Key] = w
	w.of, w.by = m, by
	m.windows++
}

// release takes the window back: its key is of no use any more.
func (w *mw) release() {
	if w.of != nil {
		w.of.windows--
		w.of, w.by = nil, nil
		w.put(w.place.Closed(queue.Renew(w.place.Key)))
	}
}

// Close implements verbs.MW.
func (w *mw) Close() error {
	w.pd.ctx.net.enter()
	defer w.pd.ctx.net.leave()
	if w.closed {
		return nil
	}
	w.release()
	w.closed = true
	w.pd.made--
	w.pd.ctx.dev.regions.Remove(w.place)
	return nil
}

// takeWindows takes the windows back that peers may use through a QP only.
func (q *qp) takeWindows() {
	for _, w := range q.pd.ctx.dev.windows {
		if w.by == q {
			w.release()
		}
	}
}

// mayBind tells what is wrong with an OpBind when it is posted.
func (q *qp) mayBind(wr *verbs.SendWR) error {
	w, ok := wr.MW.(*mw)
	m, ok2 := wr.BindMR.(*mr)
	switch {
	case !ok || !ok2 || w.pd != q.pd || m.pd != q.pd:
		return fmt.Errorf("window, MR and QP are not of one PD: %w", verbs.ErrInvalid)
	case w.closed || m.closed:
		return verbs.ErrClosed
	default:
		return nil
	}
}

// isLocal tells whether an operation is done without a packet.
func isLocal(op verbs.Op) bool { return op == verbs.OpBind || op == verbs.OpLocalInv }

// doLocal does such a request in its turn.
func (q *qp) doLocal(wr *verbs.SendWR) verbs.Status {
	if wr.Op == verbs.OpBind {
		return q.bindWindow(wr)
	}
	// Only type 2 has a QP.
	w := q.pd.ctx.dev.windows[wr.RKey]
	if w == nil || w.by != q {
		return verbs.StatusBind
	}
	w.release()
	return verbs.StatusOK
}

// bindWindow does an OpBind (IBTA 10.6.7.2.2 and 10.6.7.2.3).
func (q *qp) bindWindow(wr *verbs.SendWR) verbs.Status {
	w, m, place := wr.MW.(*mw), wr.BindMR.(*mr), wr.SGEs[0]
	changes := wr.BindAccess&(verbs.RemoteWrite|verbs.RemoteAtomic) != 0
	switch {
	case w.closed || m.closed:
		return verbs.StatusBind
	case w.kind == verbs.MWType2 && (w.of != nil || place.Length == 0):
		return verbs.StatusBind
	case place.Length == 0:
		w.release()
		return verbs.StatusOK
	case m.in != nil || m.Access&verbs.WindowBind == 0 || changes && m.Access&verbs.LocalWrite == 0:
		return verbs.StatusBind
	}
	var by *qp
	var number uint32
	if w.kind == verbs.MWType2 {
		by, number = q, uint32(q.number)
	}
	part := m.Part(place.Addr, int(place.Length), wr.BindAccess, wr.RKey, number)
	if part == nil {
		return verbs.StatusBind
	}
	w.bind(m, by, part)
	return verbs.StatusOK
}

var (
	_ verbs.WindowAllocator = (*pd)(nil)
	_ verbs.MW              = (*mw)(nil)
)
