package admin

import (
	"heddle/ib"
	"heddle/mad"
)

// choose gives a path the MTU, rate and lifetime that were asked for: it may be
// used with less than it can, and its packets may be given more time. It tells
// whether the path can do it.
func (w *wish) choose(p *mad.PathRecord, mtu ib.MTU, rate ib.Rate, lifetime mad.TimeValue) bool {
	ok := true
	if w.mtu {
		mtu, ok = chooseMTU(w.record.MTUSelector, w.record.MTU, mtu)
	}
	if ok && w.rate {
		rate, ok = chooseRate(w.record.RateSelector, w.record.Rate, rate)
	}
	if ok && w.lifetime {
		lifetime, ok = chooseLifetime(w.record.LifetimeSelector, w.record.Lifetime, lifetime)
	}
	p.MTUSelector, p.MTU = mad.SelectExactly, mtu
	p.RateSelector, p.Rate = mad.SelectExactly, rate
	p.LifetimeSelector, p.Lifetime = mad.SelectExactly, lifetime
	return ok && mtu.IsValid() && rate.IsValid()
}

// chooseMTU gives the largest MTU up to most that a selector admits.
func chooseMTU(s mad.Selector, value, most ib.MTU) (ib.MTU, bool) {
	switch s {
	case mad.SelectGreater:
		return most, most > value
	case mad.SelectLess:
		return min(most, value-1), value > ib.MTU256
	case mad.SelectExactly:
		return value, value.IsValid() && most >= value
	default:
		return most, true
	}
}

// chooseRate gives the highest rate up to most that a selector admits.
func chooseRate(s mad.Selector, value, most ib.Rate) (ib.Rate, bool) {
	switch s {
	case mad.SelectGreater:
		return most, most.Compare(value) > 0
	case mad.SelectLess:
		if most.Compare(value) >= 0 {
			most = below(value)
		}
		return most, most.IsValid()
	case mad.SelectExactly:
		return value, value.IsValid() && most.Compare(value) >= 0
	default:
		return most, true
	}
}

// below is the highest rate below another.
func below(limit ib.Rate) (best ib.Rate) {
	for r := range ib.Rate1600 + 1 {
		if r.Compare(limit) < 0 && r.Compare(best) > 0 {
			best = r
		}
	}
	return best
}

// maxLifetime is the longest that a field can hold.
const maxLifetime mad.TimeValue = 63

// chooseLifetime gives the shortest lifetime from least on that a selector
// admits.
func chooseLifetime(s mad.Selector, value, least mad.TimeValue) (mad.TimeValue, bool) {
	switch s {
	case mad.SelectGreater:
		return max(least, value+1), value < maxLifetime
	case mad.SelectLess:
		return least, least < value
	case mad.SelectExactly:
		return value, least <= value
	default:
		return least, true
	}
}
