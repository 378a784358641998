package sm

import (
	"errors"
	"net"
	"sync"
	"time"

	"heddle/ib"
	"heddle/sm/admin"
	"heddle/umad"
)

// reports are those that subscribers have not answered yet. A subscriber that
// answers none gets no more than so many at once, and loses those beyond a
// limit, so that it costs the manager little, and others nothing.
type reports struct {
	mu      sync.Mutex
	to      map[ib.GUID]*outbox // guarded by mu, as what follows
	waiting int                 // of all
	dropped uint64
}

// outbox is what one subscriber is to be told.
type outbox struct {
	waiting []admin.Report
	out     int
	full    bool // some were dropped since none waited
}

const (
	reportsOut     = 16      // to one subscriber at once
	reportsEach    = 1 << 14 // that wait for one
	reportsWaiting = 1 << 16 // that wait for all
)

// report sends reports until they are answered, or given up.
func (m *Manager) report(list []admin.Report) {
	for i := range list {
		if r, ok := m.reports.add(&list[i]); ok {
			m.sendReport(r)
		} else if r != nil {
			m.cfg.Log.Warn("a subscriber does not take its reports, and loses some", "port", r.Subscriber, "lid", r.LID)
		}
	}
}

// add takes a report: ok where it is to be sent now. One without ok is the first
// that was dropped.
func (s *reports) add(r *admin.Report) (_ *admin.Report, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.to[r.Subscriber]
	if o == nil {
		if s.to == nil {
			s.to = map[ib.GUID]*outbox{}
		}
		o = &outbox{}
		s.to[r.Subscriber] = o
	}
	switch {
	case o.out < reportsOut:
		o.out++
		return r, true
	case len(o.waiting) < reportsEach && s.waiting < reportsWaiting:
		o.waiting = append(o.waiting, *r)
		s.waiting++
		return nil, false
	}
	s.dropped++
	if o.full {
		return nil, false
	}
	o.full = true
	return r, false
}

// next takes the next report for a subscriber after one was answered or given
// up, or nil.
func (s *reports) next(to ib.GUID) *admin.Report {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.to[to]
	if len(o.waiting) == 0 {
		if o.out--; o.out == 0 {
			delete(s.to, to)
		}
		return nil
	}
	r := o.waiting[0]
	o.waiting = o.waiting[1:]
	if s.waiting--; len(o.waiting) == 0 {
		o.waiting, o.full = nil, false
	}
	return &r
}

// A subscriber is waited for as long as it says that it takes, and as long as
// the way there and back may take, but for 10 s at most: what it says is not to
// be trusted.
const (
	reportWay   = 200 * time.Millisecond
	reportLimit = 10 * time.Second
)

// patience is how long the answer to each try of a report is waited for.
func patience(r *admin.Report) umad.CallOptions {
	return umad.CallOptions{Timeout: min(r.RespTime.Duration(), reportLimit-reportWay) + reportWay}
}

// sendReport sends a report, and after it those that waited for it.
func (m *Manager) sendReport(r *admin.Report) {
	for r != nil {
		to, subscriber := umad.ToLID(r.LID), r.Subscriber
		to.QPN = r.QPN
		err := m.port.Start(&umad.Message{Address: to, Data: r.Datagram[:]}, patience(r), func(_ *umad.Message, err error) {
			if err != nil {
				m.cfg.Log.Debug("report not answered", "to", to, "error", err)
			}
			m.sendReport(m.reports.next(subscriber))
		})
		if err == nil || errors.Is(err, net.ErrClosed) {
			return
		}
		m.cfg.Log.Warn("report not sent", "to", to, "error", err)
		r = m.reports.next(subscriber)
	}
}
