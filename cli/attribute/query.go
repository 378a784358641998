package attribute

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"heddle/ib"
	"heddle/mad"
)

// Query is a record of which some fields are given: what subnet administration
// is to look for.
type Query struct {
	attr mad.AttrID
	data []byte
	mask mad.ComponentMask
}

// NewQuery is a query for all records of an attribute; it fails for an
// attribute that is no record.
func NewQuery(a mad.AttrID) (*Query, error) {
	layout := mad.Layout(a)
	if layout == nil {
		return nil, fmt.Errorf("%s is no record of subnet administration", a.Name(mad.ClassSA))
	}
	bits := 0
	for _, f := range layout {
		bits += f.Bits
	}
	return &Query{attr: a, data: make([]byte, (bits+7)/8)}, nil
}

// Names are the names of the fields that can be given, in order.
func (q *Query) Names() []string {
	var names []string
	for _, f := range mad.Layout(q.attr) {
		if f.Name != "" {
			names = append(names, f.Name)
		}
	}
	return names
}

// Set gives a field, whose name may be written in any case: a number, decimal
// or hexadecimal with 0x; a GID; for a field longer than that its text.
func (q *Query) Set(name, value string) error {
	at := 0
	for i, f := range mad.Layout(q.attr) {
		if f.Name != "" && strings.EqualFold(f.Name, name) {
			if err := q.put(at, f.Bits, value); err != nil {
				return fmt.Errorf("%s: %w", f.Name, err)
			}
			q.mask |= 1 << i
			return nil
		}
		at += f.Bits
	}
	return fmt.Errorf("%s has no field %s; there are %s", q.attr.Name(mad.ClassSA), name, strings.Join(q.Names(), ", "))
}

func (q *Query) put(at, bits int, value string) error {
	switch {
	case bits == 128:
		gid, err := ib.ParseGID(value)
		if err != nil {
			return err
		}
		q.putBits(at, bits, new(big.Int).SetBytes(gid[:]))
	case bits <= 64:
		n, err := strconv.ParseUint(value, 0, bits)
		if err != nil {
			return fmt.Errorf("%q is no number of %d bits", value, bits)
		}
		q.putBits(at, bits, new(big.Int).SetUint64(n))
	default:
		if 8*len(value) > bits {
			return fmt.Errorf("text of %d bytes, at most %d", len(value), bits/8)
		}
		n := new(big.Int).SetBytes([]byte(value))
		q.putBits(at, bits, n.Lsh(n, uint(bits-8*len(value))))
	}
	return nil
}

// putBits writes a number into bits that were zero, or overwrites them.
func (q *Query) putBits(at, bits int, n *big.Int) {
	for i := range bits {
		pos := at + bits - 1 - i
		q.data[pos/8] &^= 0x80 >> (pos % 8)
		q.data[pos/8] |= byte(n.Bit(i)) << 7 >> (pos % 8)
	}
}

// Fill writes the query into a request, whose header is that of subnet
// administration.
func (q *Query) Fill(d *mad.Datagram) {
	d.SetComponentMask(q.mask)
	copy(d.Data(), q.data)
}
