package admin_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"heddle/mad"
	"heddle/sm/admin"
)

// TestRestore: a server that was told the journal of another has the same
// subscriptions and services; and so has one that was told what was left.
func TestRestore(t *testing.T) {
	subnet := subnetOf(t, "fat-tree:k=4", 0)
	var journal []admin.Change
	s := serverOf(t, subnet, admin.Config{Journal: func(c admin.Change) { journal = append(journal, c) }})
	end, soon := everything, everything
	end.Subscribe, soon.RespTime = false, 12
	for i, p := range s.hosts()[:4] {
		s.ask(t, subscribe(p, everything))
		q := subscribe(p, soon)
		q.key = mad.SMKey(i % 2)
		s.ask(t, q)
		r := service(p)
		r.ServiceLease = uint32(10 + i)
		set := question{from: p.Info.LID, method: mad.MethodSet, attr: mad.AttrServiceRecord, mask: serviceMask, data: r}
		s.ask(t, set)
		s.ask(t, set)
	}
	s.ask(t, subscribe(s.hosts()[3], end))
	gone := question{from: s.hosts()[2].Info.LID, method: mad.MethodDelete, attr: mad.AttrServiceRecord, mask: serviceMask, data: service(s.hosts()[2])}
	s.ask(t, gone)
	s.now = s.now.Add(10 * time.Second) // the first lease is over
	held := func(s *server) [2]map[string]int {
		return [2]map[string]int{
			s.records(t, question{attr: mad.AttrInformInfoRecord, key: 1}), s.records(t, question{attr: mad.AttrServiceRecord, key: 1}),
		}
	}
	want := held(s)
	if len(want[0]) != 3 || len(want[1]) != 2 {
		t.Fatalf("%d subscriptions and %d services", len(want[0]), len(want[1]))
	}
	kept := map[string]admin.Change{}
	for _, c := range journal {
		kept[c.Bucket+string(c.Key)] = c
		if c.Value == nil {
			delete(kept, c.Bucket+string(c.Key))
		}
	}
	var left []admin.Change
	for _, c := range kept {
		left = append(left, c)
	}
	for name, changes := range map[string][]admin.Change{"the journal": journal, "what is left": left, "twice": slices.Concat(journal, journal)} {
		other := serverOf(t, subnet, admin.Config{Journal: func(admin.Change) { t.Errorf("%s: told again", name) }})
		for _, c := range changes {
			if err := other.Restore(c); err != nil {
				t.Fatal(err)
			}
		}
		other.now = s.now
		if diff := cmp.Diff(want, held(other)); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
		n := mad.NewNotice(mad.TrapGIDInService, mad.ProducerManager, mad.GIDDetails{GID: gid(s.hosts()[9])})
		n.IssuerLID = s.ends[0].Info.LID
		if a, b := s.Reports(n), other.Reports(n); !cmp.Equal(a, b) {
			t.Errorf("%s: %d reports, want %d", name, len(b), len(a))
		}
	}
}

// TestRestoreRefuses what nobody kept.
func TestRestoreRefuses(t *testing.T) {
	var journal []admin.Change
	s := serverOf(t, subnetOf(t, "single:hosts=4", 0), admin.Config{Journal: func(c admin.Change) { journal = append(journal, c) }})
	s.ask(t, subscribe(s.ends[0], everything))
	s.ask(t, question{method: mad.MethodSet, attr: mad.AttrServiceRecord, mask: serviceMask, data: service(s.ends[0])})
	changes := []admin.Change{{Bucket: "groups"}}
	for _, c := range journal {
		short, long, other := c, c, c
		short.Key, long.Value, other.Key = c.Key[1:], append(slices.Clone(c.Value), 0), slices.Clone(c.Key)
		other.Key[len(other.Key)-1]++
		empty := c
		empty.Value = []byte{}
		changes = append(changes, short, long, other, empty)
	}
	for i, c := range changes {
		if err := s.Restore(c); !errors.Is(err, admin.ErrKept) {
			t.Errorf("%d: error %v", i, err)
		}
	}
	if n := s.count(t, question{attr: mad.AttrServiceRecord}) + s.count(t, question{attr: mad.AttrInformInfoRecord}); n != 2 {
		t.Errorf("%d records, want 2", n)
	}
}

func FuzzRestore(f *testing.F) {
	s := serverOf(f, subnetOf(f, "single:hosts=4", 0), admin.Config{Journal: func(c admin.Change) { f.Add(c.Bucket == admin.BucketServices, c.Key, c.Value) }})
	s.ask(f, subscribe(s.ends[0], everything))
	s.ask(f, question{method: mad.MethodSet, attr: mad.AttrServiceRecord, mask: serviceMask, data: service(s.ends[0])})
	other := serverOf(f, s.subnet, admin.Config{Limits: admin.Limits{Rate: -1}})
	f.Fuzz(func(t *testing.T, service bool, key, value []byte) {
		c := admin.Change{Bucket: admin.BucketSubscriptions, Key: key, Value: value}
		attr := mad.AttrInformInfoRecord
		if service {
			c.Bucket, attr = admin.BucketServices, mad.AttrServiceRecord
		}
		before := other.count(t, question{attr: attr, key: 1})
		err := other.Restore(c)
		if err != nil && !errors.Is(err, admin.ErrKept) {
			t.Errorf("error %v", err)
		}
		if n := other.count(t, question{attr: attr, key: 1}); n < before-1 || n > before+1 || err != nil && n != before {
			t.Errorf("%d records, before %d; error %v", n, before, err)
		}
		c.Value = nil
		if err := other.Restore(c); err != nil && !errors.Is(err, admin.ErrKept) {
			t.Errorf("error %v", err)
		}
	})
}
