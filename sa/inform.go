package sa

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"heddle/ib"
	"heddle/mad"
	"heddle/umad"
)

// Subscription has subnet administration report events. It ends with
// Unsubscribe, and also when another subnet manager takes over, which says so
// by asking ports to register again.
type Subscription struct {
	client *Client
	info   mad.InformInfo
	report func(mad.Notice)
}

// Subscribe asks for reports of events, such as
//
//	mad.InformInfo{IsGeneric: true, Type: mad.InformAll, Trap: mad.TrapGIDIn, Producer: mad.ProducerAll}
//
// and has report called with each: on the port's goroutine, so that it must not
// wait for an answer. Without a GID and LIDs, events of all ports are meant;
// the queue pair is the port's own where it is 0. A report is acknowledged
// first, and one that subnet administration repeats is not given again.
//
// Of all clients of a port one can have subscriptions; for the others Subscribe
// fails with umad.ErrClassTaken.
func (c *Client) Subscribe(ctx context.Context, info mad.InformInfo, report func(mad.Notice)) (*Subscription, error) {
	if err := c.completeInform(&info); err != nil {
		return nil, fmt.Errorf("subscribe: %w", err)
	}
	r, err := c.handleReports()
	if err != nil {
		return nil, fmt.Errorf("subscribe: %w", err)
	}
	s := &Subscription{client: c, info: info, report: report}
	r.add(s)
	if err := s.set(ctx, true); err != nil {
		r.remove(s)
		return nil, fmt.Errorf("subscribe: %w", err)
	}
	return s, nil
}

// Unsubscribe ends the subscription; report is not called again after it
// returned, whether subnet administration took note or not.
func (s *Subscription) Unsubscribe(ctx context.Context) error {
	s.client.reports.remove(s)
	if err := s.set(ctx, false); err != nil {
		return fmt.Errorf("unsubscribe: %w", err)
	}
	return nil
}

func (s *Subscription) set(ctx context.Context, on bool) error {
	info := s.info
	info.Subscribe = on
	_, err := s.client.ask(ctx, mad.MethodSet, mad.AttrInformInfo, info, 0)
	return err
}

// completeInform fills in what an empty field stands for.
func (c *Client) completeInform(info *mad.InformInfo) error {
	if !info.GID.IsValid() && info.LIDRangeBegin == 0 {
		info.LIDRangeBegin = ib.PermissiveLID
	}
	if info.QPN != 0 {
		return nil
	}
	port, err := c.portInfo()
	info.QPN = cmp.Or(port.QPN, ib.GSIQPN)
	return err
}

// reports takes what comes for the subscriptions of a client.
type reports struct {
	port *umad.Port

	mu            sync.Mutex // guards what follows; held while report runs
	subscriptions []*Subscription
	seen          [128]seen // the last reports, in a ring
	next          int
}

// seen tells reports apart.
type seen struct {
	lid ib.LID
	tid uint64
}

// handleReports registers for reports once.
func (c *Client) handleReports() (*reports, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.reports != nil {
		return c.reports, nil
	}
	r := &reports{port: c.port}
	a := umad.Agent{Class: mad.ClassSA, Version: classVersion, RMPP: true, Methods: []mad.Method{mad.MethodReport}}
	if err := c.port.Handle(a, r.take); err != nil {
		return nil, err
	}
	c.reports = r
	return r, nil
}

func (r *reports) add(s *Subscription) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.subscriptions = append(r.subscriptions, s)
}

func (r *reports) remove(s *Subscription) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.subscriptions = slices.DeleteFunc(r.subscriptions, func(x *Subscription) bool { return x == s })
}

// take acknowledges a report and gives it to whom it is for.
func (r *reports) take(m *umad.Message) {
	d := m.Datagram()
	notice, err := mad.ParseNotice(d.Data())
	status, id := mad.StatusOK, seen{m.LID, d.TID()}
	if err != nil || d.Attr() != mad.AttrNotice {
		status = mad.StatusBadAttribute
	}
	if m.Reply(status) == nil {
		_ = r.port.Send(m) // one that gets lost is asked for by another report
	}
	if status == mad.StatusOK {
		r.give(id, notice)
	}
}

func (r *reports) give(id seen, notice mad.Notice) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if slices.Contains(r.seen[:], id) {
		return
	}
	r.seen[r.next] = id
	r.next = (r.next + 1) % len(r.seen)
	for _, s := range r.subscriptions {
		if s.info.Matches(notice) {
			s.report(notice)
		}
	}
}
