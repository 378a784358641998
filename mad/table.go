package mad

import (
	"errors"
	"fmt"
	"iter"
)

// ErrTable is the error of a table whose records do not fit its attribute
// offset.
var ErrTable = errors.New("malformed table")

// Table reads the records of a GetTableResp from the data of the whole message
// and the attribute offset of its header, each with parse (IBTA 1, 15.2.1.2):
//
//	for record, err := range mad.Table(data, offset, mad.ParseNodeRecord) {
//
// An error is the last that it gives. It wraps ErrTable for an offset of 0 and
// for a last record that is cut off, and ErrShort for an offset that is shorter
// than a record. Only the padding may be missing at the end.
func Table[R any](data []byte, offset uint16, parse func([]byte) (R, error)) iter.Seq2[R, error] {
	return func(yield func(R, error) bool) {
		var none R
		size := int(offset) * 8
		if size == 0 && len(data) > 0 {
			yield(none, fmt.Errorf("%w: %d bytes of records with attribute offset 0", ErrTable, len(data)))
			return
		}
		for i := 0; len(data) > 0; i++ {
			record := data[:min(size, len(data))]
			r, err := parse(record)
			if err != nil {
				yield(none, tableError(i, len(record) < size, err))
				return
			}
			if !yield(r, nil) {
				return
			}
			data = data[len(record):]
		}
	}
}

func tableError(i int, cut bool, err error) error {
	if cut {
		return fmt.Errorf("%w: record %d is cut off: %w", ErrTable, i, err)
	}
	return fmt.Errorf("record %d: %w", i, err)
}

// AppendRecord appends a record as it stands in a table: padded with zeros to
// words of 8 bytes.
func AppendRecord[R Attribute](b []byte, r R) []byte {
	start := len(b)
	b = r.AppendTo(b)
	b, _ = grow(b, int(RecordOffset(r))*8-(len(b)-start))
	return b
}

// RecordOffset is the attribute offset of a table of records like r, which are
// all of the same length: that of one with its padding, in words of 8 bytes.
func RecordOffset[R Attribute](r R) uint16 { return uint16((r.Len() + 7) / 8) }
