package admin

import (
	"encoding/binary"
	"sync"
	"sync/atomic"
	"time"

	"heddle/ib"
	"heddle/mad"
	"heddle/sm/group"
)

// Server answers requests. All methods may be called by many goroutines at
// once. Times should not go back.
type Server struct {
	config   Config
	snapshot atomic.Pointer[Snapshot] // nil while nothing is answered
	previous atomic.Pointer[Snapshot] // the one before, which knows ports that are gone
	limiter  *limiter
	requests sync.Pool // of *request
	counters counters

	updating sync.Mutex // held over Update

	groupsMu sync.Mutex
	groups   *group.Table // guarded by groupsMu

	subscriptions subscriptions
	services      services
	repeats       repeats
	aliases       *aliases
}

// New makes a server that is silent until the first Update.
func New(config Config) (*Server, error) {
	config, err := config.filled()
	if err != nil {
		return nil, err
	}
	s := &Server{config: config, groups: config.Groups, limiter: newLimiter(config.Limits), aliases: newAliases()}
	s.subscriptions.limits, s.services.limits = config.Limits, config.Limits
	s.subscriptions.journal, s.services.journal = config.Journal, config.Journal
	s.subscriptions.remember(config.Groups)
	return s, nil
}

// Groups lets a function use the table of groups. Joins and queries of groups
// wait meanwhile. The function, and the table's journal, must not call the
// Server.
func (s *Server) Groups(f func(t *group.Table)) {
	s.groupsMu.Lock()
	defer s.groupsMu.Unlock()
	f(s.groups)
}

// Requester is where a request came from.
type Requester struct {
	// LID is the source of the request, QPN its queue pair.
	LID ib.LID
	QPN ib.QPN
}

// Request answers a request: a datagram, or the whole of a message that came by
// RMPP, which is the headers of its first segment and all of the data. The
// answer is a datagram too, or, where its RMPP header says Active, a whole
// message to be sent by RMPP. ok is false where nothing is to be sent.
func (s *Server) Request(now time.Time, from Requester, req []byte) (answer []byte, ok bool) {
	return s.AppendAnswer(nil, now, from, req)
}

// AppendAnswer is Request that appends the answer to b.
func (s *Server) AppendAnswer(b []byte, now time.Time, from Requester, req []byte) (answer []byte, ok bool) {
	snapshot := s.snapshot.Load()
	if snapshot == nil || len(req) < dataOffset {
		s.counters.silent.Add(1)
		return b, false
	}
	r, _ := s.requests.Get().(*request)
	if r == nil {
		r = &request{}
	}
	*r = request{server: s, snapshot: snapshot, now: now, from: from, raw: req, out: b, start: len(b)}
	ok = r.serve()
	answer = r.out
	*r = request{}
	s.requests.Put(r)
	return answer, ok
}

const (
	headerLen  = 24
	dataOffset = 56
	// classVersion is that of subnet administration.
	classVersion = 2
	attrOffset   = 44 // of the attribute offset
)

var be = binary.BigEndian

// serve answers the request, or tells that nothing is to be sent.
func (r *request) serve() bool {
	h, err := mad.ParseHeader(r.raw)
	if err != nil || h.Class != mad.ClassSA || h.Method.IsResponse() || h.Method == mad.MethodSend || h.Method == mad.MethodTrap {
		r.server.counters.silent.Add(1)
		return false
	}
	r.head, r.data = h, r.raw[dataOffset:]
	sa, err := mad.ParseSAHeader(r.raw[headerLen:])
	if err != nil {
		return false
	}
	r.mask = sa.ComponentMask
	r.finish(r.check(sa.SMKey))
	return true
}

// check answers what may not be asked, and asks what may.
func (r *request) check(key mad.SMKey) mad.Status {
	s := r.server
	r.asker = r.snapshot.at(r.from.LID)
	switch {
	case r.head.ClassVersion != classVersion:
		return mad.StatusBadVersion
	case r.asker == nil:
		return mad.StatusBusy
	case !s.limiter.admits(r.now, r.asker.lid), s.config.Busy != nil && s.config.Busy(r.from, r.head):
		s.counters.busy.Add(1)
		return mad.StatusBusy
	case key != 0 && key != s.config.Key:
		return mad.StatusSADenied
	case len(r.raw) > mad.Size && r.head.Method != mad.MethodGetMulti:
		return mad.StatusSARequestInvalid
	}
	r.trusted = key != 0
	r.begin()
	status := r.dispatch()
	s.limiter.charge(r.now, r.asker.lid, 1+r.work/16)
	return status
}

// dispatch has the request answered by who knows the attribute.
func (r *request) dispatch() mad.Status {
	switch r.head.Method {
	case mad.MethodGet, mad.MethodGetTable:
		return r.query()
	case mad.MethodGetMulti:
		if r.head.Attr == mad.AttrMultiPathRecord {
			return r.multiPath()
		}
	case mad.MethodSet:
		switch r.head.Attr {
		case mad.AttrMCMemberRecord:
			return r.join()
		case mad.AttrInformInfo:
			return r.inform()
		case mad.AttrServiceRecord:
			return r.register()
		case mad.AttrGUIDInfoRecord:
			return r.setGUIDs()
		default:
		}
	case mad.MethodDelete:
		switch r.head.Attr {
		case mad.AttrMCMemberRecord:
			return r.repeatable(r.leave)
		case mad.AttrServiceRecord:
			return r.repeatable(r.unregister)
		case mad.AttrGUIDInfoRecord:
			return r.deleteGUIDs()
		default:
		}
	default:
		return mad.StatusBadMethod
	}
	return mad.StatusBadAttribute
}

// Stats count requests.
type Stats struct {
	Answered uint64 // with status 0
	Refused  uint64 // with another
	Busy     uint64 // of those, because of a limit
	Silent   uint64 // not answered
}

type counters struct{ answered, refused, busy, silent atomic.Uint64 }

// Stats gives the counts so far.
func (s *Server) Stats() Stats {
	c := &s.counters
	return Stats{Answered: c.answered.Load(), Refused: c.refused.Load(), Busy: c.busy.Load(), Silent: c.silent.Load()}
}
