package admin

import (
	"slices"

	"heddle/ib"
	"heddle/mad"
	"heddle/sm/group"
)

// Report is what a subscriber is to be told: a datagram to a queue pair, to be
// sent until it is answered by a ReportResp or given up. Who sends it gives it
// a transaction ID.
type Report struct {
	Subscriber ib.GUID
	LID        ib.LID
	QPN        ib.QPN
	// RespTime is how long the subscriber says that it takes to answer.
	RespTime mad.TimeValue
	Datagram mad.Datagram
}

// Reports gives what subscribers are to be told of an event of a port: one that
// came or went, by traps 64 and 65, or one that sent a trap itself. Subscribers
// that share no partition with the port are told nothing. The issuer's LID, and
// for traps 64 and 65 the details, say which port it is.
func (s *Server) Reports(n mad.Notice) []Report {
	snapshot := s.snapshot.Load()
	if snapshot == nil {
		return nil
	}
	keys, known := s.concerns(snapshot, n)
	if n.IssuerGID == (ib.GID{}) {
		if e := snapshot.at(n.IssuerLID); e != nil {
			n.IssuerGID = snapshot.gid(e)
		}
	}
	return s.reports(snapshot, n, func(e *end) bool { return known && shareKey(snapshot.pkeys(e), keys) })
}

// concerns is the P_Key table of the port that a notice is about.
func (s *Server) concerns(snapshot *Snapshot, n mad.Notice) (keys []ib.PKey, known bool) {
	details, isGID := details(n)
	for _, in := range []*Snapshot{snapshot, s.previous.Load()} {
		if in == nil {
			continue
		}
		e := in.at(n.IssuerLID)
		if isGID {
			e = in.named(details)
		}
		if e != nil {
			return in.pkeys(e), true
		}
	}
	return nil, false
}

// details is the GID that traps 64 to 67 tell of.
func details(n mad.Notice) (ib.GID, bool) {
	d, _ := n.ParseDetails()
	gid, ok := d.(mad.GIDDetails)
	return gid.GID, ok
}

// GroupReports gives what subscribers are to be told of an entry of the groups'
// journal: that a group was created or deleted, to whom is in its partition. It
// is to be called for each entry, in their order, but not by the journal itself.
// issuer is the subnet manager's own LID.
func (s *Server) GroupReports(e *group.Entry, issuer ib.LID) []Report {
	key := s.subscriptions.keyOf(e)
	snapshot := s.snapshot.Load()
	trap := e.Notice()
	if trap == 0 || snapshot == nil {
		return nil
	}
	n := mad.NewNotice(mad.TrapNumber(trap), mad.ProducerManager, mad.GIDDetails{GID: e.MGID.GID()})
	n.IssuerLID = issuer
	if own := snapshot.at(issuer); own != nil {
		n.IssuerGID = snapshot.gid(own)
	}
	return s.reports(snapshot, n, func(e *end) bool { return snapshot.classes.holds(e.class, key) })
}

// keyOf is the P_Key of the group of an entry, which is remembered until the
// group is gone.
func (s *subscriptions) keyOf(e *group.Entry) ib.PKey {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch e.Kind {
	case group.EntryCreated, group.EntryConfigured:
		s.keys[e.MGID] = e.Params.PKey
	case group.EntryDeleted:
		defer delete(s.keys, e.MGID)
	case group.EntryState:
		if e.State == group.Destroying {
			defer delete(s.keys, e.MGID)
		}
	default: // the group stays as it is
	}
	return s.keys[e.MGID]
}

// reports makes the reports of a notice to those who subscribed and may know.
func (s *Server) reports(snapshot *Snapshot, n mad.Notice, may func(*end) bool) (list []Report) {
	subs := &s.subscriptions
	subs.mu.Lock()
	defer subs.mu.Unlock()
	if subs.total == 0 {
		return nil
	}
	for i := range snapshot.ends {
		e := &snapshot.ends[i]
		for _, sub := range subs.ports[e.guid] {
			if sub.matches(n) && (sub.trusted || may(e)) {
				list = append(list, report(e, &sub.info, n))
			}
		}
	}
	return list
}

// matches tells whether a subscription is for a notice: for what it is, and for
// the port that it is of or about.
func (s *subscription) matches(n mad.Notice) bool {
	i := &s.info
	if !i.Matches(n) {
		return false
	}
	if i.GID.IsValid() {
		about, _ := details(n)
		return i.GID == n.IssuerGID || i.GID == about
	}
	return i.LIDRangeBegin == ib.PermissiveLID || i.LIDRangeBegin <= n.IssuerLID && n.IssuerLID <= i.LIDRangeEnd
}

func report(e *end, info *mad.InformInfo, n mad.Notice) Report {
	r := Report{Subscriber: e.guid, LID: e.lid, QPN: info.QPN, RespTime: info.RespTime}
	r.Datagram.SetHeader(mad.Header{Class: mad.ClassSA, ClassVersion: classVersion, Method: mad.MethodReport, Attr: mad.AttrNotice})
	n.AppendTo(r.Datagram.Data()[:0])
	return r
}

// shareKey tells whether ports with two P_Key tables may talk.
func shareKey(a, b []ib.PKey) bool {
	return slices.ContainsFunc(a, func(k ib.PKey) bool { return slices.ContainsFunc(b, k.Matches) })
}
