package admin

import (
	"heddle/ib"
	"heddle/mad"
)

// wish is what a request says of the paths that it wants, by whatever record.
type wish struct {
	record mad.PathRecord // fields that are not asked for are zero

	mtu, rate, lifetime     bool // asked for
	pkey, sl, reversible    bool
	traffic, label, hopping bool // traffic class, flow label, hop limit
	most                    int  // paths of a pair
}

// side is one end of the paths that are asked for.
type side struct {
	end *end   // nil for every port
	gid ib.GID // as it was asked for; zero for the port's first
	lid ib.LID // 0 for each of the port's
}

// path answers a PathRecord.
func (r *request) path() mad.Status {
	q, err := mad.ParsePathRecord(r.data)
	if err != nil {
		return mad.StatusSARequestInvalid
	}
	const anyDestination = mad.PathRecordDGID | mad.PathRecordDLID
	if r.one() && (r.mask&anyDestination == 0 || r.mask&(mad.PathRecordSGID|mad.PathRecordSLID) == 0) {
		return mad.StatusSAInsufficientFields
	}
	w := r.pathWish(q)
	if r.mask.Has(mad.PathRecordRawTraffic) && q.RawTraffic {
		return r.found() // there are none
	}
	from, status := r.side(r.mask.Has(mad.PathRecordSGID), q.SGID, r.mask.Has(mad.PathRecordSLID), q.SLID)
	if status != mad.StatusOK {
		return r.none(status)
	}
	if r.mask.Has(mad.PathRecordDGID) && q.DGID.IsMulticast() || r.mask.Has(mad.PathRecordDLID) && ib.MLID(q.DLID).IsValid() {
		return r.groupPath(&w, from, q)
	}
	to, status := r.side(r.mask.Has(mad.PathRecordDGID), q.DGID, r.mask.Has(mad.PathRecordDLID), q.DLID)
	if status != mad.StatusOK {
		return r.none(status)
	}
	return r.between(&w, from, to)
}

// none is the status of a query that finds nothing: a table is empty then.
func (r *request) none(status mad.Status) mad.Status {
	if status == mad.StatusSANoRecords {
		return r.found()
	}
	return status
}

func (r *request) pathWish(q mad.PathRecord) wish {
	m := r.mask
	w := wish{
		record:   mad.PathRecord{ServiceID: q.ServiceID, QoSClass: q.QoSClass},
		mtu:      m.Has(mad.PathRecordMTUSelector | mad.PathRecordMTU),
		rate:     m.Has(mad.PathRecordRateSelector | mad.PathRecordRate),
		lifetime: m.Has(mad.PathRecordLifetimeSelector | mad.PathRecordLifetime),
		pkey:     m.Has(mad.PathRecordPKey), sl: m.Has(mad.PathRecordSL),
		reversible: m.Has(mad.PathRecordReversible) && q.Reversible,
		traffic:    m.Has(mad.PathRecordTClass), label: m.Has(mad.PathRecordFlowLabel),
		hopping: m.Has(mad.PathRecordHopLimit),
	}
	if !m.Has(mad.PathRecordServiceID) {
		w.record.ServiceID = 0
	}
	if !m.Has(mad.PathRecordQoSClass) {
		w.record.QoSClass = 0
	}
	w.take(q)
	w.most = r.most(m.Has(mad.PathRecordNumbPath), q.NumbPath)
	return w
}

// take takes the fields of a request that are asked for.
func (w *wish) take(q mad.PathRecord) {
	p := &w.record
	p.MTUSelector, p.MTU = q.MTUSelector, q.MTU
	p.RateSelector, p.Rate = q.RateSelector, q.Rate
	p.LifetimeSelector, p.Lifetime = q.LifetimeSelector, q.Lifetime
	p.PKey, p.SL = q.PKey, q.SL
	if w.traffic {
		p.TClass = q.TClass
	}
	if w.label {
		p.FlowLabel = q.FlowLabel
	}
	if w.hopping {
		p.HopLimit = q.HopLimit
	}
}

// most is how many paths of a pair are told: one by a Get.
func (r *request) most(has bool, numbPath uint8) int {
	const all = 127
	switch {
	case r.one():
		return 1
	case has:
		return int(numbPath & all)
	default:
		return all
	}
}

// side finds the port of a GID or LID, or of both. A port that the requester
// must not see is not found.
func (r *request) side(hasGID bool, gid ib.GID, hasLID bool, lid ib.LID) (side, mad.Status) {
	var s side
	if hasGID {
		s.end, s.gid = r.snapshot.named(gid), gid
		if s.end == nil {
			return s, mad.StatusSAInvalidGID
		}
	}
	if hasLID {
		e := r.snapshot.at(lid)
		if e == nil || hasGID && e != s.end {
			return s, mad.StatusSANoRecords
		}
		s.end, s.lid = e, lid
	}
	if s.end != nil && !r.sees(s.end) {
		return s, mad.StatusSANoRecords
	}
	return s, mad.StatusOK
}

// between puts the paths of all pairs of two sides. What could not be answered
// is not begun.
func (r *request) between(w *wish, from, to side) mad.Status {
	if from.end == nil && to.end == nil && r.tooManyPairs() {
		return mad.StatusSANoResources
	}
	switch {
	case from.end != nil && to.end != nil:
		r.pair(w, from, to)
	case from.end != nil:
		r.each(func(e *end) bool { return r.pair(w, from, side{end: e}) })
	case to.end != nil:
		r.each(func(e *end) bool { return r.pair(w, side{end: e}, to) })
	default:
		r.each(func(e *end) bool {
			return r.each(func(f *end) bool { return r.pair(w, side{end: e}, side{end: f}) })
		})
	}
	return r.found()
}

func (r *request) tooManyPairs() bool {
	n := len(r.snapshot.ends)
	return n*n > r.server.config.Limits.Answer/pathLen
}

const pathLen = 64

// each visits the ports that the requester sees until it has seen enough.
func (r *request) each(visit func(e *end) bool) bool {
	for i := range r.snapshot.ends {
		if e := &r.snapshot.ends[i]; r.sees(e) && !visit(e) {
			return false
		}
	}
	return true
}

// pair puts the paths of two ports, first those of the same path bits, and tells
// whether more can be put.
func (r *request) pair(w *wish, from, to side) bool {
	p := w.record
	var ok bool
	if p.PKey, ok = r.partition(w, from.end, to.end); !ok {
		return true
	}
	sl := r.snapshot.subnet.SLs[p.PKey.Base()]
	if w.sl && sl != p.SL {
		return true
	}
	p.SL = sl
	p.SGID, p.DGID = r.gidOf(from), r.gidOf(to)
	sources, dests := from.lids(), to.lids()
	found := 0
	for i := range sources * dests {
		p.SLID = from.nth(i % sources)
		p.DLID = to.nth((i%sources + i/sources) % dests)
		if !r.lay(w, p, from.end, to.end, &found) {
			return false
		}
		if found >= w.most {
			break
		}
	}
	return true
}

// maxWork is how many paths one request may have looked at: with an LMC there
// are far more than a table could tell, of which a selector may want none.
const maxWork = 1 << 19

// lay puts one path, if there is one that is good enough.
func (r *request) lay(w *wish, p mad.PathRecord, from, to *end, found *int) bool {
	if r.work++; r.work > maxWork {
		r.full = true
		return false
	}
	mtu, rate, ok := r.snapshot.walk(from, p.DLID, to)
	if !ok {
		return true
	}
	backMTU, backRate, back := r.snapshot.walk(to, p.SLID, from)
	if w.reversible && !back {
		return true
	}
	if p.Reversible = back; back {
		mtu, rate = min(mtu, backMTU), slower(rate, backRate)
	}
	lifetime := r.snapshot.subnet.Lifetime
	if from == to {
		lifetime = 0
	}
	if !w.choose(&p, mtu, rate, lifetime) {
		return true
	}
	p.Preference = uint8(min(*found, 255))
	*found++
	r.out = p.AppendTo(r.out)
	return r.count(pathLen / 8)
}

// partition is the P_Key by which two ports talk.
func (r *request) partition(w *wish, from, to *end) (ib.PKey, bool) {
	c := &r.snapshot.classes
	if w.pkey {
		return w.record.PKey, c.both(from.class, to.class, w.record.PKey)
	}
	return c.common(from.class, to.class)
}

func (r *request) gidOf(s side) ib.GID {
	if s.gid.IsValid() {
		return s.gid
	}
	return r.snapshot.gid(s.end)
}

// lids is how many LIDs of the port count, nth one of them.
func (s side) lids() int {
	if s.lid != 0 {
		return 1
	}
	return 1 << s.end.lmc
}

func (s side) nth(i int) ib.LID {
	if s.lid != 0 {
		return s.lid
	}
	return s.end.lid + ib.LID(i)
}
