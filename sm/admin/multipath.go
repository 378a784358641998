package admin

import (
	"heddle/ib"
	"heddle/mad"
)

// multiPath answers a MultiPathRecord: with the paths from each of some ports to
// each of others.
func (r *request) multiPath() mad.Status {
	q, err := mad.ParseMultiPathRecord(r.data)
	if err != nil {
		return mad.StatusSARequestInvalid
	}
	if !r.mask.Has(mad.MultiPathRecordSGIDCount|mad.MultiPathRecordDGIDCount) || len(q.SGIDs) == 0 || len(q.DGIDs) == 0 {
		return mad.StatusSAInsufficientFields
	}
	r.attr = mad.AttrPathRecord
	if r.mask.Has(mad.MultiPathRecordRawTraffic) && q.RawTraffic {
		return r.found()
	}
	w := r.multiPathWish(q)
	from, status := r.sides(q.SGIDs)
	if status != mad.StatusOK {
		return status
	}
	to, status := r.sides(q.DGIDs)
	if status != mad.StatusOK {
		return status
	}
	for _, f := range from {
		for _, t := range to {
			if !r.pair(&w, f, t) {
				return r.found()
			}
		}
	}
	return r.found()
}

func (r *request) multiPathWish(q mad.MultiPathRecord) wish {
	m := r.mask
	w := wish{
		mtu:      m.Has(mad.MultiPathRecordMTUSelector | mad.MultiPathRecordMTU),
		rate:     m.Has(mad.MultiPathRecordRateSelector | mad.MultiPathRecordRate),
		lifetime: m.Has(mad.MultiPathRecordLifetimeSelector | mad.MultiPathRecordLifetime),
		pkey:     m.Has(mad.MultiPathRecordPKey), sl: m.Has(mad.MultiPathRecordSL),
		reversible: m.Has(mad.MultiPathRecordReversible) && q.Reversible,
		traffic:    m.Has(mad.MultiPathRecordTClass), label: m.Has(mad.MultiPathRecordFlowLabel),
		hopping: m.Has(mad.MultiPathRecordHopLimit),
		most:    r.most(m.Has(mad.MultiPathRecordNumbPath), q.NumbPath),
	}
	if m.Has(mad.MultiPathRecordServiceID) {
		w.record.ServiceID = q.ServiceID
	}
	if m.Has(mad.MultiPathRecordQoSClass) {
		w.record.QoSClass = q.QoSClass
	}
	w.take(mad.PathRecord{
		MTUSelector: q.MTUSelector, MTU: q.MTU, RateSelector: q.RateSelector, Rate: q.Rate,
		LifetimeSelector: q.LifetimeSelector, Lifetime: q.Lifetime, PKey: q.PKey, SL: q.SL,
		TClass: q.TClass, FlowLabel: q.FlowLabel, HopLimit: q.HopLimit,
	})
	return w
}

// sides finds the ports of GIDs. Those that the requester must not see are left
// out.
func (r *request) sides(gids []ib.GID) ([]side, mad.Status) {
	list := make([]side, 0, len(gids))
	for _, gid := range gids {
		s, status := r.side(true, gid, false, 0)
		if status == mad.StatusSAInvalidGID {
			return nil, status
		}
		if status == mad.StatusOK {
			list = append(list, s)
		}
	}
	return list, mad.StatusOK
}
