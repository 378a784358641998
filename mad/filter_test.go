package mad

import (
	"errors"
	"testing"

	"pgregory.net/rapid"

	"heddle/ib"
)

// slowMatch is what Filter does, field by field.
func slowMatch(a AttrID, mask ComponentMask, request, record []byte) bool {
	at := 0
	layout := Layout(a)
	for i, field := range layout {
		from := at
		at += field.Bits
		if !mask.Has(1<<i) || field.Name == "" || field.order == selector {
			continue
		}
		if field.order != unordered && mask.Has(1<<(i-1)) {
			if !slowSelect(field.order, number(request, from-2, from), number(record, from, at), number(request, from, at)) {
				return false
			}
			continue
		}
		for bit := from; bit < at; bit++ {
			if number(request, bit, bit+1) != number(record, bit, bit+1) {
				return false
			}
		}
	}
	return true
}

func slowSelect(o order, selector, have, want uint64) bool {
	if o == byRate {
		have, want = uint64(1000*ib.Rate(have).Gbps()), uint64(1000*ib.Rate(want).Gbps())
	}
	switch Selector(selector) {
	case SelectGreater:
		return have > want
	case SelectLess:
		return have < want
	case SelectExactly:
		return have == want
	default:
		return true
	}
}

// number reads a few bits.
func number(b []byte, from, to int) (n uint64) {
	for ; from < to; from++ {
		n = n<<1 | uint64(b[from/8]>>(7-from%8)&1)
	}
	return n
}

// TestFilterIsSlowMatch compares with the slow one, on records that differ from
// the request in few bits.
func TestFilterIsSlowMatch(t *testing.T) {
	records := sampleRecords()
	matched := 0
	rapid.Check(t, func(t *rapid.T) {
		r := rapid.SampledFrom(records).Draw(t, "record")
		a := r.AttrID()
		canonical := func(b []byte) []byte {
			v, err := parseSA(a, b)
			if err != nil {
				t.Fatal(err)
			}
			return v.AppendTo(nil)
		}
		request := canonical(rapid.SliceOfN(rapid.Byte(), r.Len(), r.Len()).Draw(t, "request"))
		record := append([]byte(nil), request...)
		for range rapid.IntRange(0, 5).Draw(t, "changes") {
			bit := rapid.IntRange(0, 8*len(record)-1).Draw(t, "bit")
			record[bit/8] ^= 0x80 >> (bit % 8)
		}
		record = canonical(record)
		mask := ComponentMask(rapid.Uint64().Draw(t, "mask"))
		f, err := NewFilter(a, mask, request)
		if err != nil {
			t.Fatal(err)
		}
		got, want := f.Match(record), slowMatch(a, mask, request, record)
		if got != want {
			t.Fatalf("%T with mask %v: %v, want %v\nrequest %x\nrecord  %x", r, mask, got, want, request, record)
		}
		if got {
			matched++
		}
	})
	if matched < 10 {
		t.Errorf("only %d matched", matched)
	}
}

// TestFilterSelectors: a rate compares as a rate and not as its code, a value
// without its selector for equality, a selector alone not at all.
func TestFilterSelectors(t *testing.T) {
	const mtu, rate = MCMemberRecordMTU | MCMemberRecordMTUSelector, MCMemberRecordRate | MCMemberRecordRateSelector
	group := MCMemberRecord{MTUSelector: SelectExactly, MTU: ib.MTU2048, RateSelector: SelectExactly, Rate: ib.Rate5}
	for _, c := range []struct {
		name    string
		mask    ComponentMask
		request MCMemberRecord
		want    bool
	}{
		{"less than 10 Gb/s, of a lower code", rate, MCMemberRecord{RateSelector: SelectLess, Rate: ib.Rate10}, true},
		{"greater than 10 Gb/s", rate, MCMemberRecord{RateSelector: SelectGreater, Rate: ib.Rate10}, false},
		{"greater than 2.5 Gb/s", rate, MCMemberRecord{RateSelector: SelectGreater, Rate: ib.Rate2_5}, true},
		{"greater than 1024", mtu, MCMemberRecord{MTUSelector: SelectGreater, MTU: ib.MTU1024}, true},
		{"greater than 2048", mtu, MCMemberRecord{MTUSelector: SelectGreater, MTU: ib.MTU2048}, false},
		{"exactly 2048", mtu, MCMemberRecord{MTUSelector: SelectExactly, MTU: ib.MTU2048}, true},
		{"the largest", mtu, MCMemberRecord{MTUSelector: SelectLargest}, true},
		{"2048", MCMemberRecordMTU, MCMemberRecord{MTU: ib.MTU2048}, true},
		{"4096", MCMemberRecordMTU, MCMemberRecord{MTU: ib.MTU4096}, false},
		{"a selector alone", MCMemberRecordMTUSelector, MCMemberRecord{MTUSelector: SelectLess}, true},
		{"heddle's component", MCMemberRecordMemberCount, MCMemberRecord{MemberCount: 9}, true},
		{"both", mtu | rate, MCMemberRecord{MTUSelector: SelectLess, MTU: ib.MTU4096, RateSelector: SelectLess, Rate: ib.Rate2_5}, false},
	} {
		f, err := NewFilter(AttrMCMemberRecord, c.mask, c.request.AppendTo(nil))
		if err != nil {
			t.Fatal(err)
		}
		if got := f.Match(group.AppendTo(nil)); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

// TestFilterProxyJoin: a request of saquery's has the bit at the place of
// OpenSM, and chooses our records.
func TestFilterProxyJoin(t *testing.T) {
	request := make([]byte, mcMemberRecordLen)
	request[49] = proxyJoinOpen
	f, err := NewFilter(AttrMCMemberRecord, MCMemberRecordProxyJoin, request)
	if err != nil {
		t.Fatal(err)
	}
	if !f.Match(MCMemberRecord{ProxyJoin: true}.AppendTo(nil)) || f.Match(MCMemberRecord{}.AppendTo(nil)) {
		t.Error("the wrong one of two records is chosen")
	}
}

func TestFilterErrors(t *testing.T) {
	if _, err := NewFilter(AttrMultiPathRecord, 1, make([]byte, 200)); err == nil {
		t.Error("MultiPathRecord is a record")
	}
	if _, err := NewFilter(AttrNodeRecord, 1, make([]byte, 107)); !errors.Is(err, ErrShort) {
		t.Errorf("got %v", err)
	}
	const mtu = PathRecordMTU | PathRecordMTUSelector
	for mask, end := range map[ComponentMask]int{PathRecordPreference | mtu: 58, PathRecordDGID | mtu: 55, mtu: 55, 0: 0} {
		f, err := NewFilter(AttrPathRecord, mask, PathRecord{MTUSelector: SelectExactly}.AppendTo(nil))
		if err != nil {
			t.Fatal(err)
		}
		for n := range 64 {
			if got := f.Match(make([]byte, n)); got != (n >= end) {
				t.Errorf("mask %v: a record of %d bytes matches: %v", mask, n, got)
			}
		}
	}
}

func BenchmarkFilter(b *testing.B) {
	r := samplePathRecord
	f, err := NewFilter(AttrPathRecord, PathRecordSGID|PathRecordDGID|PathRecordMTU|PathRecordMTUSelector, r.AppendTo(nil))
	if err != nil {
		b.Fatal(err)
	}
	buf := make([]byte, 0, 64)
	for b.Loop() {
		if buf = r.AppendTo(buf[:0]); !f.Match(buf) {
			b.Fatal("no match")
		}
	}
}
