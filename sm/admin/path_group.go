package admin

import (
	"heddle/ib"
	"heddle/mad"
	"heddle/sm/group"
)

// groupPath puts the path from a port to a group. As groups may share an MLID,
// the group must be told by its MGID.
func (r *request) groupPath(w *wish, from side, q mad.PathRecord) mad.Status {
	mgid, err := ib.NewMGID(q.DGID)
	if !r.mask.Has(mad.PathRecordDGID) || err != nil {
		return mad.StatusSARequestInvalid
	}
	g, ok := r.groupOf(mgid)
	if !ok || r.mask.Has(mad.PathRecordDLID) && ib.LID(g.MLID) != q.DLID {
		return mad.StatusSARequestInvalid
	}
	p := w.record
	p.DGID, p.DLID = q.DGID, ib.LID(g.MLID)
	p.PKey, p.SL, p.TClass, p.FlowLabel, p.HopLimit = g.PKey, g.SL, g.TClass, g.FlowLabel, g.HopLimit
	if w.pkey && w.record.PKey.Base() != g.PKey.Base() || w.sl && w.record.SL != g.SL {
		return r.found()
	}
	if !w.choose(&p, g.MTU, g.Rate, mad.TimeValue(g.Lifetime)) {
		return r.found()
	}
	put := func(e *end) bool {
		r.work++
		if !r.snapshot.classes.holds(e.class, g.PKey) || e.mtu < p.MTU {
			return true
		}
		p.SLID = side{end: e, lid: from.lid}.nth(0)
		p.SGID = r.gidOf(side{end: e, gid: from.gid})
		r.out = p.AppendTo(r.out)
		return r.count(pathLen / 8)
	}
	if from.end != nil {
		put(from.end)
	} else {
		r.each(put)
	}
	return r.found()
}

// groupOf is a group that the requester may know of.
func (r *request) groupOf(mgid ib.MGID) (g group.Group, ok bool) {
	r.server.Groups(func(t *group.Table) { g, ok = t.Group(mgid) })
	return g, ok && r.mayUse(g.PKey)
}
