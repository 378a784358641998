package admin_test

import (
	"sync"
	"testing"

	"heddle/ib"
	"heddle/mad"
	"heddle/sm/admin"
	"heddle/sm/group"
)

// TestParallel: queries, joins, services and subscriptions of many clients while
// sweeps replace the subnet. Every query is answered, and what is left fits the
// ports that are there.
func TestParallel(t *testing.T) {
	subnet := subnetOf(t, "fat-tree:k=4", 0)
	s := serverOf(t, subnet, admin.Config{Limits: admin.Limits{Rate: -1}})
	whole, without := snapshotOf(t, subnet), snapshotOf(t, withoutLast(t))
	hosts := s.hosts()
	last := hosts[len(hosts)-1]
	var clients sync.WaitGroup
	for i, p := range hosts {
		clients.Go(func() {
			for round := range 60 {
				one := &server{Server: s.Server, now: epoch, ends: []admin.Port{p}, tid: uint64(i<<32 + round<<8)}
				one.life(t, p, hosts[(i+round)%len(hosts)], p.GUID == last.GUID)
			}
		})
	}
	for i := range 200 {
		if i%2 == 0 {
			s.Update(epoch, without)
		} else {
			s.Update(epoch, whole)
		}
	}
	clients.Wait()
	s.Update(epoch, without)
	s.Groups(func(g *group.Table) {
		if st := g.Stats(); st.Members != 0 {
			t.Errorf("left over: %+v", st)
		}
	})
	for _, attr := range []mad.AttrID{mad.AttrServiceRecord, mad.AttrInformInfoRecord} {
		if n := s.count(t, question{from: hosts[0].Info.LID, attr: attr, key: 1}); n != 0 {
			t.Errorf("%s: %d left over", attr.Name(mad.ClassSA), n)
		}
	}
}

// life is what a client does.
func (s *server) life(t *testing.T, p, peer admin.Port, mayGo bool) {
	end := everything
	end.Subscribe = false
	for _, q := range []question{
		join(p, mad.MethodSet, mad.JoinFull), subscribe(p, everything),
		{from: p.Info.LID, method: mad.MethodSet, attr: mad.AttrServiceRecord, mask: serviceMask, data: service(p)},
		pathGet(p, peer),
		{from: p.Info.LID, method: mad.MethodGetTable, attr: mad.AttrNodeRecord},
		{from: p.Info.LID, method: mad.MethodGetTable, attr: mad.AttrMCMemberRecord, key: 1},
		join(p, mad.MethodDelete, mad.JoinFull), subscribe(p, end),
		{from: p.Info.LID, method: mad.MethodDelete, attr: mad.AttrServiceRecord, mask: serviceMask, data: service(p)},
	} {
		r := s.ask(t, q)
		peerGone := q.attr == mad.AttrPathRecord && (r.status == mad.StatusSAInvalidGID || r.status == mad.StatusSANoRecords)
		if r.status != mad.StatusOK && !mayGo && !peerGone {
			t.Errorf("%s %s: status %v", q.method, q.attr.Name(mad.ClassSA), r.status)
		}
	}
}

func pathGet(from, to admin.Port) question {
	q := pathQuestion(from, to, 0, mad.PathRecord{})
	q.method = mad.MethodGet
	return q
}

// withoutLast is the fat tree whose last adapter has gone.
func withoutLast(t testing.TB) admin.Subnet {
	subnet := subnetOf(t, "fat-tree:k=4", 0)
	last := &subnet.Nodes[0]
	for i := range subnet.Nodes {
		if !subnet.Nodes[i].IsSwitch() {
			last = &subnet.Nodes[i]
		}
	}
	last.Ports[1].Info.LID = 0
	return subnet
}

// TestSnapshotsAreWhole: an answer is of one snapshot, whatever happens
// meanwhile: all paths of a table have the same rate.
func TestSnapshotsAreWhole(t *testing.T) {
	var snapshots []*admin.Snapshot
	for _, speed := range []ib.Rate{ib.Rate100, ib.Rate400} {
		subnet := subnetOf(t, "fat-tree:k=4", 0)
		for i := range subnet.Nodes {
			for number := range subnet.Nodes[i].Ports {
				subnet.Nodes[i].Ports[number].Rate = speed
			}
		}
		snapshots = append(snapshots, snapshotOf(t, subnet))
	}
	s := serverOf(t, subnetOf(t, "fat-tree:k=4", 0), admin.Config{Limits: admin.Limits{Rate: -1}})
	s.Update(epoch, snapshots[0])
	var sweeps sync.WaitGroup
	sweeps.Go(func() {
		for i := range 200 {
			s.Update(epoch, snapshots[i%2])
		}
	})
	for range 100 {
		rates := map[ib.Rate]int{}
		for _, p := range table(t, s, question{attr: mad.AttrPathRecord}, mad.ParsePathRecord) {
			rates[p.Rate]++
		}
		if len(rates) != 1 {
			t.Errorf("one answer has paths of %v", rates)
		}
	}
	sweeps.Wait()
}
