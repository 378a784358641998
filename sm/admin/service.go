package admin

import (
	"sync"
	"time"

	"heddle/ib"
	"heddle/mad"
)

// services are what ports offer.
type services struct {
	limits  Limits
	journal func(Change)

	mu      sync.Mutex
	all     map[serviceKey]*service // guarded by mu, as what follows
	perPort map[ib.GUID]int
	next    int64 // when the first lease ends, 0 for never
}

// serviceKey tells services apart.
type serviceKey struct {
	id   uint64
	gid  ib.GID
	pkey ib.PKey
}

type service struct {
	record mad.ServiceRecord
	owner  ib.GUID
	ends   int64 // Unix time in nanoseconds, 0 for never
}

const serviceComponents = mad.ServiceRecordServiceID | mad.ServiceRecordServiceGID | mad.ServiceRecordServicePKey

// register answers a Set of ServiceRecord: a port offers its own services.
func (r *request) register() mad.Status {
	record, status := r.service()
	if status != mad.StatusOK {
		return status
	}
	if !r.mask.Has(mad.ServiceRecordServiceLease) {
		record.ServiceLease = mad.ServiceLeaseForever
	}
	if record.ServiceLease == 0 {
		return mad.StatusSARequestInvalid
	}
	s := &r.server.services
	s.mu.Lock()
	defer s.mu.Unlock()
	if !r.refresh() {
		return mad.StatusBusy
	}
	s.expire(r.now)
	owner := r.snapshot.named(record.ServiceGID)
	switch {
	case owner == nil:
		return mad.StatusSAInvalidGID
	case owner != r.asker && !r.trusted, !r.mayUse(record.ServicePKey):
		return mad.StatusSADenied
	}
	if status := s.put(&record, owner.guid, r.now); status != mad.StatusOK {
		return status
	}
	return answer(r, record)
}

// service reads the record of a Set or a Delete.
func (r *request) service() (mad.ServiceRecord, mad.Status) {
	record, err := mad.ParseServiceRecord(r.data)
	switch {
	case err != nil:
		return record, mad.StatusSARequestInvalid
	case !r.mask.Has(serviceComponents):
		return record, mad.StatusSAInsufficientFields
	case !record.ServicePKey.IsValid():
		return record, mad.StatusSARequestInvalid
	}
	if !r.mask.Has(mad.ServiceRecordServiceKey) {
		record.ServiceKey = [16]byte{}
	}
	return record, mad.StatusOK
}

func keyOf(record *mad.ServiceRecord) serviceKey {
	return serviceKey{record.ServiceID, record.ServiceGID, record.ServicePKey}
}

// put adds a service, or renews it for who knows its key.
func (s *services) put(record *mad.ServiceRecord, owner ib.GUID, now time.Time) mad.Status {
	have := s.all[keyOf(record)]
	switch {
	case have != nil && have.record.ServiceKey != record.ServiceKey:
		return mad.StatusSADenied
	case have == nil && (s.perPort[owner] >= s.limits.Services || len(s.all) >= s.limits.AllServices):
		return mad.StatusSANoResources
	}
	s.remove(have)
	have = &service{record: *record, owner: owner}
	if record.ServiceLease != mad.ServiceLeaseForever {
		have.ends = now.UnixNano() + int64(record.ServiceLease)*int64(time.Second)
	}
	s.add(have)
	note(s.journal, BucketServices, keyOf(record).bytes(), have.value())
	return mad.StatusOK
}

func (s *services) add(have *service) {
	if s.all == nil {
		s.all, s.perPort = map[serviceKey]*service{}, map[ib.GUID]int{}
	}
	s.all[keyOf(&have.record)] = have
	s.perPort[have.owner]++
	if have.ends != 0 && (s.next == 0 || have.ends < s.next) {
		s.next = have.ends
	}
}

// unregister answers a Delete of ServiceRecord, by who knows its key.
func (r *request) unregister() mad.Status {
	record, status := r.service()
	if status != mad.StatusOK {
		return status
	}
	s := &r.server.services
	s.mu.Lock()
	defer s.mu.Unlock()
	if !r.refresh() {
		return mad.StatusBusy
	}
	s.expire(r.now)
	have := s.all[keyOf(&record)]
	switch {
	case have == nil:
		return mad.StatusSANoRecords
	case !r.trusted && (have.owner != r.asker.guid || have.record.ServiceKey != record.ServiceKey):
		return mad.StatusSADenied
	}
	s.end(have)
	return answer(r, have.record)
}

// end removes a service, and tells the journal.
func (s *services) end(have *service) {
	s.remove(have)
	note(s.journal, BucketServices, keyOf(&have.record).bytes(), nil)
}

// remove removes a service, if there is one.
func (s *services) remove(have *service) {
	if have == nil {
		return
	}
	delete(s.all, keyOf(&have.record))
	if s.perPort[have.owner]--; s.perPort[have.owner] == 0 {
		delete(s.perPort, have.owner)
	}
}

// expire ends the services whose lease is over.
func (s *services) expire(now time.Time) {
	at := now.UnixNano()
	if s.next == 0 || at < s.next {
		return
	}
	s.next = 0
	for _, have := range s.all {
		switch {
		case have.ends == 0:
		case have.ends <= at:
			s.end(have)
		case s.next == 0 || have.ends < s.next:
			s.next = have.ends
		}
	}
}

// keep drops the services of ports that are gone.
func (s *services) keep(known func(ib.GUID) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, have := range s.all {
		if !known(have.owner) {
			s.end(have)
		}
	}
}

// serviceRecords tells whom it does not trust no key.
func (r *request) serviceRecords() {
	s := &r.server.services
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire(r.now)
	for _, have := range s.all {
		r.work++
		if !r.mayUse(have.record.ServicePKey) {
			continue
		}
		record := have.record
		if have.ends != 0 {
			record.ServiceLease = uint32((have.ends - r.now.UnixNano() + int64(time.Second) - 1) / int64(time.Second))
		}
		if !r.trusted {
			record.ServiceKey = [16]byte{}
		}
		if !put(r, record) {
			return
		}
	}
}
