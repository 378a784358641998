package admin_test

import (
	"testing"

	"heddle/ib"
	"heddle/mad"
	"heddle/sm/admin"
)

// BenchmarkPathRecord: a Get by two GIDs, of pairs all over the fabric.
func BenchmarkPathRecord(b *testing.B) {
	for _, spec := range []string{"fat-tree:k=8", "fat-tree:k=16"} {
		b.Run(spec, func(b *testing.B) {
			s := serverOf(b, subnetOf(b, spec, 0), admin.Config{Limits: admin.Limits{Rate: -1}})
			requests := pathRequests(s, 4096)
			answer := make([]byte, 0, mad.Size)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				q := requests[i%len(requests)]
				got, ok := s.AppendAnswer(answer, epoch, q.from, q.message)
				if !ok || got[4]|got[5] != 0 {
					b.Fatal("no path")
				}
			}
		})
	}
}

// BenchmarkParallel: the same on all processors.
func BenchmarkParallel(b *testing.B) {
	s := serverOf(b, subnetOf(b, "fat-tree:k=16", 0), admin.Config{Limits: admin.Limits{Rate: -1}})
	requests := pathRequests(s, 4096)
	b.RunParallel(func(pb *testing.PB) {
		answer := make([]byte, 0, mad.Size)
		for i := 0; pb.Next(); i++ {
			q := requests[i%len(requests)]
			if _, ok := s.AppendAnswer(answer, epoch, q.from, q.message); !ok {
				b.Error("no path")
			}
		}
	})
}

type sent struct {
	from    admin.Requester
	message []byte
}

func pathRequests(s *server, n int) (list []sent) {
	hosts := s.hosts()
	for i := range n {
		from, to := hosts[i*7%len(hosts)], hosts[(i*131+1)%len(hosts)]
		q := question{
			method: mad.MethodGet, attr: mad.AttrPathRecord,
			mask: mad.PathRecordDGID | mad.PathRecordSGID | mad.PathRecordNumbPath | mad.PathRecordReversible | mad.PathRecordPKey,
			data: mad.PathRecord{DGID: gid(to), SGID: gid(from), NumbPath: 1, Reversible: true, PKey: ib.DefaultPKey},
		}
		list = append(list, sent{admin.Requester{LID: from.Info.LID, QPN: 1}, q.message(uint64(i))})
	}
	return list
}

// hosts are the ports of adapters.
func (s *server) hosts() (list []admin.Port) {
	for i := range s.subnet.Nodes {
		if !s.subnet.Nodes[i].IsSwitch() {
			list = append(list, s.subnet.Nodes[i].Ports[1])
		}
	}
	return list
}

// BenchmarkTable: all nodes of a fabric.
func BenchmarkTable(b *testing.B) {
	s := serverOf(b, subnetOf(b, "fat-tree:k=16", 0), admin.Config{Limits: admin.Limits{Rate: -1}})
	message := question{method: mad.MethodGetTable, attr: mad.AttrNodeRecord}.message(1)
	from := admin.Requester{LID: s.ends[0].Info.LID}
	var answer []byte
	for b.Loop() {
		var ok bool
		if answer, ok = s.AppendAnswer(answer[:0], epoch, from, message); !ok {
			b.Fatal("no answer")
		}
	}
	b.ReportMetric(float64(b.Elapsed())/float64(b.N*len(s.ends)), "ns/record")
}

// BenchmarkSnapshot: what each sweep costs.
func BenchmarkSnapshot(b *testing.B) {
	subnet := subnetOf(b, "fat-tree:k=16", 0)
	b.ReportAllocs()
	for b.Loop() {
		if _, faults := admin.NewSnapshot(subnet); len(faults) > 0 {
			b.Fatal(faults)
		}
	}
}

// TestPathRecordDoesNotAllocate: the answers to what is asked most.
func TestPathRecordDoesNotAllocate(t *testing.T) {
	s := serverOf(t, subnetOf(t, "fat-tree:k=4", 0), admin.Config{Limits: admin.Limits{Rate: -1}})
	requests := pathRequests(s, 64)
	answer := make([]byte, 0, mad.Size)
	i := 0
	n := testing.AllocsPerRun(1000, func() {
		q := requests[i%len(requests)]
		i++
		if _, ok := s.AppendAnswer(answer, epoch, q.from, q.message); !ok {
			t.Fatal("no answer")
		}
	})
	if n > 0.5 && !raceEnabled {
		t.Errorf("%v allocations", n)
	}
}
