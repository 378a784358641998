package admin_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"heddle/ib"
	"heddle/mad"
	"heddle/sm/admin"
	"heddle/sm/group"
)

// everything subscribes to all generic notices.
var everything = mad.InformInfo{
	LIDRangeBegin: 0xFFFF, IsGeneric: true, Subscribe: true, Type: mad.InformAll, Trap: mad.TrapAll, Producer: mad.ProducerAll, QPN: 42,
}

func subscribe(p admin.Port, info mad.InformInfo) question {
	return question{from: p.Info.LID, method: mad.MethodSet, attr: mad.AttrInformInfo, data: info}
}

func TestSubscriptions(t *testing.T) {
	s := serverOf(t, subnetOf(t, "fat-tree:k=4", 0), admin.Config{Limits: admin.Limits{Subscriptions: 3, AllSubscriptions: 4}})
	h := s.hosts()
	status := func(p admin.Port, info mad.InformInfo) mad.Status { return s.ask(t, subscribe(p, info)).status }
	second, third, fourth := everything, everything, everything
	second.QPN, third.Trap, fourth.Trap = 43, 64, 65
	for i, test := range []struct {
		port int
		info mad.InformInfo
		want mad.Status
		left int
	}{
		{0, everything, 0, 1},
		{0, everything, 0, 1}, // again
		{0, second, 0, 2},
		{0, third, 0, 3},
		{0, fourth, mad.StatusSANoResources, 3}, // of this port
		{1, everything, 0, 4},
		{2, everything, mad.StatusSANoResources, 4}, // of all
	} {
		if got := status(h[test.port], test.info); got != test.want {
			t.Errorf("%d: status %v, want %v", i, got, test.want)
		}
		if n := s.count(t, question{attr: mad.AttrInformInfoRecord}); n != test.left {
			t.Errorf("%d: %d subscriptions, want %d", i, n, test.left)
		}
	}
	end := second
	end.Subscribe = false
	if got := status(h[0], end); got != mad.StatusOK {
		t.Errorf("end: status %v", got)
	}
	all := table(t, s, question{attr: mad.AttrInformInfoRecord, mask: mad.InformInfoRecordSubscriberGID, data: mad.InformInfoRecord{SubscriberGID: gid(h[0])}}, mad.ParseInformInfoRecord)
	want := []mad.InformInfoRecord{{SubscriberGID: gid(h[0]), Info: everything}, {SubscriberGID: gid(h[0]), Enum: 2, Info: third}}
	if diff := cmp.Diff(want, all); diff != "" {
		t.Error(diff)
	}
}

func TestReports(t *testing.T) {
	s := tree(t)
	h := s.hosts()
	only64, ofLID, ofPort := everything, everything, everything
	only64.Trap = mad.TrapGIDInService
	ofLID.LIDRangeBegin, ofLID.LIDRangeEnd = h[5].Info.LID, h[5].Info.LID
	ofPort.GID = gid(h[5])
	for i, info := range []mad.InformInfo{everything, only64, ofLID, ofPort} {
		s.ask(t, subscribe(h[i], info))
	}
	manager := s.subnet.Managers[0].LID
	in := mad.NewNotice(mad.TrapGIDInService, mad.ProducerManager, mad.GIDDetails{GID: gid(h[5])})
	in.IssuerLID = manager
	changed := mad.NewNotice(mad.TrapLocalChanges, mad.ProducerCA, mad.LocalChangesDetails{LID: h[5].Info.LID})
	changed.IssuerLID = h[5].Info.LID
	other := changed
	other.IssuerLID = h[6].Info.LID
	for name, test := range map[string]struct {
		n    mad.Notice
		want []int
	}{
		"port came": {in, []int{0, 1, 3}}, "its change": {changed, []int{0, 2, 3}}, "change of another": {other, []int{0}},
	} {
		var want, got []ib.LID
		for _, i := range test.want {
			want = append(want, h[i].Info.LID)
		}
		for _, r := range s.Reports(test.n) {
			got = append(got, r.LID)
			told, err := mad.ParseNotice(r.Datagram.Data())
			if err != nil || told.Trap != test.n.Trap || !told.IssuerGID.IsValid() || r.QPN != 42 || r.Datagram.Method() != mad.MethodReport {
				t.Errorf("%s: report %+v, %v", name, told, err)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestReportPartitions: a subscriber is told of ports and groups of its
// partitions only, unless it is trusted.
func TestReportPartitions(t *testing.T) {
	subnet := subnetOf(t, "single:hosts=4", 0)
	s := serverOf(t, subnet, admin.Config{})
	h := s.hosts()
	for i := range subnet.Nodes {
		if n := &subnet.Nodes[i]; !n.IsSwitch() && n.Ports[1].GUID != h[0].GUID {
			n.Ports[1].PKeys = []ib.PKey{0x7FFF}
		}
	}
	s.Update(s.now, snapshotOf(t, subnet))
	var entries []group.Entry
	for i, p := range h[:3] {
		q := subscribe(p, everything)
		q.key = mad.SMKey(i / 2)
		s.ask(t, q)
	}
	lids := func(list []admin.Report) (lids []ib.LID) {
		for _, r := range list {
			lids = append(lids, r.LID)
		}
		return lids
	}
	gone := mad.NewNotice(mad.TrapGIDOutOfService, mad.ProducerManager, mad.GIDDetails{GID: gid(h[3])})
	gone.IssuerLID = h[0].Info.LID
	want := []ib.LID{h[0].Info.LID, h[2].Info.LID} // full, and trusted; not the other limited one
	if diff := cmp.Diff(want, lids(s.Reports(gone))); diff != "" {
		t.Error(diff)
	}
	entries = append(entries,
		group.Entry{Kind: group.EntryCreated, MGID: mgid, Params: group.Params{PKey: 0x7FFF}},
		group.Entry{Kind: group.EntryMember, MGID: mgid},
		group.Entry{Kind: group.EntryDeleted, MGID: mgid})
	for i := range entries {
		got := lids(s.GroupReports(&entries[i], h[0].Info.LID))
		if told := entries[i].Notice() != 0; told && !cmp.Equal(want, got) || !told && got != nil {
			t.Errorf("%v: reports to %v", entries[i].Kind, got)
		}
	}
	if got := lids(s.GroupReports(&entries[2], h[0].Info.LID)); len(got) != 1 { // who is trusted
		t.Errorf("a group that nobody knew: reports to %v", got)
	}
}

const serviceMask = mad.ServiceRecordServiceID | mad.ServiceRecordServiceGID | mad.ServiceRecordServicePKey |
	mad.ServiceRecordServiceLease | mad.ServiceRecordServiceKey | mad.ServiceRecordServiceName

func service(p admin.Port) mad.ServiceRecord {
	return mad.ServiceRecord{
		ServiceID: 7, ServiceGID: gid(p), ServicePKey: ib.DefaultPKey, ServiceLease: 10,
		ServiceKey: [16]byte{1}, ServiceName: mad.NewServiceName("test"),
	}
}

func TestServices(t *testing.T) {
	s := serverOf(t, subnetOf(t, "fat-tree:k=4", 0), admin.Config{Limits: admin.Limits{Services: 2}})
	h := s.hosts()
	ask := func(from admin.Port, m mad.Method, change func(*mad.ServiceRecord)) mad.Status {
		r := service(h[0])
		change(&r)
		return s.ask(t, question{from: from.Info.LID, method: m, attr: mad.AttrServiceRecord, mask: serviceMask, data: r}).status
	}
	asIs := func(*mad.ServiceRecord) {}
	for i, test := range []struct {
		from   int
		method mad.Method
		change func(*mad.ServiceRecord)
		want   mad.Status
		left   int
	}{
		{0, mad.MethodSet, asIs, 0, 1},
		{0, mad.MethodSet, asIs, 0, 1}, // renewed
		{0, mad.MethodSet, func(r *mad.ServiceRecord) { r.ServiceKey[0] = 2 }, mad.StatusSADenied, 1},
		{1, mad.MethodSet, func(r *mad.ServiceRecord) { r.ServiceID = 9 }, mad.StatusSADenied, 1},
		{0, mad.MethodSet, func(r *mad.ServiceRecord) { r.ServicePKey = 0x8001 }, mad.StatusSADenied, 1},
		{0, mad.MethodSet, func(r *mad.ServiceRecord) { r.ServicePKey = 0 }, mad.StatusSARequestInvalid, 1},
		{0, mad.MethodSet, func(r *mad.ServiceRecord) { r.ServiceLease = 0 }, mad.StatusSARequestInvalid, 1},
		{0, mad.MethodSet, func(r *mad.ServiceRecord) { r.ServiceGID = ib.NewGID(ib.DefaultPrefix, 1) }, mad.StatusSAInvalidGID, 1},
		{0, mad.MethodSet, func(r *mad.ServiceRecord) { r.ServiceID, r.ServiceLease = 8, mad.ServiceLeaseForever }, 0, 2},
		{0, mad.MethodSet, func(r *mad.ServiceRecord) { r.ServiceID = 9 }, mad.StatusSANoResources, 2},
		{1, mad.MethodDelete, asIs, mad.StatusSADenied, 2},
		{0, mad.MethodDelete, func(r *mad.ServiceRecord) { r.ServiceKey[0] = 2 }, mad.StatusSADenied, 2},
		{0, mad.MethodDelete, func(r *mad.ServiceRecord) { r.ServiceID = 8 }, 0, 1},
		{0, mad.MethodDelete, func(r *mad.ServiceRecord) { r.ServiceID = 8 }, mad.StatusSANoRecords, 1},
	} {
		if got := ask(h[test.from], test.method, test.change); got != test.want {
			t.Errorf("%d: status %v, want %v", i, got, test.want)
		}
		if n := s.count(t, question{attr: mad.AttrServiceRecord}); n != test.left {
			t.Errorf("%d: %d services, want %d", i, n, test.left)
		}
	}
	s.now = s.now.Add(4 * time.Second)
	for _, key := range []mad.SMKey{0, 1} {
		r, _ := get(t, s, question{key: key, attr: mad.AttrServiceRecord}, mad.ParseServiceRecord)
		if r.ServiceLease != 6 || (r.ServiceKey[0] == 1) != (key == 1) {
			t.Errorf("SM_Key %v: lease %d, key %v", key, r.ServiceLease, r.ServiceKey)
		}
	}
	s.now = s.now.Add(6 * time.Second)
	if n := s.count(t, question{attr: mad.AttrServiceRecord}); n != 0 {
		t.Errorf("%d services after the lease", n)
	}
	for i := range uint64(4) { // of which two at a time
		if got := ask(h[0], mad.MethodSet, func(r *mad.ServiceRecord) { r.ServiceID = 20 + i }); got != mad.StatusOK {
			t.Errorf("service %d: status %v", i, got)
		}
		s.now = s.now.Add(5 * time.Second)
	}
}
