package admin_test

import (
	"bytes"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"heddle/ib"
	"heddle/mad"
	"heddle/sm/admin"
)

// tables are the attributes whose records a query filters.
var tables = []mad.AttrID{
	mad.AttrNodeRecord, mad.AttrPortInfoRecord, mad.AttrSLtoVLRecord, mad.AttrSwitchInfoRecord, mad.AttrLFTRecord,
	mad.AttrSMInfoRecord, mad.AttrInformInfoRecord, mad.AttrLinkRecord, mad.AttrGUIDInfoRecord, mad.AttrServiceRecord,
	mad.AttrPKeyRecord, mad.AttrVLArbitrationRecord, mad.AttrMCMemberRecord,
}

// populated is a server with some groups, services and subscriptions.
func populated(t testing.TB, c admin.Config) *server {
	s := serverOf(t, subnetOf(t, "fat-tree:k=4", 0), c)
	for i, p := range s.hosts() {
		q := join(p, mad.MethodSet, mad.JoinFull)
		record := q.data.(mad.MCMemberRecord)
		record.MGID[15] = byte(i % 5)
		q.data = record
		s.ask(t, q)
		if i%3 == 0 {
			s.ask(t, subscribe(p, everything))
			s.ask(t, question{from: p.Info.LID, method: mad.MethodSet, attr: mad.AttrServiceRecord, mask: serviceMask, data: service(p)})
		}
	}
	return s
}

// raw is an attribute that is bytes.
type raw []byte

func (r raw) Len() int                 { return len(r) }
func (r raw) AppendTo(b []byte) []byte { return append(b, r...) }

// records asks for a table and splits it.
func (s *server) records(t testing.TB, q question) map[string]int {
	t.Helper()
	q.method = mad.MethodGetTable
	r := s.ask(t, q)
	if r.status != mad.StatusOK {
		t.Fatalf("%s %v: status %v", q.attr.Name(mad.ClassSA), q.mask, r.status)
	}
	set := map[string]int{}
	for size := int(r.sa.AttributeOffset) * 8; len(r.data) > 0; r.data = r.data[size:] {
		set[string(r.data[:size])]++
	}
	return set
}

// TestQueriesFilter: whatever index a query uses, its answer is what a slow
// filter takes from the whole table.
func TestQueriesFilter(t *testing.T) {
	s := populated(t, admin.Config{Limits: admin.Limits{Rate: -1}})
	whole := map[mad.AttrID]map[string]int{}
	for _, attr := range tables {
		whole[attr] = s.records(t, question{attr: attr, key: 1})
		if len(whole[attr]) == 0 {
			t.Errorf("%s: no records", attr.Name(mad.ClassSA))
		}
	}
	rapid.Check(t, func(rt *rapid.T) {
		attr := rapid.SampledFrom(tables).Draw(rt, "attribute")
		layout := mad.Layout(attr)
		template := []byte(pick(rt, whole[attr], "like"))
		other := []byte(pick(rt, whole[attr], "and"))
		var mask mad.ComponentMask
		at := 0
		for i, f := range layout {
			if rapid.IntRange(0, 3).Draw(rt, f.Name) == 0 && compared(f.Name) {
				mask |= 1 << i
			}
			if f.Bits%8 == 0 && at%8 == 0 && rapid.IntRange(0, 7).Draw(rt, "mix") == 0 {
				copy(template[at/8:(at+f.Bits)/8], other[at/8:(at+f.Bits)/8])
			}
			at += f.Bits
		}
		want := map[string]int{}
		for record, n := range whole[attr] {
			if naive(layout, mask, template, []byte(record)) {
				want[record] = n
			}
		}
		got := s.records(t, question{attr: attr, key: 1, mask: mask, data: raw(template)})
		if fmt.Sprint(got) != fmt.Sprint(want) {
			rt.Errorf("%s %v like %x: %d records, want %d", attr.Name(mad.ClassSA), mask, template, len(got), len(want))
		}
	})
}

// compared tells of a field whether it is compared for equality: selectors,
// what they select, and what a server ignores are not.
func compared(name string) bool {
	switch name {
	case "", "Options", "MTUSelector", "MTU", "RateSelector", "Rate", "LifetimeSelector", "Lifetime":
		return false
	default:
		return true
	}
}

func pick(t *rapid.T, set map[string]int, label string) string {
	n := rapid.IntRange(0, len(set)-1).Draw(t, label)
	var keys [][]byte
	for k := range set {
		keys = append(keys, []byte(k))
	}
	least := func() (at int) {
		for i := range keys {
			if bytes.Compare(keys[i], keys[at]) < 0 {
				at = i
			}
		}
		return at
	}
	for ; n > 0; n-- { // in an order that does not depend on the map's
		at := least()
		keys = append(keys[:at], keys[at+1:]...)
	}
	return string(keys[least()])
}

// naive compares bit by bit.
func naive(layout []mad.Field, mask mad.ComponentMask, want, record []byte) bool {
	at := 0
	for i, f := range layout {
		for end := at + f.Bits; at < end; at++ {
			if mask.Has(1<<i) && (want[at/8]^record[at/8])>>(7-at%8)&1 != 0 {
				return false
			}
		}
	}
	return true
}

// TestPathsOfTableAreThoseOfGets: the pairs of a table are those of single queries.
func TestPathsOfTableAreThoseOfGets(t *testing.T) {
	s := serverOf(t, subnetOf(t, "torus:3x3,e=1", 0), admin.Config{Limits: admin.Limits{Rate: -1}})
	all := table(t, s, question{attr: mad.AttrPathRecord}, mad.ParsePathRecord)
	if len(all) != len(s.ends)*len(s.ends) {
		t.Fatalf("%d paths between %d ports", len(all), len(s.ends))
	}
	for _, p := range all {
		q := question{attr: mad.AttrPathRecord, mask: bothGIDs, data: mad.PathRecord{SGID: p.SGID, DGID: p.DGID}}
		if one, status := get(t, s, q, mad.ParsePathRecord); status != mad.StatusOK || one != p {
			t.Errorf("status %v, %+v, in the table %+v", status, one, p)
		}
	}
}

// FuzzRequest: whatever comes, the answer is none or a well-formed one.
func FuzzRequest(f *testing.F) {
	s := populated(f, admin.Config{Limits: admin.Limits{Rate: -1, Answer: 1 << 16}})
	lid := uint16(s.ends[0].Info.LID)
	seeds := []question{
		join(s.ends[0], mad.MethodSet, mad.JoinFull), join(s.ends[0], mad.MethodDelete, mad.JoinFull),
		subscribe(s.ends[0], everything),
		{method: mad.MethodSet, attr: mad.AttrServiceRecord, mask: serviceMask, data: service(s.ends[0])},
		{method: mad.MethodDelete, attr: mad.AttrServiceRecord, mask: serviceMask, data: service(s.ends[0])},
		{method: mad.MethodGet, attr: mad.AttrPathRecord, mask: bothGIDs, data: mad.PathRecord{SGID: gid(s.ends[0]), DGID: gid(s.ends[1])}},
		{method: mad.MethodGetTable, attr: mad.AttrPathRecord},
		{method: mad.MethodGet, attr: mad.AttrMCGStateRecord, mask: 1, data: mad.MCGStateRecord{MGID: mgid}},
		{method: mad.MethodGet, attr: mad.AttrClassPortInfo},
		{method: mad.MethodGetMulti, attr: mad.AttrMultiPathRecord, mask: 1<<19 | 1<<20, data: mad.MultiPathRecord{SGIDs: []ib.GID{gid(s.ends[0])}, DGIDs: []ib.GID{gid(s.ends[1])}}},
	}
	for _, attr := range tables {
		seeds = append(seeds, question{method: mad.MethodGetTable, attr: attr}, question{method: mad.MethodGet, attr: attr, mask: 1, key: 1})
	}
	for i, q := range seeds {
		f.Add(q.message(uint64(i)), lid)
		f.Add(q.message(uint64(i))[:70], lid)
	}
	f.Fuzz(func(t *testing.T, message []byte, from uint16) {
		request := bytes.Clone(message)
		prefix := []byte("before")
		answer, ok := s.AppendAnswer(prefix, s.now, admin.Requester{LID: ib.LID(from), QPN: 1}, message)
		if !bytes.Equal(message, request) || !bytes.Equal(answer[:len(prefix)], prefix) {
			t.Error("the request, or what stood before the answer, was changed")
		}
		answer = answer[len(prefix):]
		if ok != (len(answer) > 0) {
			t.Fatalf("answered %v with %d bytes", ok, len(answer))
		}
		if !ok {
			return
		}
		r, err := parseReply(answer)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(answer[8:16], message[8:16]) {
			t.Error("another transaction ID")
		}
		if len(r.data) > 1<<16+200 {
			t.Errorf("answer of %d bytes", len(r.data))
		}
	})
}
