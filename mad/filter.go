package mad

import (
	"fmt"

	"heddle/ib"
)

// Filter picks the records that a request asks for: those whose fields in the
// component mask are the same as the request's (IBTA 1, 15.4.4). It works on
// records as they stand in a table, so that one loop serves all kinds: append a
// record, and take it back where it does not match. A Filter does not change
// and may be used by many goroutines.
type Filter struct {
	layout     []Field
	want, care [maxRecordLen]byte
	// from and to bound the bytes that count.
	from, to int
	selects  [3]selection
	n        int
}

// maxRecordLen is above the length of every record.
const maxRecordLen = 200

// selection is a comparison that is not for equality.
type selection struct {
	order    order
	selector Selector
	at       int // byte whose low 6 bits hold the value
	value    byte
}

// NewFilter makes a filter for records of the attribute from a request's
// component mask and data, as the record's type understands it. Bits of the
// mask that the record does not have, or has for reserved bits, do not count; a
// selector counts together with its value. The error is of an attribute that is
// no record, or wraps ErrShort.
func NewFilter(a AttrID, mask ComponentMask, request []byte) (Filter, error) {
	layout := Layout(a)
	if layout == nil {
		return Filter{}, fmt.Errorf("filter for attribute %v, which is no record", a)
	}
	record, err := parseSA(a, request)
	if err != nil {
		return Filter{}, err
	}
	f := Filter{layout: layout, from: maxRecordLen}
	record.AppendTo(f.want[:0])
	at := 0
	for i, field := range layout {
		if mask.Has(1<<i) && field.Name != "" {
			f.add(mask, i, at)
		}
		at += field.Bits
	}
	return f, nil
}

// add makes field i, which starts at a bit, count.
func (f *Filter) add(mask ComponentMask, i, at int) {
	switch field := f.layout[i]; {
	case field.order == selector:
	case field.order != unordered && mask.Has(1<<(i-1)):
		b := f.want[at/8]
		f.selects[f.n] = selection{field.order, Selector(b >> 6), at / 8, b & 0x3F}
		f.n++
		f.to = max(f.to, at/8+1)
	default:
		f.careFor(at, at+field.Bits)
	}
}

// careFor makes the bits of a range count.
func (f *Filter) careFor(from, to int) {
	f.from, f.to = min(f.from, from/8), max(f.to, (to+7)/8)
	for ; from < to; from++ {
		f.care[from/8] |= 0x80 >> (from % 8)
	}
}

// Contain changes what counts of the fields in the mask: a record matches if it
// has all the bits that the request has there, whatever its other bits are. So
// does the capability mask of a PortInfoRecord count where the request's
// attribute modifier is PortInfoMatchCapabilities (IBTA 1, 15.2.5.3).
func (f Filter) Contain(mask ComponentMask) Filter {
	at := 0
	for i, field := range f.layout {
		for end := at + field.Bits; at < end; at++ {
			if mask.Has(1 << i) {
				f.care[at/8] &^= ^f.want[at/8] & (0x80 >> (at % 8))
			}
		}
	}
	return f
}

// Match tells whether a record, as its AppendTo lays it out, is one that was
// asked for. One that ends before a field that counts is not. It does not
// allocate.
func (f *Filter) Match(record []byte) bool {
	if len(record) < f.to {
		return false
	}
	for i := f.from; i < f.to; i++ {
		if (record[i]^f.want[i])&f.care[i] != 0 {
			return false
		}
	}
	for _, s := range f.selects[:f.n] {
		if !s.match(record) {
			return false
		}
	}
	return true
}

func (s selection) match(record []byte) bool {
	value := record[s.at] & 0x3F
	if s.order == byRate {
		return s.selector.admits(ib.Rate(value).Compare(ib.Rate(s.value)))
	}
	return s.selector.admits(int(value) - int(s.value))
}
