package admin

import (
	"time"

	"heddle/ib"
	"heddle/mad"
)

// request is one that is being answered.
type request struct {
	server   *Server
	snapshot *Snapshot
	now      time.Time
	from     Requester
	asker    *end // who asks
	trusted  bool

	raw  []byte
	head mad.Header
	mask mad.ComponentMask
	data []byte

	filter  mad.Filter
	out     []byte // the answer, from start on
	start   int
	records int
	size    uint16 // of a record, in words of 8 bytes
	attr    mad.AttrID
	full    bool        // the answer is longer than it may be
	work    int         // records and paths that were looked at
	unknown []PortTable // to be read from ports
}

// one tells whether one record is asked for.
func (r *request) one() bool { return r.head.Method == mad.MethodGet }

// begin starts the answer with the header of the request.
func (r *request) begin() {
	r.attr = r.head.Attr
	r.out = append(r.out, r.raw[:dataOffset]...)
}

// want makes the filter of a query. Fields of ignored were looked at already.
func (r *request) want(ignored mad.ComponentMask) bool {
	f, err := mad.NewFilter(r.head.Attr, r.mask&^ignored, r.data)
	r.filter = f
	return err == nil
}

// put adds a record to the answer if it is one that was asked for. It tells
// whether more can be put.
func put[R mad.Record](r *request, record R) bool {
	at := len(r.out)
	r.out = mad.AppendRecord(r.out, record)
	r.work++
	if !r.filter.Match(r.out[at:]) {
		r.out = r.out[:at]
		return true
	}
	return r.count(mad.RecordOffset(record))
}

// answer is put for a record that is the answer whatever was asked.
func answer[R mad.Attribute](r *request, record R) mad.Status {
	r.out = mad.AppendRecord(r.out, record)
	r.count(mad.RecordOffset(record))
	return mad.StatusOK
}

func (r *request) count(size uint16) bool {
	r.size = size
	r.records++
	if len(r.out)-r.start-dataOffset > r.server.config.Limits.Answer {
		r.full = true
	}
	return !r.full && !(r.one() && r.records > 1)
}

// found is the status of a query after all records were put.
func (r *request) found() mad.Status {
	switch {
	case r.full:
		return mad.StatusSANoResources
	case !r.one():
		return mad.StatusOK
	case r.records == 0:
		return mad.StatusSANoRecords
	case r.records > 1:
		return mad.StatusSATooManyRecords
	default:
		return mad.StatusOK
	}
}

// finish makes the header that of the answer. Tables go by RMPP; all else is one
// datagram, in which a refused request has its own data.
func (r *request) finish(status mad.Status) {
	if status != mad.StatusOK {
		r.out = append(r.out[:r.start], r.raw...)
		r.out = r.out[:min(len(r.out), r.start+mad.Size)]
		r.server.counters.refused.Add(1)
	} else {
		r.server.counters.answered.Add(1)
	}
	rmpp := mad.RMPPHeader{}
	size := r.size
	if r.isTable() && status == mad.StatusOK {
		rmpp = mad.RMPPHeader{Version: mad.RMPPVersion, Type: mad.RMPPData, RespTime: mad.RMPPNoRespTime, Flags: mad.RMPPActive}
	} else {
		size = 0
		if short := r.start + mad.Size - len(r.out); short > 0 {
			r.out = append(r.out, make([]byte, short)...)
		}
	}
	h := r.head
	h.Status, h.Method = status, responseTo(h.Method)
	if status == mad.StatusOK {
		h.Attr = r.attr
	}
	h.AppendTo(r.out[r.start:r.start])
	rmpp.AppendTo(r.out[r.start+headerLen : r.start+headerLen])
	be.PutUint16(r.out[r.start+attrOffset:], size)
}

func (r *request) isTable() bool {
	return r.head.Method == mad.MethodGetTable || r.head.Method == mad.MethodGetMulti
}

// responseTo is the method of an answer, also to one that nothing answers.
func responseTo(m mad.Method) mad.Method {
	if answer, ok := m.Response(); ok {
		return answer
	}
	return m | mad.MethodGetResp&^mad.MethodGet
}

// sees tells whether the requester may know of a port.
func (r *request) sees(e *end) bool {
	return r.trusted || e == r.asker || r.snapshot.classes.share(r.asker.class, e.class)
}

// mayUse tells whether the requester is in the partition of a P_Key.
func (r *request) mayUse(k ib.PKey) bool {
	return r.trusted || r.snapshot.classes.holds(r.asker.class, k)
}
