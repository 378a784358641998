package admin

import (
	"cmp"
	"slices"
	"sync"

	"heddle/ib"
	"heddle/mad"
	"heddle/sm/group"
)

// subscriptions are whom events are reported to.
type subscriptions struct {
	limits  Limits
	journal func(Change)

	mu    sync.Mutex
	ports map[ib.GUID][]subscription // guarded by mu, as what follows
	total int
	keys  map[ib.MGID]ib.PKey // of groups, also of those that go
}

// subscription is one of a port.
type subscription struct {
	info    mad.InformInfo
	enum    uint16
	trusted bool
}

// same tells whether two subscriptions are one: whatever else they say, they
// are told by what they are for and where reports go.
func same(a, b mad.InformInfo) bool {
	a.RespTime, a.Subscribe = b.RespTime, b.Subscribe
	return a == b
}

// inform answers a Set of InformInfo.
func (r *request) inform() mad.Status {
	info, err := mad.ParseInformInfo(r.data)
	if err != nil || !wellFormed(&info) {
		return mad.StatusSARequestInvalid
	}
	if !info.Subscribe {
		return r.repeatable(func() mad.Status { return r.unsubscribe(info) })
	}
	return r.subscribe(info)
}

func wellFormed(i *mad.InformInfo) bool {
	switch {
	case i.GID.IsValid() || i.LIDRangeBegin == ib.PermissiveLID:
		return true
	default:
		return i.LIDRangeBegin.IsUnicast() && i.LIDRangeEnd.IsUnicast() && i.LIDRangeBegin <= i.LIDRangeEnd
	}
}

func (r *request) subscribe(told mad.InformInfo) mad.Status {
	s := &r.server.subscriptions
	s.mu.Lock()
	defer s.mu.Unlock()
	if !r.refresh() {
		return mad.StatusBusy
	}
	info := r.reportTo(told)
	guid := r.asker.guid
	list := s.ports[guid]
	sub := subscription{info, 0, r.trusted}
	if at := find(list, info); at >= 0 {
		sub.enum = list[at].enum
		list[at] = sub
	} else {
		if len(list) >= s.limits.Subscriptions || s.total >= s.limits.AllSubscriptions {
			return mad.StatusSANoResources
		}
		if len(list) > 0 {
			sub.enum = list[len(list)-1].enum + 1
		}
		s.add(guid, sub)
	}
	note(s.journal, BucketSubscriptions, sub.key(guid), sub.value())
	return answer(r, told)
}

func (s *subscriptions) add(guid ib.GUID, sub subscription) {
	if s.ports == nil {
		s.ports = map[ib.GUID][]subscription{}
	}
	s.ports[guid] = append(s.ports[guid], sub)
	s.total++
}

// remove ends a subscription, and tells whether it was there.
func (s *subscriptions) remove(guid ib.GUID, info mad.InformInfo) bool {
	list := s.ports[guid]
	at := find(list, info)
	if at < 0 {
		return false
	}
	s.total--
	if list = slices.Delete(list, at, at+1); len(list) > 0 {
		s.ports[guid] = list
	} else {
		delete(s.ports, guid)
	}
	return true
}

// reportTo fills in the queue pair that reports go to.
func (r *request) reportTo(info mad.InformInfo) mad.InformInfo {
	info.QPN = cmp.Or(info.QPN, r.from.QPN, ib.GSIQPN)
	return info
}

func find(list []subscription, info mad.InformInfo) int {
	return slices.IndexFunc(list, func(s subscription) bool { return same(s.info, info) })
}

func (r *request) unsubscribe(told mad.InformInfo) mad.Status {
	s := &r.server.subscriptions
	s.mu.Lock()
	defer s.mu.Unlock()
	if !r.refresh() {
		return mad.StatusBusy
	}
	sub := subscription{info: r.reportTo(told)}
	if !s.remove(r.asker.guid, sub.info) {
		return mad.StatusSARequestInvalid
	}
	note(s.journal, BucketSubscriptions, sub.key(r.asker.guid), nil)
	return answer(r, told)
}

// keep drops the subscriptions of ports that are gone.
func (s *subscriptions) keep(known func(ib.GUID) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for guid, list := range s.ports {
		if known(guid) {
			continue
		}
		s.total -= len(list)
		delete(s.ports, guid)
		for i := range list {
			note(s.journal, BucketSubscriptions, list[i].key(guid), nil)
		}
	}
}

// remember notes the partitions of the groups that are there.
func (s *subscriptions) remember(t *group.Table) {
	s.keys = map[ib.MGID]ib.PKey{}
	for g := range t.Groups() {
		s.keys[g.MGID] = g.PKey
	}
}

func (r *request) informInfoRecords() {
	s := &r.server.subscriptions
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range r.snapshot.ends {
		e := &r.snapshot.ends[i]
		r.work++
		list := s.ports[e.guid]
		if len(list) == 0 || !r.sees(e) {
			continue
		}
		for _, sub := range list {
			record := mad.InformInfoRecord{SubscriberGID: r.snapshot.gid(e), Enum: sub.enum, Info: sub.info}
			if !put(r, record) {
				return
			}
		}
	}
}
